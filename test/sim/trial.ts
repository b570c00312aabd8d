import type { CoreUnderTest } from './core-under-test.ts';
import { runWorld } from './world.ts';

const LAST_LINES = 40;

export type Failure = { readonly seed: number; readonly reason: string; readonly transcript: readonly string[] };

/** Runs one world. One that fails is run again for its transcript, which the same seed tells again. */
export function tryWorld(seed: number, core?: CoreUnderTest): Failure | undefined {
  const options = core === undefined ? {} : { core };
  const reason = whyItFails(() => runWorld(seed, options));
  if (reason === undefined) return undefined;
  const transcript: string[] = [];
  whyItFails(() => runWorld(seed, { ...options, say: (line) => transcript.push(line) }));
  return { seed, reason, transcript };
}

/** The first world of a row that fails. */
export function firstFailure(from: number, count: number, core?: CoreUnderTest): Failure | undefined {
  for (let seed = from; seed < from + count; seed++) {
    const failure = tryWorld(seed, core);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

/** What a person needs to look into it. */
export function explain({ seed, reason, transcript }: Failure): string {
  const replay = `replay: npm run sim -- --seed ${seed} --verbose`;
  return [...transcript.slice(-LAST_LINES), `seed ${seed}: ${reason}`, replay].join('\n');
}

function whyItFails(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) return String(error);
    return error.name === 'Violation' || error.name === 'InvariantBroken'
      ? error.message
      : `${error.name}: ${error.message}`;
  }
}
