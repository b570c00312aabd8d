import { fastHash, makeKey, slowHash } from '../access/proof.ts';
import { KeySchema } from '../config/keys-schema.ts';
import { EXIT } from '../app/exit.ts';
import type { Terminal } from './terminal.ts';

type KeyOptions = { readonly name: string | undefined; readonly stdin: boolean; readonly json: boolean };

/** A key that people choose must not be found by trying short ones. */
const SHORTEST = 12;

/** Makes a key for a client, or takes one from standard input, and prints what the config wants to know of it. */
export async function makeClientKey({ name = 'NAME', stdin, json }: KeyOptions, terminal: Terminal): Promise<number> {
  const given = stdin ? (await terminal.in()).replace(/\r?\n$/, '') : undefined;
  const wrong = problemOfName(name) ?? (given === undefined ? undefined : problemWith(given));
  if (wrong !== undefined) {
    terminal.err(`catnap: ${wrong}\n`);
    return EXIT.usage;
  }
  const key = given ?? makeKey();
  // A key that was made by chance cannot be guessed, so its hash may be a fast one.
  const hash = given === undefined ? fastHash(key) : await slowHash(key);
  const made = given === undefined ? { key } : {};
  if (json) terminal.out(`${JSON.stringify({ ...made, name, hash }, undefined, 2)}\n`);
  else terminal.out(`${given === undefined ? shown(key) : ''}${entry(name, hash)}`);
  return EXIT.ok;
}

function problemOfName(name: string): string | undefined {
  const [issue] = KeySchema.shape.name.safeParse(name).error?.issues ?? [];
  return issue && `the name ${issue.message}.`;
}

function problemWith(key: string): string | undefined {
  if (key.length < SHORTEST) return `a key needs at least ${SHORTEST} characters, since it can be guessed otherwise.`;
  if (!/^[\x21-\x7e]+$/.test(key)) return 'a key must be printable ASCII without blanks, since it is sent in a header.';
  return undefined;
}

const shown = (key: string): string => `The key. It stands nowhere else, so keep it:\n\n  ${key}\n\n`;

const entry = (name: string, hash: string): string =>
  `What \`keys\` of the config gets:\n\n  ${JSON.stringify({ name, hash })}\n\nAdd "admin": true for one who runs catnap. docs/config.md has the other rights and the limits.\n`;
