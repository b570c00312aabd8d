import type { MemoryKind, OverlapBy } from '../../src/core/overlap.ts';
import { Random } from '../../src/simulate/random.ts';
import type { ModelPlan, WorldPlan } from './plan.ts';

/** The memory that engines share, where somebody looks at it and may come in while others still leave. */
export type MemoryPlan = {
  readonly kind: MemoryKind;
  readonly by: OverlapBy;
  readonly totalMib: number;
  /** What others than our engines hold. */
  readonly foreignMib: number;
};

/** Gives every model a size, and the hardware room for as many as the budget lets be awake. Drawn apart: the other worlds stay as they are. */
export function withMemory(plan: WorldPlan, seed: number): WorldPlan {
  const random = new Random(seed ^ 0x3f84d5b5);
  const by = random.pick(['mib', 'models'] as const);
  const sized = (model: ModelPlan): ModelPlan => {
    const { cost, costEach, engines } = model.terms;
    const kind = random.pick([1, 2, 4]);
    const each = by === 'mib' ? (costEach ?? cost / engines.length) : kind;
    const known = random.chance(0.85);
    const needs = { gpu: each, host: random.chance(0.9) ? each : undefined };
    return {
      ...model,
      mib: cost === 0 ? 0 : each * random.pick([1, 1, 0.5]),
      terms: known ? { ...model.terms, needs } : model.terms,
    };
  };
  const [first, ...others] = plan.models;
  const models: WorldPlan['models'] = [sized(first), ...others.map(sized)];
  const foreignMib = random.pick([0, 0, 1, 3]);
  const ours = by === 'mib' ? plan.capacity : mostAwake(models, plan.capacity);
  const spare = random.pick([0, 0, 1, 4]);
  const kind = random.pick(['gpu', 'gpu', 'host'] as const);
  return { ...plan, models, memory: { kind, by, totalMib: ours + foreignMib + spare, foreignMib } };
}

/** What the largest take that may be awake together; those that count for nothing in the budget are always there. */
function mostAwake(models: readonly ModelPlan[], capacity: number): number {
  const sizes = models.map(({ mib, terms }) => mib * terms.engines.length).toSorted((a, b) => b - a);
  return sizes.slice(0, capacity).reduce((sum, mib) => sum + mib, 0);
}
