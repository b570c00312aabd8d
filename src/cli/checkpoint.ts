import { readFileSync } from 'node:fs';
import { checkpointModel } from '../app/checkpoint.ts';
import { EXIT } from '../app/exit.ts';
import { complaint } from '../config/diagnostics.ts';
import { loadConfig } from '../config/load.ts';
import { nearest } from '../config/nearest.ts';
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
  const loaded = loadConfig(words.config, {}, terminal.env);
  if (loaded.kind === 'absent') {
    terminal.err(`catnap: there is no ${loaded.lookedFor.join(' or ')} in this folder. Name a file with --config.\n`);
    return EXIT.usage;
  }
  if (loaded.kind === 'bad') {
    terminal.err(complaint(loaded.problems));
    return EXIT.usage;
  }
  const { models } = loaded.config;
  const model = models[name];
  if (model === undefined) {
    const meant = nearest(name, Object.keys(models));
    const hint = meant === undefined ? `There are: ${Object.keys(models).join(', ')}.` : `Did you mean ${meant}?`;
    throw new UsageError(`The config has no model "${name}". ${hint}`);
  }
  return checkpointModel({
    ...{ config: loaded.config, name, model, requests, json, verbose, env: process.env },
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
