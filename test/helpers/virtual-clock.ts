import { millis, type Millis } from '../../src/core/kinds.ts';
import type { Cancel, Clock } from '../../src/ports/clock.ts';

/** Time that moves only when told to: what is due runs in order of time, then of having been set. */
export class VirtualClock implements Clock {
  #now = 0;
  #order = 0;
  readonly #due = new Map<number, { readonly at: number; readonly run: () => void }>();

  now(): Millis {
    return millis(this.#now);
  }

  wallTime(): Date {
    return new Date(1_700_000_000_000 + this.#now);
  }

  at(when: Millis, run: () => void): Cancel {
    const order = this.#order++;
    if (Number.isFinite(when)) this.#due.set(order, { at: Math.max(when, this.#now), run });
    return () => this.#due.delete(order);
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#due.size;
  }

  /** Moves on by `ms`, letting promises settle between timers. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settled();
    for (;;) {
      const next = [...this.#due].filter(([, { at }]) => at <= until).sort(([a, x], [b, y]) => x.at - y.at || a - b)[0];
      if (next === undefined) break;
      const [order, { at, run }] = next;
      this.#due.delete(order);
      this.#now = Math.max(this.#now, at);
      run();
      await settled();
    }
    this.#now = until;
  }
}

/** Lets everything that is already decided happen. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
