import type { WorldOptions } from './world-options.ts';
import { runWorld } from './world.ts';

const LAST_LINES = 40;

/** Which of the worlds of a seed it is. */
export type Kind = Omit<WorldOptions, 'say'>;

export type Failure = {
  readonly seed: number;
  readonly kind: Kind;
  readonly reason: string;
  readonly transcript: readonly string[];
};

/** Runs one world. One that fails is run again for its transcript, which the same seed tells again. */
export function tryWorld(seed: number, options: Kind = {}): Failure | undefined {
  const reason = whyItFails(() => runWorld(seed, options));
  if (reason === undefined) return undefined;
  const transcript: string[] = [];
  whyItFails(() => runWorld(seed, { ...options, say: (line) => transcript.push(line) }));
  return { seed, kind: options, reason, transcript };
}

/** The first world of a row that fails. */
export function firstFailure(from: number, count: number, options: Kind = {}): Failure | undefined {
  for (let seed = from; seed < from + count; seed++) {
    const failure = tryWorld(seed, options);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

/** What a person needs to look into it: the end of its story, or all of it. */
export function explain({ seed, kind, reason, transcript }: Failure, whole = false): string {
  const policy = kind.policy === undefined ? '' : ` --policy ${kind.policy}`;
  const flags = (['urgency', 'deadlines', 'losses', 'extras', 'reloads', 'freezes', 'overlap', 'handovers'] as const)
    .filter((flag) => kind[flag] === true)
    .map((flag) => ` --${flag}`);
  const replay = `replay: npm run sim -- --seed ${seed}${policy}${flags.join('')} --verbose`;
  return [...transcript.slice(whole ? 0 : -LAST_LINES), `seed ${seed}: ${reason}`, replay].join('\n');
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
