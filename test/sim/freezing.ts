import { Random } from '../../src/simulate/random.ts';
import type { ModelPlan, WorldPlan } from './plan.ts';

const SECOND = 1_000;

/** The same world, in which most models with one engine may be put away with requests in flight, and there is more cause for it. */
export function withFreezing(plan: WorldPlan, seed: number): WorldPlan {
  const random = new Random(seed ^ 0x510e527f);
  const changed = ({ terms, ...rest }: ModelPlan): ModelPlan => {
    const freezesAt = terms.engines.length === 1 && random.chance(0.8) ? random.pick([3, 4] as const) : undefined;
    const patienceMs = random.pick([terms.patienceMs, 60 * SECOND, 200 * SECOND]);
    return { ...rest, serviceMs: random.pick([1, 5, 20]) * SECOND, terms: { ...terms, freezesAt, patienceMs } };
  };
  const [first, ...others] = plan.models;
  const terms = {
    ...plan.terms,
    maxWaitMs: random.pick([0, 2, 15]) * SECOND,
    servingShare: random.pick([0, 0.5, 0.8]),
  };
  return { ...plan, drains: true, terms, models: [changed(first), ...others.map(changed)] };
}
