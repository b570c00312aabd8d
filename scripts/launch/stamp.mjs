import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const NAME = '.made-from';

/**
 * One hash over the names and contents of some files.
 * @param {string} root
 * @param {...string} files
 */
export function hashOf(root, ...files) {
  const hash = createHash('sha256');
  for (const file of files) {
    hash.update(`${file}\0`);
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

/**
 * What a made folder was made from.
 * @param {string} folder
 * @returns {string | undefined}
 */
export function stampOf(folder) {
  const file = join(folder, NAME);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/**
 * @param {string} folder
 * @param {string} madeFrom
 */
export function writeStamp(folder, madeFrom) {
  writeFileSync(join(folder, NAME), madeFrom);
}
