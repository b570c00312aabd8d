import { readFileSync } from 'node:fs';
import type { Finding } from './diagnostics.ts';
import { secret } from './fields.ts';
import { reasonOf } from './reason.ts';
import type { Path } from './place.ts';
import type { Secret } from './secret.ts';

export type Env = Readonly<Record<string, string | undefined>>;

type KeyKeys = {
  readonly api_key?: Secret | undefined;
  readonly api_key_env?: string | undefined;
  readonly api_key_file?: string | undefined;
};

export type KeyRead = { readonly key: Secret | undefined; readonly findings: readonly Finding[] };

/** The key of a model, wherever it was put: in the config, in a variable or in a file. */
export function engineKeyOf(model: KeyKeys, at: Path, env: Env): KeyRead {
  const named = (['api_key', 'api_key_env', 'api_key_file'] as const).filter((name) => model[name] !== undefined);
  const [first, second] = named;
  if (first !== undefined && second !== undefined) {
    return none({ path: [...at, second], message: `is there besides ${first}`, fix: 'Keep one of them.' });
  }
  if (model.api_key_env !== undefined) return fromVariable(model.api_key_env, [...at, 'api_key_env'], env);
  if (model.api_key_file !== undefined) return fromFile(model.api_key_file, [...at, 'api_key_file']);
  return { key: model.api_key, findings: [] };
}

export function fromVariable(name: string, path: Path, env: Env): KeyRead {
  const value = env[name];
  if (value === undefined || value === '') {
    // Somebody may have put the key itself here.
    const which = LIKE_A_VARIABLE.test(name) ? `the variable ${name}, which` : 'a variable that';
    return none({ path, message: `names ${which} is not set`, fix: 'Set it where catnap starts.' });
  }
  return checked(value, path, `the variable ${name}`);
}

const LIKE_A_VARIABLE = /^[A-Z_][A-Z0-9_]{0,99}$/;

/** Without the path, which may be the key itself; the place in the config is told. */
const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : reasonOf(error);

export function fromFile(file: string, path: Path): KeyRead {
  try {
    return checked(readFileSync(file, 'utf8').trim(), path, `the file ${file}`);
  } catch (error) {
    return none({ path, message: `names a file that cannot be read: ${codeOf(error)}` });
  }
}

function checked(value: string, path: Path, source: string): KeyRead {
  const parsed = secret().safeParse(value);
  if (parsed.success) return { key: parsed.data, findings: [] };
  return none({ path, message: `leads to no key: what ${source} holds must be printable ASCII without blanks` });
}

export const none = (finding: Finding): KeyRead => ({ key: undefined, findings: [finding] });
