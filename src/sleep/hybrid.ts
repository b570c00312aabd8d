import { DriverError } from '../engines/driver.ts';
import type { OwnSleep, Sleeper } from '../engines/sleeper.ts';
import { isRubbish, sampled, fillAgain } from './level-2.ts';
import type { Level } from './level.ts';
import type { Suspension } from './suspension.ts';
import { timed } from './timed.ts';

/**
 * For engines on several GPUs: weights given up, communicators torn down, then every process frozen. Back in the reverse order.
 * Where a step fails, those before it are taken back, so that a lighter or a deeper way finds the engine as it was.
 */
export function hybrid(own: OwnSleep, suspension: Suspension, answerMs: number): Level {
  let well: string | undefined;
  /** Set when it did not come back once: communicators that only seem to be down hang for ever. */
  let spoiled: string | undefined;
  const back = async (sleeper: Sleeper, signal: AbortSignal, joined: boolean): Promise<void> => {
    if (!joined) await own.rejoin(sleeper, signal);
    await fillAgain(own, sleeper, signal);
  };
  return {
    level: 'hybrid',
    async hindrance(sleeper, signal) {
      if (spoiled !== undefined) return `it did not come back from level hybrid before: ${spoiled}`;
      return (
        (await own.hindrance(2, sleeper, signal)) ?? own.partHindrance(sleeper) ?? suspension.unusable(sleeper, signal)
      );
    },
    sleep: (sleeper, { signal }) =>
      timed(sleeper.clock, async () => {
        well ??= await sampled(sleeper, answerMs, signal);
        await own.release(2, sleeper, signal);
        let joined = true;
        try {
          if (sleeper.ranks > 1) {
            await own.part(sleeper, signal);
            joined = false;
          }
          const lack = await suspension.lackOfMemory(sleeper, 0);
          if (lack !== undefined) throw new DriverError(`${sleeper.name} cannot be frozen: ${lack}`);
          await suspension.suspend(sleeper, signal);
        } catch (error) {
          await back(sleeper, signal, joined);
          throw error;
        }
      }),
    wake: (sleeper, { signal }) =>
      timed(
        sleeper.clock,
        async () => {
          try {
            await suspension.resume(sleeper, signal);
            await back(sleeper, signal, sleeper.ranks === 1);
          } catch (error) {
            spoiled = error instanceof Error ? error.message : String(error);
            throw error;
          }
        },
        async () => {
          await own.settle(2, sleeper, signal);
          const said = await sampled(sleeper, answerMs, signal);
          if (well === undefined || isRubbish(well) || (said !== undefined && !isRubbish(said))) return;
          spoiled = 'it answered nothing of use';
          throw new DriverError(`${sleeper.name} answers nothing of use after level hybrid`);
        },
      ),
  };
}
