import { chmod, mkdir, readdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { EngineId } from '../core/kinds.ts';
import type { Conversations } from '../ports/conversations.ts';
import { engineFileName } from './engine-file-name.ts';
import { fingerprintOf } from './fingerprint.ts';
import { readGgufHeader } from './gguf-header.ts';
import { codeOf, isMissing } from './system-error.ts';

const MANIFEST = 'kept.json';
const Manifest = z.object({
  key: z.string(),
  files: z.array(z.object({ name: z.string(), size: z.int().min(1) })),
});

type Options = {
  /** A folder for these alone, in the state folder. */
  readonly folder: string;
  /** How much all of it may take. */
  readonly maxBytes: number;
};

/** Conversations in a private folder for each engine. */
export class KeptConversations implements Conversations {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  async unfit(modelFile: string): Promise<string | undefined> {
    const header = await readGgufHeader(modelFile);
    const family = header?.get('general.architecture');
    if (header === undefined || typeof family !== 'string') return undefined;
    if (Number(header.get(`${family}.attention.sliding_window`) ?? 0) > 0)
      return 'its attention looks back through a window, of which llama-server saves too little';
    const recurrent = [...header.keys()].find((key) => RECURRENT.some((part) => key.startsWith(`${family}.${part}`)));
    return recurrent === undefined ? undefined : 'part of it is recurrent, which llama-server does not save';
  }

  async folder(engine: EngineId): Promise<string> {
    const path = this.#pathOf(engine);
    try {
      await mkdir(path, { recursive: true, mode: 0o700 });
      for (const own of [this.#options.folder, path]) await chmod(own, 0o700);
      return path;
    } catch (error) {
      throw new Error(`${path} cannot be written to (${codeOf(error) ?? String(error)})`, { cause: error });
    }
  }

  keyOf(words: readonly string[]): Promise<string> {
    return fingerprintOf(words);
  }

  async keep(engine: EngineId, key: string, names: readonly string[]): Promise<string | undefined> {
    const path = this.#pathOf(engine);
    await this.#clear(path, names);
    if (names.length === 0) return undefined;
    const files = await Promise.all(names.map(async (name) => ({ name, size: (await stat(join(path, name))).size })));
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    const why = await this.#makeRoom(path, bytes);
    if (why !== undefined) {
      await this.#clear(path, []);
      return why;
    }
    await Promise.all(names.map((name) => chmod(join(path, name), 0o600)));
    await writeFile(join(path, `${MANIFEST}.part`), `${JSON.stringify({ key, files })}\n`, { mode: 0o600 });
    await rename(join(path, `${MANIFEST}.part`), join(path, MANIFEST));
    return undefined;
  }

  async kept(engine: EngineId, key: string): Promise<readonly string[]> {
    const path = this.#pathOf(engine);
    const manifest = await manifestIn(path);
    const names: string[] = [];
    if (manifest?.key === key) {
      for (const { name, size } of manifest.files) if ((await sizeOf(join(path, name))) === size) names.push(name);
    }
    await this.#clear(path, [...names, ...(names.length > 0 ? [MANIFEST] : [])]);
    return names;
  }

  async drop(engine: EngineId): Promise<void> {
    await this.#clear(this.#pathOf(engine), []);
  }

  /** Removes what was kept for engines that are not among these. */
  async sweep(engines: readonly EngineId[]): Promise<void> {
    const named = new Set(engines.map((engine) => engineFileName(engine)));
    for (const name of await namesIn(this.#options.folder)) {
      if (!named.has(name)) await rm(join(this.#options.folder, name), { recursive: true, force: true });
    }
  }

  /** Whether the disk has so much left that a save cannot fill it, is for the server to find out; it says so. */
  async #makeRoom(path: string, bytes: number): Promise<string | undefined> {
    const { folder, maxBytes } = this.#options;
    if (bytes > maxBytes) return `it takes ${mib(bytes)}, and keep_kv_max_mib allows ${mib(maxBytes)} for all together`;
    const others = await Promise.all(
      (await namesIn(folder))
        .map((name) => join(folder, name))
        .filter((other) => other !== path)
        .map(async (other) => ({ other, ...(await ageAndSize(other)) })),
    );
    let taken = bytes + others.reduce((sum, other) => sum + other.bytes, 0);
    for (const other of others.toSorted((a, b) => a.since - b.since)) {
      if (taken <= maxBytes) break;
      await this.#clear(other.other, []);
      taken -= other.bytes;
    }
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize === 0 ? 'the disk is full' : undefined;
  }

  async #clear(path: string, except: readonly string[]): Promise<void> {
    for (const name of await namesIn(path)) {
      if (!except.includes(name)) await rm(join(path, name), { recursive: true, force: true });
    }
  }

  #pathOf(engine: EngineId): string {
    return join(this.#options.folder, engineFileName(engine));
  }
}

/** Keys by which models say that they are, in part, no transformers. */
const RECURRENT = ['ssm.', 'wkv.', 'token_shift_count', 'shortconv.', 'kda.', 'full_attention_interval'];

async function manifestIn(path: string): Promise<z.infer<typeof Manifest> | undefined> {
  const text = await readFile(join(path, MANIFEST), 'utf8').catch(() => '');
  try {
    return Manifest.parse(JSON.parse(text));
  } catch {
    return undefined; // not there, or cut short: then nothing was kept
  }
}

async function ageAndSize(path: string): Promise<{ since: number; bytes: number }> {
  let bytes = 0;
  let since = 0;
  for (const name of await namesIn(path)) {
    const file = await stat(join(path, name)).catch(() => undefined);
    bytes += file?.size ?? 0;
    since = Math.max(since, file?.mtimeMs ?? 0);
  }
  return { since, bytes };
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

const sizeOf = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );

const mib = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MiB`;
