import { engineId, modelId, type ModelId } from '../core/kinds.ts';
import type { ModelTerms } from '../core/terms.ts';
import { POLICIES, POLICY_NAMES } from '../core/policy/index.ts';
import type { Policy, PolicyTerms } from '../core/policy/policy.ts';
import type { StageOptions } from '../core/stage-events.ts';
import { PEERS } from './peers.ts';
import { replay, type SwapTimes } from './replay.ts';
import type { Outcome } from './tally.ts';
import type { Workload } from './workload.ts';

/** Every discipline that can be compared, ours first. */
export const DISCIPLINES: readonly string[] = [...POLICY_NAMES, ...Object.keys(PEERS)];

export type Comparison = {
  /** Made anew for each discipline, so that all meet the same requests. */
  readonly workload: () => Workload;
  readonly disciplines: readonly string[];
  readonly stage: Omit<StageOptions, 'models' | 'policy'>;
  /** Where there are several: what each has, and who is on it. Whoever is on none is on the first. */
  readonly boards?: readonly Board[];
  readonly terms: PolicyTerms;
  readonly model: (name: string) => Omit<ModelTerms, 'model' | 'engines'> & { readonly replicas: number };
  readonly times: (model: ModelId) => SwapTimes;
  /** Where the stage does not drain: models are put away with their work as it is. */
  readonly freezes?: boolean;
};

type Board = { readonly capacity: number; readonly models: readonly string[] };

/** Plays one workload under several disciplines. */
export function compare(comparison: Comparison): ReadonlyMap<string, Outcome> {
  const { disciplines, stage, times, freezes = false } = comparison;
  return new Map(
    disciplines.map((name) => {
      const workload = comparison.workload();
      const policy = policyOf(name, comparison.terms);
      const boards = comparison.boards ?? [{ capacity: stage.capacity, models: [] }];
      const stages = boards.map(({ capacity, models }, at) => {
        const isOn = (model: string): boolean =>
          models.includes(model) || (at === 0 && !boards.some((other) => other.models.includes(model)));
        const terms = workload.models.filter(isOn).map((model) => termsOf(model, comparison));
        return { ...stage, capacity, policy, models: terms };
      });
      return [name, replay({ workload, times, freezes, stages })];
    }),
  );
}

function termsOf(name: string, { model }: Comparison): ModelTerms {
  const terms = model(name);
  const id = modelId(name);
  return {
    ...terms,
    model: id,
    engines: Array.from({ length: terms.replicas }, (_, replica) => engineId(id, replica)),
  };
}

function policyOf(name: string, terms: PolicyTerms): Policy {
  const peers: Readonly<Record<string, Policy>> = PEERS;
  const peer = peers[name];
  if (peer !== undefined) return peer;
  const own = POLICY_NAMES.find((other) => other === name);
  if (own === undefined) throw new Error(`there is no discipline ${name}`);
  return POLICIES[own](terms);
}
