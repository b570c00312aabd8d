import type { Config, ModelConfig } from '../config/schema.ts';
import type { NapLevel } from '../core/kinds.ts';
import { TRAITS } from '../engines/registry.ts';
import type { Verdict } from '../ports/verdicts.ts';

/** The levels at which nothing of an engine's work is lost, with the trials of them that have a stream open. The lightest comes first. */
const KEEPING = [
  [3, '3f'],
  [4, '4f'],
] as const;

type Judged = readonly Pick<Verdict, 'level' | 'passed'>[];

/** The level at which a model may make room with requests in flight; undefined: it is drained. */
export function freezesAt(
  { experimental, policy }: Config,
  model: ModelConfig,
  verdicts: Judged,
): NapLevel | undefined {
  const wanted = experimental.freeze_drain && policy.policy_type === 'slack' && policy.drain_before_switch;
  if (!wanted || model.replica_max > 1) return undefined;
  const passed = (trial: Verdict['level']): boolean => verdicts.some((one) => one.level === trial && one.passed);
  return KEEPING.find(([level, trial]) => model.levels_allowed.includes(level) && passed(trial))?.[0];
}

/** Why a model is drained although the switch is on; undefined: it is not, or it was never meant. */
export function notFrozen(config: Config, model: ModelConfig, verdicts: Judged): string | undefined {
  const { experimental, policy } = config;
  if (!experimental.freeze_drain || policy.policy_type !== 'slack' || !policy.drain_before_switch) return undefined;
  if (!TRAITS[model.backend].needsRoom || freezesAt(config, model, verdicts) !== undefined) return undefined;
  if (model.replica_max > 1) return 'it has several engines';
  const levels = KEEPING.filter(([level]) => model.levels_allowed.includes(level));
  if (levels.length === 0) return 'it can be suspended at neither level 3 nor level 4';
  const trials = levels.map(([, trial]) => trial).join(',');
  return `no validation has passed it yet (catnap --validate MODEL --levels ${trials})`;
}
