import { readFileSync } from 'node:fs';
import { checkpointModel } from '../app/checkpoint.ts';
import { oneModel } from './one-model.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage.ts';

type CheckpointWords = {
  readonly config: readonly string[];
  readonly model: string;
  readonly requests: string | undefined;
  readonly json: boolean;
  readonly verbose: boolean;
};

/** Writes a model's engine to disk ahead of its use. */
export async function checkpoint(words: CheckpointWords, terminal: Terminal): Promise<number> {
  const { model: name, json, verbose } = words;
  const requests = requestsIn(words.requests);
  const found = oneModel(words.config, name, terminal);
  if (typeof found === 'number') return found;
  return checkpointModel({
    ...found,
    ...{ requests, json, verbose, env: process.env },
    out: (text) => terminal.out(text),
    say: (line) => terminal.err(`${line}\n`),
  });
}

/** One request of the OpenAI API on each line, without its model. */
function requestsIn(path: string | undefined): Readonly<Record<string, unknown>>[] {
  if (path === undefined) return [];
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--requests: ${path} cannot be read (${error instanceof Error ? error.message : 'unknown'})`);
  }
  const lines = text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [{ line, at: at + 1 }]));
  return lines.map(({ line, at }) => {
    const request = parsed(line);
    if (request !== undefined && ('messages' in request || 'prompt' in request)) return request;
    throw new UsageError(`--requests: line ${at} of ${path} is no JSON object with "messages" or "prompt"`);
  });
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
