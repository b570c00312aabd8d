import type { NapLevel } from '../core/kinds.ts';
import { DriverError } from '../engines/driver.ts';
import type { Sleeper } from '../engines/sleeper.ts';
import { reasonOf, within } from '../engines/wait.ts';

/** How what an engine says after a wake is taken. */
export type Hearing = {
  /** How long it may take to say it. */
  readonly answerMs: number;
  /** What another answer than before means: a line for the operator, or a wake that failed. */
  readonly changed: 'told' | 'restart';
  readonly warned: (message: string) => void;
};

/** What it says to the sample question, in so much time. */
export async function sampled(sleeper: Sleeper, answerMs: number, signal: AbortSignal): Promise<string | undefined> {
  const said = await within(sleeper.clock, answerMs, signal, (limit) => sleeper.sample(limit));
  if (signal.aborted) throw reasonOf(signal);
  return said;
}

/** Both at once: whether it is ready by its own word, and what it says. One that was asked too early is asked again. Rejects when it does not become ready. */
export async function readyAndSampled(
  sleeper: Sleeper,
  answerMs: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  let isReady = false;
  const readied = sleeper.untilReady(answerMs, signal).then(() => {
    isReady = true;
  });
  const asked = sampled(sleeper, answerMs, signal).then((said) => ({ said, tooEarly: !isReady }));
  const [{ said, tooEarly }] = await Promise.all([asked, readied]);
  return said === undefined && tooEarly ? sampled(sleeper, answerMs, signal) : said;
}

/** Nothing, or one sign again and again: what comes of weights that are all zero. */
export const isRubbish = (text: string): boolean => /^\s*$|^\s*(\S)\1*\s*$/.test(text);

/** The question is short and asked without chance, of an engine that has nothing else to do: most answer it the same each time. */
export function compare(
  { changed, warned }: Hearing,
  level: NapLevel,
  { model, name }: Pick<Sleeper, 'model' | 'name'>,
  well: string | undefined,
  said: string | undefined,
): void {
  if (well === undefined || said === undefined || said === well || isRubbish(well)) return;
  const [now, before] = [JSON.stringify(said), JSON.stringify(well)];
  const what = `${name} answers ${now} after level ${level}, and answered ${before} before`;
  if (changed === 'restart') throw new DriverError(`${what} (changed_answer)`);
  warned(`${model}: ${what}: try the level with --validate, or set changed_answer to "restart"`);
}
