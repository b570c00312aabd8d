import { DriverError } from '../engines/driver.ts';
import type { OwnSleep, Sleeper } from '../engines/sleeper.ts';
import { compare, isRubbish, readyAndSampled, sampled, type Hearing } from './hearing.ts';
import type { Level } from './level.ts';
import { timed } from './timed.ts';

export type Level2 = Level & {
  /** What it answered to the sample question when it was well. */
  sample: string | undefined;
};

/**
 * Weights given up and loaded again, by calls of the engine's own. Weights that were never loaded again make an engine
 * that is healthy in every respect and talks rubbish, so what it says is looked at.
 */
export function level2(own: OwnSleep, hearing: Hearing): Level2 {
  const { answerMs } = hearing;
  let well: string | undefined;
  let hasSpoken = false;
  return {
    level: 2,
    get hasSpoken() {
      return hasSpoken;
    },
    get sample() {
      return well;
    },
    set sample(text) {
      well = text;
    },
    memory: () => ({ sample: well }),
    recall: async ({ sample }) => {
      well = sample;
    },
    hindrance: (sleeper, signal) => own.hindrance(2, sleeper, signal),
    sleep: (sleeper, { signal }) =>
      timed(sleeper.clock, async () => {
        well ??= await sampled(sleeper, answerMs, signal);
        await own.release(2, sleeper, signal);
      }),
    wake: (sleeper, { signal }) =>
      timed(
        sleeper.clock,
        () => fillAgain(own, sleeper, signal),
        async () => {
          await own.settle(2, sleeper, signal);
          const said = await readyAndSampled(sleeper, answerMs, signal);
          hasSpoken = said !== undefined;
          if (well === undefined || isRubbish(well)) return;
          if (said === undefined) throw new DriverError(`${sleeper.name} does not answer after level 2`);
          if (isRubbish(said))
            throw new DriverError(
              `${sleeper.name} answers rubbish after level 2 (${JSON.stringify(said)}): its weights were not loaded again`,
            );
          compare(hearing, 2, sleeper, well, said);
        },
      ),
  };
}

/** Nothing may be asked of the engine before the last step: half awake it dies of a request. */
export async function fillAgain(own: OwnSleep, sleeper: Sleeper, signal: AbortSignal): Promise<void> {
  await own.resume('weights', sleeper, signal);
  await own.reload(sleeper, signal);
  await own.resume('kv_cache', sleeper, signal);
  await own.forget(sleeper, signal);
}
