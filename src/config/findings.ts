import type { z } from 'zod';
import type { Finding } from './diagnostics.ts';
import { KeySchema } from './keys-schema.ts';
import { TlsSchema } from './tls-schema.ts';
import { isFields, valueAt } from './values.ts';
import { DemoteSchema } from './demote-schema.ts';
import { HookSchema, HooksSchema } from './hooks-schema.ts';
import { BACKENDS } from './models/index.ts';
import { FootprintSchema } from './models/shared.ts';
import { AliasSchema } from './naming-schema.ts';
import { nearest } from './nearest.ts';
import type { Path } from './place.ts';
import { CheckpointSchema, GpuSchema, RestartSchema } from './engines-schema.ts';
import { PolicySchema } from './policy-schema.ts';
import { ConfigSchema } from './schema.ts';
import { StageSchema } from './stages-schema.ts';

/** Says what the schema found in the words of somebody who edits a config file. */

type Issue = z.core.$ZodIssue;

export function findingsOf(issues: readonly Issue[], raw: unknown): Finding[] {
  return issues.flatMap((issue) => {
    const path = issue.path.filter((step) => typeof step !== 'symbol');
    return found(issue, path, raw);
  });
}

function found(issue: Issue, path: Path, raw: unknown): readonly Finding[] {
  const got = valueAt(raw, path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((name) => unknownKey(path, name, raw));
    case 'invalid_key':
      return [{ path, message: issue.issues[0]?.message ?? 'is not a name', fix: cleanName(path) }];
    case 'invalid_union':
      return [isBackend(path) ? wrongBackend(path, got) : { path, message: issue.message }];
    case 'invalid_type':
      return [wrongType(path, issue.expected, got)];
    case 'invalid_value':
      return [wrongValue(path, issue.values.map(String), got)];
    case 'too_small':
      return [{ path, message: bound('least', issue.origin, Number(issue.minimum)) }];
    case 'too_big':
      return [{ path, message: bound('most', issue.origin, Number(issue.maximum)) }];
    case 'invalid_format':
    case 'invalid_element':
    case 'not_multiple_of':
    case 'custom':
      return [{ path, message: issue.message }];
  }
}

/** What people call a key that is written out. */
const SECRET_NAMES: ReadonlySet<string> = new Set(['key', 'api_key', 'token', 'secret', 'value', 'password']);

const isBackend = (path: Path): boolean => path[0] === 'models' && path.length === 3 && path[2] === 'backend';

function unknownKey(path: Path, name: string, raw: unknown): Finding {
  const at = [...path, name];
  if (path[0] === 'models' && path.length === 2 && name === 'host') {
    return {
      path: at,
      message: 'is not a key of models',
      fix: 'Engines listen on 127.0.0.1; catnap has a `host` of its own.',
    };
  }
  const backends = path[0] === 'models' && path.length === 2 ? backendsWith(name) : [];
  if (backends.length > 0) {
    return {
      path: at,
      message: `is a key of the backend ${list(backends)}, and this model's backend is "${backendOf(raw, path)}"`,
      fix: 'Set `backend`, or take the key out.',
    };
  }
  if (path[0] === 'keys' && SECRET_NAMES.has(name)) {
    const fix =
      'Write its hash (`catnap key --stdin` makes it), or name a variable with `key_env` or a file with `key_file`.';
    return { path: at, message: 'is not a key here: the key itself does not stand in the config', fix };
  }
  const meant = nearest(name, keysAt(path, raw));
  return {
    path: at,
    message: 'is not a key here',
    fix: meant === undefined ? 'docs/config.md lists the keys.' : `Did you mean "${meant}"?`,
  };
}

const BACKEND_SHAPES: ReadonlyMap<string, object> = new Map(
  Object.entries(BACKENDS).map(([name, schema]) => [name, schema.shape]),
);

const backendsWith = (name: string): string[] =>
  [...BACKEND_SHAPES].filter(([, shape]) => Object.hasOwn(shape, name)).map(([backend]) => backend);

