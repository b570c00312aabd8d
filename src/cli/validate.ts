import { validateModel } from '../app/validate.ts';
import { levelsIn } from '../validate/levels.ts';

import { oneModel } from './one-model.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage.ts';

type ValidateWords = {
  readonly config: readonly string[];
  readonly validate: string;
  readonly levels: string | undefined;
  readonly cycles: string | undefined;
  readonly json: boolean;
  readonly verbose: boolean;
};

const MOST_CYCLES = 100;

/** Tries the sleep levels of one model and shows what came of it. */
export async function validate(words: ValidateWords, terminal: Terminal): Promise<number> {
  const { validate: name, json, verbose } = words;
  const levels = levelsOf(words.levels);
  const cycles = cyclesOf(words.cycles);
  const found = oneModel(words.config, name, terminal);
  if (typeof found === 'number') return found;
  if (found.model.backend === 'openai_remote')
    throw new UsageError(`"${name}" runs elsewhere and never sleeps, so there is nothing to validate.`);
  return validateModel({
    ...found,
    levels,
    cycles,
    json,
    verbose,
    env: process.env,
    out: (text) => terminal.out(text),
    say: (line) => terminal.err(`${line}\n`),
  });
}

function levelsOf(text: string | undefined) {
  if (text === undefined) return undefined;
  const levels = levelsIn(text);
  if (!('unknown' in levels)) return levels;
  throw new UsageError(`--levels knows 1, 2, 3, hybrid, 4, 4full, 5, 3f and 4f, and not "${levels.unknown}".`);
}

function cyclesOf(text: string | undefined): number {
  if (text === undefined) return 2;
  const cycles = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (cycles >= 1 && cycles <= MOST_CYCLES) return cycles;
  throw new UsageError(`--cycles must be a number from 1 to ${MOST_CYCLES}, not "${text}".`);
}
