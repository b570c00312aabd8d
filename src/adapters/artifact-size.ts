import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const MIB = 1_048_576;

/** Parts of one model in files beside each other: `m-00001-of-00003.gguf`. */
const PART = /-\d{5}-of-(\d{5}\.\w+)$/;

/** How much a model's files take, in MiB; undefined where there are none here, as for a model that has to be fetched. */
export async function artifactMib(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return mibOf(await weightsIn(path));
    const [part, rest] = PART.exec(path) ?? [];
    if (part === undefined || rest === undefined) return mibOf([found.size]);
    const begin = basename(path).slice(0, -part.length);
    const names = (await readdir(dirname(path))).filter((name) => name.startsWith(begin) && name.endsWith(rest));
    return mibOf(await Promise.all(names.map(async (name) => (await stat(join(dirname(path), name))).size)));
  } catch {
    return undefined;
  }
}

/** The files of a folder that hold weights; its other files are small. */
async function weightsIn(folder: string): Promise<readonly number[]> {
  const names = (await readdir(folder)).filter((name) => /\.(?:safetensors|bin|gguf|pt)$/.test(name));
  return Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
}

const mibOf = (sizes: readonly number[]): number | undefined =>
  sizes.length === 0 ? undefined : sizes.reduce((sum, size) => sum + size, 0) / MIB;
