import { millis } from '../../src/core/kinds.ts';
import type { Clock } from '../../src/ports/clock.ts';

/** A clock that a test sets by hand. It runs nothing: what is under test here only looks at it. */
export class StillClock implements Clock {
  ms = 0;
  /** Local time, so that what people read does not depend on where the test runs. */
  readonly #start = new Date(2026, 10, 20, 12, 4, 5, 123);

  now() {
    return millis(this.ms);
  }

  wallTime() {
    return new Date(this.#start.getTime() + this.ms);
  }

  at(): never {
    throw new Error('nothing here sets a timer');
  }
}