/** The canonical name of the backend that the model at `path` asks for. */
function backendOf(raw: unknown, path: Path): string {
  const backend = valueAt(raw, [...path, 'backend']);
  return typeof backend === 'string' && backend !== 'vllm' ? backend : 'vllm_serve';
}

/** The keys that may stand in the object at `path`. */
function keysAt(path: Path, raw: unknown): readonly string[] {
  const [first] = path;
  if (first === undefined) return Object.keys(ConfigSchema.shape);
  if (path.at(-2) === 'demote') return Object.keys(DemoteSchema.shape);
  if (first === 'stages') return Object.keys(StageSchema.shape);
  if (first === 'gpu') return Object.keys(GpuSchema.shape);
  if (path.at(-1) === 'footprint') return Object.keys(FootprintSchema.shape);
  if (first === 'models' && path[2] === 'hooks')
    return Object.keys(path.length === 3 ? HooksSchema.shape : HookSchema.shape);
  if (first === 'models') return Object.keys(BACKEND_SHAPES.get(backendOf(raw, path)) ?? {});
  if (first === 'keys') return Object.keys(KeySchema.shape);
  if (first === 'tls') return Object.keys(TlsSchema.shape);
  if (first === 'aliases') return Object.keys(AliasSchema.shape);
  if (first === 'policy') return Object.keys(PolicySchema.shape);
  if (first === 'restart') return Object.keys(RestartSchema.shape);
  return first === 'checkpoint' ? Object.keys(CheckpointSchema.shape) : [];
}

function wrongBackend(path: Path, got: unknown): Finding {
  const all = [...BACKEND_SHAPES.keys()];
  return wrongValue(path, all, got);
}

const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  tuple: 'a list',
};

function wrongType(path: Path, expected: string, got: unknown): Finding {
  if (got === undefined) return { path, message: 'is missing' };
  const message = `must be ${TYPES[expected] ?? expected}, not ${shown(path, got)}`;
  if (got === null) return { path, message, fix: 'Leave the key out to have its default.' };
  const unquotable =
    typeof got === 'string' && (expected === 'boolean' ? /^(true|false)$/ : /^-?\d+(\.\d+)?$/).test(got);
  return { path, message, fix: unquotable && expected !== 'string' ? 'Write it without quotes.' : undefined };
}

function wrongValue(path: Path, values: readonly string[], got: unknown): Finding {
  if (got === undefined) return { path, message: `is missing: it is one of ${list(values)}` };
  const meant = typeof got === 'string' ? nearest(got, values) : undefined;
  return {
    path,
    message: `must be ${values.length > 1 ? 'one of ' : ''}${list(values)}, not ${shown(path, got)}`,
    fix: meant === undefined ? undefined : `Did you mean "${meant}"?`,
  };
}

function bound(side: 'least' | 'most', origin: string, limit: number): string {
  if (origin === 'string') return limit === 1 ? 'must not be empty' : `must have at ${side} ${limit} characters`;
  if (origin === 'number' || origin === 'int') return `must be at ${side} ${limit}`;
  return limit === 1 && side === 'least' ? 'must not be empty' : `must have at ${side} ${limit} entries`;
}

/** A model name like the one that cannot be used, or nothing when that would not help. */
function cleanName(path: Path): string | undefined {
  const name = path.at(-1);
  if (path[0] !== 'models' || typeof name !== 'string') return undefined;
  const clean = name.replaceAll(/[^A-Za-z0-9_.:/@+-]+/g, '-').replace(/^[^A-Za-z0-9_]+|-+$/g, '');
  return clean === '' || clean.length > 200 ? undefined : `Perhaps "${clean}".`;
}

const list = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

/** What was written, short; never the value of a key or a variable. */
function shown(path: Path, got: unknown): string {
  if (Array.isArray(got)) return 'a list';
  if (isFields(got)) return 'an object';
  const hidden = path[0] === 'keys' || path.includes('env') || path.some((step) => String(step).startsWith('api_key'));
  if (hidden && got !== null) return `a ${typeof got}`;
  const text = JSON.stringify(got) ?? String(got);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
