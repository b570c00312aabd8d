import { millis, type Millis } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';

type Look<T> = { readonly since: Millis; readonly cameAt: Millis; readonly what: T };

/** The last of many looks at one thing. Those who ask at the same time share one. */
export class Newest<T> {
  readonly #clock: Clock;
  readonly #look: () => Promise<T>;
  #last: { readonly since: Millis; readonly seen: Promise<Look<T>> } | undefined;
  #running = false;

  /** `look` never rejects, and is bounded in time. */
  constructor(clock: Clock, look: () => Promise<T>) {
    this.#clock = clock;
    this.#look = look;
  }

  /** What a look saw that was begun no longer ago than this. One at a time: whoever comes while one runs that began too early waits for the next. */
  async seen(maxAgeMs: number): Promise<Look<T>> {
    const freshFrom = millis(this.#clock.now() - maxAgeMs);
    for (;;) {
      const last = this.#last;
      if (last !== undefined && last.since >= freshFrom) return last.seen;
      if (!this.#running || last === undefined) break;
      await last.seen;
    }
    this.#running = true;
    const since = this.#clock.now();
    const seen = this.#look().then((what) => ({ since, cameAt: this.#clock.now(), what }));
    this.#last = { since, seen };
    try {
      return await seen;
    } finally {
      this.#running = false;
    }
  }
}
