import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export type SizedFile = { readonly path: string; readonly bytes: number };

/** Parts of one model in files beside each other: `m-00001-of-00003.gguf`. */
const PART = /-\d{5}-of-(\d{5}\.\w+)$/;
const WEIGHTS = /\.(?:safetensors|bin|gguf|pt)$/;

/** The files that hold the weights of a model, in order; none where there are none here, as for a model that has to be fetched. */
export async function weightFiles(path: string): Promise<readonly SizedFile[]> {
  try {
    const found = await stat(path);
    // The other files of a folder are small.
    if (found.isDirectory()) return await sized(path, (name) => WEIGHTS.test(name));
    const [part, rest] = PART.exec(path) ?? [];
    if (part === undefined || rest === undefined) return [{ path, bytes: found.size }];
    const begin = basename(path).slice(0, -part.length);
    return await sized(dirname(path), (name) => name.startsWith(begin) && name.endsWith(rest));
  } catch {
    return [];
  }
}

/** All files of a folder that are meant, by name. */
export async function sized(folder: string, isMeant: (name: string) => boolean): Promise<readonly SizedFile[]> {
  const names = (await readdir(folder)).filter(isMeant).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return { path, bytes: (await stat(path)).size };
    }),
  );
}
