import { chmod, mkdir, readdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { EngineId } from '../core/kinds.ts';
import type { CacheOf, Conversations } from '../ports/conversations.ts';
import { engineFileName } from './engine-file-name.ts';
import { fingerprintOf } from './fingerprint.ts';
import { readGgufHeader } from './gguf-header.ts';
import { kvBytesPerToken } from './kv-size.ts';
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
  /** What is free on the disk of a folder, in bytes. */
  readonly freeOn?: (folder: string) => Promise<number>;
};

/** So much of the disk is left to everybody else: logs and records lie on it too. */
const LEFT_FREE = 256 * 1_048_576;

/** Conversations in a private folder for each engine. */
export class KeptConversations implements Conversations {
  readonly #options: Options;
  /** What those that are writing will have written at most, and what of it is yet to come. */
  readonly #promised = new Map<EngineId, { readonly total: number; readonly toCome: number }>();
  /** One after the other is promised its room, so that no two are promised the same. */
  #asked: Promise<unknown> = Promise.resolve();

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

  bytesPerToken(of: CacheOf): Promise<number | undefined> {
    return kvBytesPerToken(of);
  }

  room(engine: EngineId, size: { readonly total: number; readonly toCome: number }): Promise<string | undefined> {
    const room = this.#asked.then(async () => {
      this.#promised.delete(engine);
      const why = await this.#makeRoom(engine, size);
      if (why === undefined) this.#promised.set(engine, size);
      return why;
    });
    this.#asked = room.catch(() => {}); // whoever asked is told
    return room;
  }

  async keep(engine: EngineId, key: string, names: readonly string[]): Promise<string | undefined> {
    const path = this.#pathOf(engine);
    await this.#clear(path, names);
    if (names.length === 0) {
      this.#promised.delete(engine);
      return undefined;
    }
    const files = await Promise.all(names.map(async (name) => ({ name, size: (await stat(join(path, name))).size })));
    // It was guessed before; this is what it came to.
    const total = files.reduce((sum, { size }) => sum + size, 0);
    const why = await this.room(engine, { total, toCome: 0 });
    this.#promised.delete(engine);
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
    this.#promised.delete(engine);
    await this.#clear(this.#pathOf(engine), []);
  }

  /** Removes what was kept for engines that are not among these, and of these what was never said to be kept: their server or their catnap was killed as it wrote. */
  async sweep(engines: readonly EngineId[]): Promise<void> {
    const named = new Set(engines.map((engine) => engineFileName(engine)));
    for (const name of await namesIn(this.#options.folder)) {
      const path = join(this.#options.folder, name);
      if (!named.has(name)) await rm(path, { recursive: true, force: true });
      else if ((await manifestIn(path)) === undefined) await this.#clear(path, []);
    }
  }

  /** Nobody goes for what would not fit all the same. */
  async #makeRoom(
    engine: EngineId,
    { total, toCome }: { readonly total: number; readonly toCome: number },
  ): Promise<string | undefined> {
    const { folder, maxBytes, freeOn = freeBytes } = this.#options;
    const others = await this.#others(engine);
    const promised = [...this.#promised.values()];
    const busy = sumOf(promised.map((one) => one.total));
    if (total + busy > maxBytes)
      return `it takes about ${mib(total)}, and keep_kv_max_mib allows ${mib(maxBytes)} for all together`;
    const free = Math.max(0, (await freeOn(folder)) - LEFT_FREE - sumOf(promised.map((one) => one.toCome)));
    const kept = sumOf(others.map(({ bytes }) => bytes));
    if (toCome > free + kept)
      return `about ${mib(toCome)} are to be written, and the disk of ${folder} has ${mib(free)} to give (${mib(LEFT_FREE)} are left alone)`;
    let over = Math.max(total + busy + kept - maxBytes, toCome - free);
    for (const { path, bytes } of others.toSorted((a, b) => a.since - b.since)) {
      if (over <= 0) break;
      await this.#clear(path, []);
      over -= bytes;
    }
    return undefined;
  }

  /** Who else has something on disk, and does not write just now. */
  async #others(engine: EngineId) {
    const { folder } = this.#options;
    const writing = new Set([engine, ...this.#promised.keys()].map((one) => engineFileName(one)));
    const names = (await namesIn(folder)).filter((name) => !writing.has(name));
    return Promise.all(
      names.map(async (name) => ({ path: join(folder, name), ...(await ageAndSize(join(folder, name))) })),
    );
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

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

const mib = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MiB`;
