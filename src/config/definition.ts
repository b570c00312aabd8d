import { differing } from './reload/changes.ts';
import { momentOf } from './reload/moments.ts';
import type { ModelConfig } from './schema.ts';
import { Secret } from './secret.ts';
import { isFields } from './values.ts';

/** How a secret is written. No key of a config begins so. */
const SECRET = '$secret';

/** The settings of a model as text, with its secrets: for a pipe between two processes, and for nothing that is written down. */
export const definitionOf = (model: ModelConfig): string => JSON.stringify(plain(model));

/** The same the other way. Throws where it is none. */
export function modelOf(definition: string): ModelConfig {
  const model = revived(JSON.parse(definition));
  if (!isFields(model) || typeof model['backend'] !== 'string')
    throw new Error('a definition that is handed over is none');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by a catnap; that of another version only serves to end what no config has any more
  return model as ModelConfig;
}

/** Whether an engine with these settings is another one than with those. */
export const isAnother = (before: ModelConfig, after: ModelConfig): boolean =>
  before.backend !== after.backend ||
  differing(before, after).some((key) => momentOf(after.backend, key) === 'restart');

function plain(value: unknown): unknown {
  if (value instanceof Secret) return { [SECRET]: value.reveal() };
  if (Array.isArray(value)) return value.map(plain);
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}

function revived(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revived);
  if (!isFields(value)) return value;
  const secret = value[SECRET];
  if (typeof secret === 'string') return new Secret(secret);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, revived(one)]));
}
