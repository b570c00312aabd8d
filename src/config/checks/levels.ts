import type { SleepLevel } from '../../core/kinds.ts';
import type { Backend } from '../schema.ts';
import { LEVELS } from '../sleep-levels.ts';
import { eachModel, type Check, type Subject } from './check.ts';

/** A sleep level that the model's engine can never take. */
export const levelImpossible = eachModel((name, { backend }, subject) => {
  const level = ownLevel(name, subject);
  if (level === undefined || canTake(backend, level)) return [];
  return [
    {
      path: ['models', name, 'sleep_level'],
      message: `is ${level}, which ${backend} cannot do`,
      fix: `In this version it can do ${LEVELS[backend].works.join(', ')}.`,
    },
  ];
});

/** A sleep level that the model's own list leaves out. */
export const levelNotAllowed = eachModel((name, { backend }, subject) => {
  const level = ownLevel(name, subject);
  const allowed = ownList(name, subject);
  if (level === undefined || level === 5 || allowed === undefined || allowed.includes(level)) return [];
  if (!canTake(backend, level)) return [];
  return [
    {
      path: ['models', name, 'sleep_level'],
      message: `is ${level}, which levels_allowed leaves out`,
      fix: `Put ${JSON.stringify(level)} into levels_allowed, or choose one of ${allowed.join(', ')}.`,
    },
  ];
});

/** A level in the list that the model's engine can never take. */
export const allowedImpossible = eachModel((name, { backend }, subject) =>
  (ownList(name, subject) ?? []).flatMap((level, at) =>
    canTake(backend, level)
      ? []
      : [
          {
            path: ['models', name, 'levels_allowed', at],
            message: `is ${level}, which ${backend} cannot do`,
            fix: `In this version it can do ${LEVELS[backend].works.join(', ')}.`,
          },
        ],
  ),
);

/** Of engines that could go to disk in principle. */
const WHY_NOT: Readonly<Partial<Record<Backend, string>>> = {
  sglang: ', whose processes fork once CUDA runs, which a checkpoint does not survive',
  exllamav3: ', which was seen to survive a checkpoint by nobody',
};

/** A sleep level that is fine for the engine and that this version replaces by 5. */
export const levelNotYet = eachModel((name, { backend }, subject) => {
  const level = ownLevel(name, subject);
  if (level === undefined || !LEVELS[backend].accepted.includes(level)) return [];
  return [
    {
      path: ['models', name, 'sleep_level'],
      message: `is ${level}, which this version does not do for ${backend}${WHY_NOT[backend] ?? ''}: the model is stopped instead (level 5)`,
    },
  ];
});

/** The policy's level, where models that name none cannot have it. */
export const policyLevelUnused: Check = (subject) => {
  const { sleep_level } = subject.written.policy;
  const stopped = Object.entries(subject.config.models)
    .filter(
      ([name, { backend }]) =>
        backend !== 'openai_remote' &&
        ownLevel(name, subject) === undefined &&
        !LEVELS[backend].works.includes(sleep_level),
    )
    .map(([name]) => `"${name}"`);
  if (stopped.length === 0) return [];
  return [
    {
      path: ['policy', 'sleep_level'],
      message: `is ${sleep_level}, which this version cannot do for ${stopped.join(', ')}: stopped instead (level 5)`,
    },
  ];
};

function ownLevel(name: string, { written }: Subject): SleepLevel | undefined {
  const model = written.models[name];
  return model !== undefined && 'sleep_level' in model ? model.sleep_level : undefined;
}

function ownList(name: string, { written }: Subject): readonly SleepLevel[] | undefined {
  const model = written.models[name];
  return model !== undefined && 'levels_allowed' in model ? model.levels_allowed : undefined;
}

const canTake = (backend: Backend, level: SleepLevel): boolean =>
  LEVELS[backend].works.includes(level) || LEVELS[backend].accepted.includes(level);
