import { after, type Millis } from '../../src/core/kinds.ts';
import type { Priority } from '../../src/core/place.ts';
import { Random } from '../../src/simulate/random.ts';
import type { WorldPlan } from './plan.ts';

/** How a request would wait. */
export type Wish = { readonly priority: Priority; readonly bound: boolean; readonly withinMs: number | undefined };

/** Draws how requests would wait. All of it is drawn apart, so that the worlds of one seed are alike but for this. */
export class Wishes {
  readonly #stepMs: number;
  readonly #urgency: Random;
  readonly #deadlines: Random | undefined;

  constructor(seed: number, { priorityStepMs }: WorldPlan, deadlines: boolean) {
    this.#stepMs = priorityStepMs;
    this.#urgency = new Random(seed ^ 0x1b873593);
    this.#deadlines = deadlines ? new Random(seed ^ 0x2c1b3c6d) : undefined;
  }

  next(): Wish {
    const random = this.#deadlines;
    const withinMs =
      random?.chance(0.4) === true ? random.around(random.pick([500, 3_000, 10_000, 30_000])) : undefined;
    if (this.#stepMs === 0) return { priority: 'normal', bound: false, withinMs };
    const priority = this.#urgency.pick(['low', 'normal', 'normal', 'high'] as const);
    return { priority, bound: this.#urgency.chance(0.1), withinMs };
  }

  /** When it counts as having come. */
  rankOf({ priority }: Wish, now: Millis): Millis {
    return after(now, { low: this.#stepMs, normal: 0, high: -this.#stepMs }[priority]);
  }
}
