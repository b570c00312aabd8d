import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { noteRemaps, removeRemaps } from './link-remaps.ts';
import { PASSPORT, type PassportOnDisk } from './passport.ts';
import { isMissing } from './system-error.ts';

const OUTPUT = 'criu.log';
/** Whose it is. It is written anew when another catnap takes it over. */
export const MANIFEST = 'catnap.json';

/** One folder of a store of images. */
export class Image {
  readonly path: string;
  #sealed: string | undefined;
  #bytes = 0;

  constructor(path: string, sealed?: Pick<PassportOnDisk, 'listing' | 'bytes'>) {
    this.path = path;
    this.#sealed = sealed?.listing;
    this.#bytes = sealed?.bytes ?? 0;
  }

  get listing(): string {
    return this.#sealed ?? '';
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** To be called before these processes are written to it. */
  async expect(pids: readonly number[]): Promise<void> {
    await noteRemaps(this.path, pids);
  }

  /** Remembers what is in it now: a changed image must not be restored, since what comes of that is anybody's guess. */
  async seal(): Promise<void> {
    const { bytes, listing } = await sizeOf(this.path);
    this.#bytes = bytes;
    this.#sealed = listing;
  }

  /** Undefined when it is as it was sealed. */
  async change(): Promise<string | undefined> {
    const { listing } = await sizeOf(this.path);
    return listing === this.#sealed ? undefined : `the image in ${this.path} was changed or removed by somebody`;
  }

  /** Every process and thread number that is in it, all of which must be free when it is restored. */
  async numbers(): Promise<number[]> {
    const names = await readdir(this.path);
    return names.flatMap((name) => /^core-(\d+)\.img$/.exec(name)?.[1] ?? []).map(Number);
  }

  /** Gives a file in it to a program that is started; criu has a word to say before it has its log. */
  async withOutput<T>(start: (output: number) => Promise<T>): Promise<T> {
    const file = await open(join(this.path, OUTPUT), 'a', 0o600);
    try {
      return await start(file.fd);
    } finally {
      await file.close();
    }
  }

  async drop(): Promise<void> {
    await removeRemaps(this.path);
    await rm(this.path, { recursive: true, force: true });
  }
}

/** What criu itself writes beside the image while it works with it, and what catnap notes of it. */
const isBeside = (name: string): boolean =>
  /\.log$|^root\.pid$|^stats-/.test(name) || [PASSPORT, MANIFEST].includes(name.replace(/\.part$/, ''));

/** What lies in it, and how much the disk gives for it. */
export async function sizeOf(path: string): Promise<{ bytes: number; listing: string }> {
  let bytes = 0;
  const files: string[] = [];
  try {
    for (const name of (await readdir(path)).toSorted()) {
      const { size, blocks, mtimeMs } = await stat(join(path, name));
      bytes += Math.max(size, blocks * 512);
      if (!isBeside(name)) files.push(`${name} ${size} ${mtimeMs}`);
    }
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return { bytes, listing: files.join('\n') };
}
