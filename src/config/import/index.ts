import { stringify } from 'yaml';
import { problemText, type Problem } from '../diagnostics.ts';
import { configFrom } from '../load.ts';
import { readSource } from '../source.ts';
import { fromLlamaSwap } from './llama-swap.ts';
import { fromLlmux } from './llmux.ts';
import { fieldsOf, Notes, type Fields } from './notes.ts';

export type Imported =
  | {
      readonly kind: 'imported';
      readonly from: 'llama-swap' | 'llmux';
      /** Our config, as YAML. */
      readonly text: string;
      /** What could not be carried over, and why. */
      readonly notes: readonly string[];
      /** What is wrong with the result, where the file asked for something that cannot be. */
      readonly problems: readonly string[];
    }
  | { readonly kind: 'bad'; readonly problems: readonly Problem[] };

/** Reads a config of llama-swap (YAML) or llmux (JSON or YAML) and says it in our words. */
export function importConfig(file: string, env: Readonly<Record<string, string | undefined>>): Imported {
  const read = readSource(file);
  if (read.kind === 'bad') return { kind: 'bad', problems: read.problems };
  const fields = fieldsOf(read.source.value);
  const from = isLlamaSwap(fields) ? 'llama-swap' : 'llmux';
  const notes = new Notes();
  const config = from === 'llama-swap' ? fromLlamaSwap(fields, env, notes) : fromLlmux(fields, notes);
  const loaded = configFrom(config, 'the result', {}, withKeys(config, env));
  return {
    kind: 'imported',
    from,
    text: `# Made from ${from}'s config by \`catnap config import\`.\n${stringify(config, { lineWidth: 0, aliasDuplicateObjects: false })}`,
    notes: notes.lines,
    problems:
      loaded.kind === 'bad' ? loaded.problems.map((problem) => problemText({ ...problem, file: undefined })) : [],
  };
}

/** Models of llama-swap are commands; those of llmux have paths. */
function isLlamaSwap(file: Fields): boolean {
  const models = Object.values(fieldsOf(file['models'])).map(fieldsOf);
  return models.some(({ cmd }) => cmd !== undefined) || file['peers'] !== undefined;
}

/** Variables that hold keys need not be set where a config is made. */
function withKeys(config: Fields, env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const named = (value: unknown): string[] =>
    Object.entries(fieldsOf(value)).flatMap(([key, one]) =>
      key.endsWith('_env') && typeof one === 'string' ? [one] : [],
    );
  const keys = Array.isArray(config['keys']) ? config['keys'] : [];
  const names = [...keys, ...Object.values(fieldsOf(config['models']))].flatMap(named);
  const set = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  return {
    ...Object.fromEntries(names.map((name, n) => [name, `a-key-to-be-${n}-0123456789`])),
    ...Object.fromEntries(set),
  };
}
