import type { IdleTarget } from '../../src/core/homing.ts';
import type { ModelId } from '../../src/core/kinds.ts';
import type { CoreUnderTest } from './core-under-test.ts';
import type { WorldPlan } from './plan.ts';
import { Random } from '../../src/simulate/random.ts';

/** What the config may switch on besides. Worlds have it only where it is asked for, so that the others stay as they are. */
export type Extras = {
  /** How many of those who are cut by the deadline of a drain have had no byte, and come back. */
  readonly returns: number;
  /** Whether a start that nobody waits for any more is called off. */
  readonly cancels: boolean;
  readonly idleTarget: IdleTarget | undefined;
  /** How many of the starts that fail have run out of memory. */
  readonly short: number;
  /** How much host memory sleepers may hold. */
  readonly hostLimitMib: number | undefined;
};

/** What the stage of a world is told besides its models. */
export const rulesOf = (plan: WorldPlan, core: CoreUnderTest) => ({
  commons: new core.Commons(plan.mostLoads),
  policy: core.POLICIES[plan.policy](plan.terms),
  capacity: plan.capacity,
  drains: plan.drains,
  drainMs: plan.drainMs,
  minActiveMs: plan.minActiveMs,
  priorityStepMs: plan.priorityStepMs,
  idleTarget: plan.extras.idleTarget,
  cancelsAbandoned: plan.extras.cancels,
  hostLimitMib: plan.extras.hostLimitMib,
  overlap: plan.memory?.by,
});

const NONE: Extras = { returns: 0, cancels: false, idleTarget: undefined, short: 0, hostLimitMib: undefined };

export function drawExtras(seed: number, models: readonly ModelId[], wanted: boolean): Extras {
  if (!wanted) return NONE;
  const random = new Random(seed ^ 0x27d4eb2f);
  const target = { model: random.anyOf(models), afterMs: random.pick([0, 1_000, 10_000]) };
  return {
    returns: random.pick([0, 0.5, 1]),
    cancels: random.chance(0.5),
    idleTarget: target.model !== undefined && random.chance(0.6) ? { ...target, model: target.model } : undefined,
    short: random.pick([0, 0.5, 1]),
    hostLimitMib: new Random(seed ^ 0x1f83d9ab).pick([undefined, undefined, 0, 3, 6, 10]),
  };
}
