import { after, millis, type Millis } from '../core/kinds.ts';
import type { Cancel, Clock } from '../ports/clock.ts';

/** A time that runs down, once, and can be made to stand still. */
export class Countdown {
  readonly #clock: Clock;
  readonly #over: () => void;
  #endsAt: Millis;
  #leftMs: number | undefined;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, ms: number, from: Millis, over: () => void) {
    this.#clock = clock;
    this.#over = over;
    this.#endsAt = after(from, ms);
    this.#cancel = clock.at(this.#endsAt, over);
  }

  stand(still: boolean): void {
    if (this.#cancel === undefined || still === (this.#leftMs !== undefined)) return;
    const now = this.#clock.now();
    if (still) {
      this.#cancel();
      this.#leftMs = Math.max(0, millis(this.#endsAt - now));
      return;
    }
    this.#endsAt = after(now, this.#leftMs ?? 0);
    this.#leftMs = undefined;
    this.#cancel = this.#clock.at(this.#endsAt, this.#over);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
