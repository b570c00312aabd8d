import { millis } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';

/** The longest delay that `setTimeout` takes; beyond it, it fires at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/** By so much late, a timer tells that this process stood still: the machine had other things to do, or was halted. */
const STALLED_MS = 20;

/**
 * The machine's clock. Its timers keep the process alive: a deadline that is still to come is work still to do,
 * and an owner that has no more work cancels its timers. `FOREVER` sets no timer.
 *
 * Timers come before input in a turn of the event loop. After a standstill what has come in time lies there unread, so it is read before any
 * deadline that passed meanwhile: nobody is given up for what this process has not heard.
 */
export function systemClock(): Clock {
  const now = () => millis(performance.now());
  return {
    now,
    wallTime: () => new Date(),
    at(when, run) {
      if (Number.isNaN(when)) throw new RangeError('a timer was set for a moment that is not a number');
      if (when === Number.POSITIVE_INFINITY) return () => {};
      let timer: NodeJS.Timeout;
      let afterInput: NodeJS.Immediate | undefined;
      const arm = () => {
        // Rounded up, since a timer of a fraction of a millisecond fires before its moment.
        const delay = Math.ceil(Math.max(0, when - now()));
        timer = setTimeout(fire, Math.min(delay, LONGEST_DELAY_MS));
      };
      const fire = () => {
        const lateMs = now() - when;
        if (lateMs < 0) arm();
        else if (lateMs < STALLED_MS) run();
        else afterInput = setImmediate(run);
      };
      arm();
      return () => {
        clearTimeout(timer);
        clearImmediate(afterInput);
      };
    },
  };
}
