import type { Millis } from '../core/kinds.ts';
import type { Cancel, Clock } from '../ports/clock.ts';

/** One timer that is always set to the latest wish: `set` replaces what was set before. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #set: { readonly at: Millis; readonly cancel: Cancel } | undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** When it rings, if it is set. */
  get at(): Millis | undefined {
    return this.#set?.at;
  }

  set(at: Millis | undefined): void {
    if (at === this.#set?.at) return;
    this.#set?.cancel();
    this.#set = undefined;
    if (at === undefined || !Number.isFinite(at)) return;
    const cancel = this.#clock.at(at, () => {
      this.#set = undefined;
      this.#ring();
    });
    this.#set = { at, cancel };
  }
}
