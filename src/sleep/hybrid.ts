import { DriverError } from '../engines/driver.ts';
import type { OwnSleep, Sleeper } from '../engines/sleeper.ts';
import { compare, isRubbish, readyAndSampled, sampled, type Hearing } from './hearing.ts';
import { fillAgain } from './level-2.ts';
import type { Level } from './level.ts';
import { BeyondRepair, frozenMemory, frozenOf, type Suspension } from './suspension.ts';
import { timed } from './timed.ts';

/** What level hybrid needs of a suspension. */
type Freezer = Pick<Suspension, 'unusable' | 'look' | 'suspend' | 'untilRoom' | 'thaw' | 'frozen' | 'recall'>;

/** How far a sleep has come. */
type Done = { readonly released: boolean; readonly joined: boolean };

const inWords = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * For engines on several GPUs: weights given up, communicators torn down, then every process frozen. Back in the reverse order.
 * Where a step fails, those before it are taken back, so that a lighter or a deeper way finds the engine as it was.
 */
export function hybrid(own: OwnSleep, suspension: Freezer, hearing: Hearing): Level {
  const { answerMs } = hearing;
  let well: string | undefined;
  let hasSpoken = false;
  /** Set when it did not come back once: communicators that only seem to be down hang for ever. */
  let spoiled: string | undefined;
  /** What a withdrawn order leaves is ended by whoever withdrew it, and says nothing of the engine. */
  const spoil = (error: unknown, signal: AbortSignal): void => {
    if (!signal.aborted) spoiled = inWords(error);
  };
  const back = async (sleeper: Sleeper, signal: AbortSignal, joined: boolean): Promise<void> => {
    if (!joined) await own.rejoin(sleeper, signal);
    await fillAgain(own, sleeper, signal);
  };
  /** Rejects with what went wrong first, whatever comes of the way back. */
  const takenBack = async (sleeper: Sleeper, signal: AbortSignal, done: Done, first: unknown): Promise<never> => {
    // Calls to an engine that no longer computes would only be waited for.
    if (signal.aborted || first instanceof BeyondRepair) throw first;
    try {
      // Weights that were never given up must not be filled again.
      if (!done.released && (await own.sleeps(sleeper, signal)) === false) throw first;
      await back(sleeper, signal, done.joined);
    } catch (error) {
      if (error === first) throw first;
      spoil(error, signal);
      throw new DriverError(`${inWords(first)}; and what was done before could not be taken back: ${inWords(error)}`);
    }
    throw first;
  };
  return {
    level: 'hybrid',
    memory: () => ({ sample: well, spoiled, frozen: frozenMemory(suspension.frozen) }),
    recall: async (memory) => {
      well = memory.sample;
      spoiled = memory.spoiled;
      if (memory.frozen !== undefined) suspension.recall(frozenOf(memory.frozen));
    },
    get hasSpoken() {
      return hasSpoken;
    },
    async hindrance(sleeper, signal) {
      if (spoiled !== undefined) return `it did not come back from level hybrid before: ${spoiled}`;
      return (
        (await own.hindrance(2, sleeper, signal)) ?? own.partHindrance(sleeper) ?? suspension.unusable(sleeper, signal)
      );
    },
    sleep: (sleeper, { signal }) =>
      timed(sleeper.clock, async () => {
        well ??= await sampled(sleeper, answerMs, signal);
        const done = { released: false, joined: true };
        try {
          await own.release(2, sleeper, signal);
          done.released = true;
          const look = await suspension.look(sleeper);
          if (sleeper.ranks > 1) {
            await own.part(sleeper, signal);
            done.joined = false;
          }
          await suspension.suspend(sleeper, signal, look);
        } catch (error) {
          await takenBack(sleeper, signal, done, error);
        }
      }),
    wake: (sleeper, { signal }) =>
      timed(
        sleeper.clock,
        async () => {
          // Before there is room nothing is touched, so that nothing is spoilt.
          await suspension.untilRoom(sleeper, signal);
          try {
            await suspension.thaw(sleeper, signal);
            await back(sleeper, signal, sleeper.ranks === 1);
          } catch (error) {
            spoil(error, signal);
            throw error;
          }
        },
        async () => {
          await own.settle(2, sleeper, signal);
          const said = await readyAndSampled(sleeper, answerMs, signal);
          hasSpoken = said !== undefined;
          if (well === undefined || isRubbish(well)) return;
          if (said !== undefined && !isRubbish(said)) return compare(hearing, 'hybrid', sleeper, well, said);
          spoiled = 'it answered nothing of use';
          throw new DriverError(`${sleeper.name} answers nothing of use after level hybrid`);
        },
      ),
  };
}
