import type { Path } from '../place.ts';
import { KEYS_OF_POLICIES } from '../policy-schema.ts';
import { eachModel, type Check } from './check.ts';

/** What somebody wrote and nothing reads. */
export const unusedKeys: Check = ({ config: { policy, experimental }, wrote }) => {
  const unused: (readonly [path: Path, why: string])[] = [
    ...KEYS_OF_POLICIES.filter(({ policies }) => !policies.includes(policy.policy_type)).map(
      ({ key, policies }) =>
        [['policy', key], `has no effect under "${policy.policy_type}": ${readers(policies)} it`] as const,
    ),
  ];
  if (!policy.drain_before_switch) {
    for (const key of ['drain_timeout_secs', 'drain_deadline', 'drain_replays'])
      unused.push([['policy', key], 'has no effect, since "drain_before_switch": false never waits']);
  } else if (policy.drain_deadline === 'wait') {
    for (const key of ['drain_timeout_secs', 'drain_replays'])
      unused.push([['policy', key], 'has no effect, since "drain_deadline": "wait" never cuts']);
  }
  if (experimental.freeze_drain && (policy.policy_type !== 'slack' || !policy.drain_before_switch))
    unused.push([
      ['experimental', 'freeze_drain'],
      'has no effect: it needs "policy_type": "slack" and "drain_before_switch": true',
    ]);
  if (policy.idle_target === undefined)
    unused.push([['policy', 'idle_target_after_secs'], 'has no effect, since there is no "idle_target"']);
  return unused.filter(([path]) => wrote(path)).map(([path, message]) => ({ path, message }));
};

const readers = (policies: readonly string[]): string => {
  const names = policies.map((name) => `"${name}"`);
  return names.length === 1 ? `only ${names.join('')} reads` : `only ${names.join(', ')} read`;
};

/** A stall limit that the start as a whole always comes before. */
export const stallNeverSeen = eachModel((name, model, { wrote }) => {
  if (!('startup_stall_secs' in model) || model.startup_stall_secs < model.startup_timeout_secs) return [];
  const path = [['models', name, 'startup_stall_secs'], ['startup_stall_secs']].find(wrote);
  if (path === undefined) return [];
  const message = `has no effect on "${name}": its start is over after ${model.startup_timeout_secs} seconds anyway`;
  return [{ path, message }];
});

/** A sleep to warm up with that the engine is not started for. */
export const warmupNeverDone = eachModel((name, model) =>
  'warmup' in model && model.warmup && !model.levels_allowed.includes(1)
    ? [{ path: ['models', name, 'warmup'], message: 'has no effect, since levels_allowed leaves level 1 out' }]
    : [],
);

/** Nobody can be served. */
export const allDisabled: Check = ({ config: { models } }) => {
  const every = Object.values(models);
  return every.length > 0 && every.every(({ enabled }) => !enabled)
    ? [{ path: ['models'], message: 'has no model that is enabled: every request is refused' }]
    : [];
};
