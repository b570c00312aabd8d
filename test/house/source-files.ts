import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout that the tests run in. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');

const NOT_OURS = /^(\.git|node_modules|dist|\.cache)(\/|$)|^(dist|node_modules)\.tmp-/;

export type SourceFile = { readonly path: string; readonly text: string };

/** Every file of ours under some folders of the checkout, with its path from the root. */
export function filesUnder(...folders: readonly string[]): SourceFile[] {
  return folders
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => !NOT_OURS.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

/** The line, counted from 1, on which a position of a text lies. */
export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
