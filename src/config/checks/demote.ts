import { isDeeper } from '../../core/depth.ts';
import type { Path } from '../place.ts';
import type { Config } from '../schema.ts';
import { DEEPENS, LEVELS } from '../sleep-levels.ts';
import { eachModel, type Check, type CheckFinding, type Subject } from './check.ts';

type Steps = Config['policy']['demote'];

/** Steps down that are no steps down. */
export const demoteDescends: Check = ({ written }) => [
  ...descends(written.policy.demote, ['policy', 'demote']),
  ...Object.keys(written.models).flatMap((name) =>
    descends(ownSteps(name, { written }) ?? [], ['models', name, 'demote']),
  ),
];

/** Levels that the model can never be put to. Those of the policy give way to the next deeper one that it can. */
export const demoteAllowed = eachModel((name, { backend, levels_allowed: allowed }, subject) =>
  (ownSteps(name, subject) ?? []).flatMap(({ level }, at): readonly CheckFinding[] => {
    if (allowed.includes(level) || LEVELS[backend].accepted.includes(level)) return [];
    const path = ['models', name, 'demote', at, 'level'];
    const works = LEVELS[backend].works.includes(level);
    const message = works ? `is ${level}, which levels_allowed leaves out` : `is ${level}, which ${backend} cannot do`;
    return [{ path, message, fix: `It may be ${allowed.join(', ')}.` }];
  }),
);

/** A step from one sleep to another that the engine cannot take without waking. */
export const demoteByTheEnd = eachModel((name, { backend }, subject) => {
  const steps = ownSteps(name, subject) ?? [];
  return steps.flatMap(({ level }, at): readonly CheckFinding[] => {
    const before = steps[at - 1]?.level;
    if (before === undefined || before === 5 || level === 5) return [];
    if (DEEPENS[backend]?.[before]?.includes(level) === true) return [];
    const message = `is ${level} after ${before}, and ${backend} cannot go there without waking: it is stopped instead (level 5)`;
    return [{ path: ['models', name, 'demote', at, 'level'], message }];
  });
});

/** Steps of a model that no request would bring back. */
export const demoteNever = eachModel((name, { activation, enabled }, subject) => {
  const steps = ownSteps(name, subject) ?? [];
  if (steps.length === 0 || (activation === 'on_demand' && enabled)) return [];
  const why = enabled ? 'activation is "explicit"' : 'it is disabled';
  const message = `has no effect, since ${why}: what only operators load stays until they put it away`;
  return [{ path: ['models', name, 'demote'], message }];
});

function descends(steps: Steps, path: Path): readonly CheckFinding[] {
  return steps.flatMap(({ after_secs: secs, level }, at): readonly CheckFinding[] => {
    const before = steps[at - 1];
    if (before === undefined) return [];
    const found: CheckFinding[] = [];
    if (secs <= before.after_secs) {
      const message = `is ${secs}, and must be above that of the step before (${before.after_secs}): both count from the last request`;
      found.push({ path: [...path, at, 'after_secs'], message, fix: 'Put the steps in the order of their times.' });
    }
    if (!isDeeper(level, before.level)) {
      const message = `is ${level}, and must be deeper than that of the step before (${before.level})`;
      found.push({
        path: [...path, at, 'level'],
        message,
        fix: 'From the lightest to the deepest: 1, 2, 3, hybrid, 4, 5.',
      });
    }
    return found;
  });
}

function ownSteps(name: string, { written }: Pick<Subject, 'written'>): Steps | undefined {
  const model = written.models[name];
  return model !== undefined && 'demote' in model ? model.demote : undefined;
}
