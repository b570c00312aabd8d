import type { Finding } from './diagnostics.ts';
import { fromFile, fromVariable, none, type Env, type KeyRead } from './engine-key.ts';
import type { KeyWritten } from './keys-schema.ts';
import type { Path } from './place.ts';
import type { KeyConfig } from './schema.ts';
import { Secret } from './secret.ts';

/** Fewer characters can be guessed, whatever they are. */
const SHORTEST = 16;

type KeysRead = { readonly keys: KeyConfig[]; readonly findings: readonly Finding[] };

/** The keys of clients with their secrets, wherever those were put. */
export function keysOf(written: readonly KeyWritten[], env: Env): KeysRead {
  const keys: KeyConfig[] = [];
  const findings: Finding[] = [];
  for (const [index, { hash, key_env, key_file, ...rest }] of written.entries()) {
    const at = ['keys', index];
    const wrong = notOne({ hash, key_env, key_file }, at);
    if (wrong !== undefined) findings.push(wrong);
    else if (hash !== undefined) keys.push({ ...rest, secret: { kind: 'hash', value: new Secret(hash) } });
    else {
      const read = secretFrom(key_env, key_file, at, env);
      findings.push(...read.findings);
      if (read.key !== undefined) keys.push({ ...rest, secret: { kind: 'plain', value: read.key } });
    }
  }
  return { keys, findings };
}

function notOne(places: Readonly<Record<string, string | undefined>>, at: Path): Finding | undefined {
  const [first, second] = Object.keys(places).filter((name) => places[name] !== undefined);
  if (first === undefined) {
    const fix = '`catnap key` makes a key and prints its hash.';
    return { path: at, message: 'has no `hash`, `key_env` or `key_file`', fix };
  }
  if (second === undefined) return undefined;
  return { path: [...at, second], message: `is there besides ${first}`, fix: 'Keep one of them.' };
}

function secretFrom(variable: string | undefined, file: string | undefined, at: Path, env: Env): KeyRead {
  const path = [...at, variable === undefined ? 'key_file' : 'key_env'];
  const read = variable === undefined ? fromFile(file ?? '', path) : fromVariable(variable, path, env);
  if (read.key === undefined || read.key.reveal().length >= SHORTEST) return read;
  return none({ path, message: `leads to a key of fewer than ${SHORTEST} characters, which can be guessed` });
}
