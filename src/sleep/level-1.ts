import type { OwnSleep } from '../engines/sleeper.ts';
import type { Level } from './level.ts';
import { timed } from './timed.ts';

/** Weights to host memory and back, by calls of the engine's own. */
export function level1(own: OwnSleep): Level {
  return {
    level: 1,
    hindrance: (sleeper, signal) => own.hindrance(1, sleeper, signal),
    sleep: (sleeper, { signal }) => timed(sleeper.clock, () => own.release(1, sleeper, signal)),
    wake: (sleeper, { signal }) =>
      timed(
        sleeper.clock,
        () => own.resume('all', sleeper, signal),
        () => own.settle(1, sleeper, signal),
      ),
  };
}
