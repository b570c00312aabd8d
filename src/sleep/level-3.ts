import type { OwnSleep } from '../engines/sleeper.ts';
import type { Level } from './level.ts';
import { frozenMemory, frozenOf, type Suspension } from './suspension.ts';
import { timed } from './timed.ts';

/** The whole GPU state of the process to host memory and back, whatever the engine is and without its knowing. */
export function level3(suspension: Suspension, own: OwnSleep | undefined): Level {
  return {
    level: 3,
    async hindrance(sleeper, signal) {
      if (sleeper.ranks > 1)
        return `${sleeper.name} runs on ${sleeper.ranks} GPUs that talk to each other, which a checkpoint breaks; use level "hybrid", 1, 2 or 5`;
      // A sleep of its own that failed half way would be all that comes back.
      const [sleeps, hindrance] = await Promise.all([
        own?.sleeps(sleeper, signal),
        suspension.hindrance(sleeper, signal),
      ]);
      return sleeps === true ? `${sleeper.name} is half asleep already` : hindrance;
    },
    memory: () => ({ frozen: frozenMemory(suspension.frozen) }),
    recall: async ({ frozen }) => {
      if (frozen !== undefined) suspension.recall(frozenOf(frozen));
    },
    sleep: (sleeper, { signal }) => timed(sleeper.clock, () => suspension.suspend(sleeper, signal)),
    wake: (sleeper, { signal }) => timed(sleeper.clock, () => suspension.resume(sleeper, signal)),
  };
}
