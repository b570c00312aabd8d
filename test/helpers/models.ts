import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { catnapCacheDir } from '../../src/quickstart/cache-dir.ts';
import { writeCountModel, writeRandomModel, writeSayModel } from '../../src/quickstart/gguf/models.ts';

/** The file of a model that answers everything with `text`. Made once per machine, as are the others. */
export async function sayModel(text: string): Promise<string> {
  const file = join(folder(), `say-${createHash('sha256').update(text).digest('hex').slice(0, 12)}.gguf`);
  await writeSayModel({ file, text });
  return file;
}

/** The file of a model that answers everything with ` 1 2 3 …` up to `count`. */
export async function countModel(count: number): Promise<string> {
  const file = join(folder(), `count-${count}.gguf`);
  await writeCountModel({ file, count });
  return file;
}

/** The file of a model with random weights, tiny or of about `targetMb` megabytes. */
export async function randomModel(wanted: { readonly seed: number; readonly targetMb?: number }): Promise<string> {
  const file = join(folder(), `random-${wanted.seed}-${wanted.targetMb ?? 'tiny'}.gguf`);
  await writeRandomModel({ file, ...wanted });
  return file;
}

const folder = (): string => join(catnapCacheDir(process.env), 'test-models');
