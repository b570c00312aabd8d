import { readFileSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import type { Problem, Source } from './diagnostics.ts';
import { reasonOf } from './reason.ts';
import { readJson } from './json-text.ts';
import { isFields } from './values.ts';
import type { Text } from './text.ts';
import { readYaml } from './yaml-text.ts';

type SourceRead =
  | { readonly kind: 'read'; readonly source: Source }
  | { readonly kind: 'bad'; readonly problems: readonly Problem[] };

const LARGEST_FILE_BYTES = 8 * 1_048_576;

const READERS: Readonly<Record<string, (text: string) => Text>> = {
  '.json': readJson,
  '.yaml': readYaml,
  '.yml': readYaml,
};

/** Reads one config file. Its ending says what it is written in. */
export function readSource(file: string): SourceRead {
  const reader = READERS[extname(file).toLowerCase()];
  if (reader === undefined) {
    return bad(file, 'has an ending that is not known', 'Config files end in .json, .yaml or .yml.');
  }
  const bytes = contentOf(file);
  if ('kind' in bytes) return bytes;
  const text = decoded(bytes);
  if (text === undefined) return bad(file, 'is not UTF-8', 'Save it as UTF-8.');
  const { value, places, faults } = reader(text);
  if (faults.length === 0) return whole(file, value, places);
  return {
    kind: 'bad',
    problems: faults.map(({ place, message, fix }) => ({ file, path: '', ...place, message, fix })),
  };
}

/** A config is an object. A file that holds nothing but comments is an empty one. */
function whole(file: string, value: unknown, places: Text['places']): SourceRead {
  if (value === null) return { kind: 'read', source: { name: file, value: {}, places } };
  if (isFields(value)) return { kind: 'read', source: { name: file, value, places } };
  return bad(file, 'holds no object', 'A config is { "models": { "NAME": { … } } }.');
}

function contentOf(file: string): Uint8Array | SourceRead {
  try {
    if (statSync(file).size > LARGEST_FILE_BYTES) return bad(file, `is larger than ${LARGEST_FILE_BYTES} bytes`);
    return readFileSync(file);
  } catch (error) {
    return bad(file, `cannot be read: ${reasonOf(error)}`);
  }
}

/** The text without its byte order mark, or undefined when it is not UTF-8. */
function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const bad = (file: string, message: string, fix?: string): SourceRead => ({
  kind: 'bad',
  problems: [{ file, path: '', message, fix }],
});
