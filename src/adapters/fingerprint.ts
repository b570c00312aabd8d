import { createHash, type Hash } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';

/** Of a file this much is read at each of so many places, its two ends among them: to tell files apart, not to prove them whole. */
const SAMPLE_BYTES = 64 * 1024;
const SAMPLES = 32;
/** A model in a folder is some dozen files. */
const MOST_FILES = 1_000;

/** A name for these words, and for those of them that name files or folders, as they are now. */
export async function fingerprintOf(words: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const word of words) {
    hash.update(`${word}\0`);
    if (isAbsolute(word)) await add(hash, word);
  }
  return hash.digest('hex').slice(0, 32);
}

async function add(hash: Hash, path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() === true) await addFile(hash, path);
  if (found?.isDirectory() !== true) return;
  for (const name of (await readdir(path)).toSorted().slice(0, MOST_FILES)) {
    const file = await stat(join(path, name)).catch(() => undefined);
    if (file?.isFile() === true) hash.update(`${name} ${file.size} ${file.mtimeMs}\0`);
  }
}

/** Its size, its time, and what stands in it here and there. */
async function addFile(hash: Hash, path: string): Promise<void> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return;
  try {
    const found = await file.stat();
    hash.update(`${found.size} ${found.mtimeMs}\0`);
    const buffer = Buffer.alloc(SAMPLE_BYTES);
    const step = Math.max(SAMPLE_BYTES, Math.floor((found.size - SAMPLE_BYTES) / (SAMPLES - 1)));
    for (let at = 0; at < found.size; at += step) {
      const { bytesRead } = await file.read(buffer, 0, SAMPLE_BYTES, at);
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
