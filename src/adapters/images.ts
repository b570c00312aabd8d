import { randomBytes } from 'node:crypto';
import {
  chmod,
  constants,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { engineFileName } from './engine-file-name.ts';
import { Image, MANIFEST, sizeOf } from './image.ts';
import { lastUseOf, readPassport, type PassportOnDisk } from './passport.ts';
import type { ProcessTable } from './process-table.ts';
import { codeOf, isMissing } from './system-error.ts';

const STICKY = 0o1000;
/** What our folders are called: the engine's name, a part of its mark, and what tells one save from the next. */
const FOLDER = /^.+\.[0-9a-f]{8}\.[0-9a-f]{8}\.[0-9a-f]{8}$/;

const Owner = z.object({
  /** Of this boot, and of this space of process numbers. */
  boot: z.string(),
  namespace: z.string(),
  /** The catnap that keeps it, and which state folder that one has for itself. */
  catnap: z.object({ pid: z.int().min(1), started: z.int().min(0) }),
  state: z.string(),
});

const Manifest = Owner.extend({
  version: z.literal(1),
  engine: z.string(),
  model: z.string(),
  /** The mark of the processes that are in it. */
  mark: z.string(),
  pid: z.int().min(2),
  port: z.int(),
  savedAt: z.string(),
});
export type ManifestOfImage = z.infer<typeof Manifest>;

/** What of it is known before it has an owner. */
type Written = Omit<ManifestOfImage, 'version' | keyof z.infer<typeof Owner>>;

type StoreOptions = {
  readonly folder: string;
  /** How much all images together may take; 0: whatever the disk has. */
  readonly maxBytes: number;
  readonly table: ProcessTable;
  /** What tells our state folder from all others. While we run nobody else has it. */
  readonly state: string;
};

/** Which images of ours may outlive their catnap. */
export type MayStay = (engine: string, prepared: boolean) => boolean;

/** An image that can make room for another, unless it is wanted by the time it is asked to. */
export type Yielding = { readonly bytes: number; giveWay(): Promise<void> };

/** Room that is kept for an image while it is written. */
type Claim = { readonly bytes: number; path: string | undefined };

export type Found = { readonly image: Image; readonly manifest: ManifestOfImage; readonly passport: PassportOnDisk };

/** Images on disk: a private folder each, with what it belongs to written in it before anything else. */
export class ImageStore {
  readonly #options: StoreOptions;
  /** Those that an engine of ours is to come back from. */
  readonly #held = new Set<string>();
  /** Those that are on their way out. */
  readonly #going = new Set<string>();
  readonly #claims = new Set<Claim>();
  /** One image after the other is promised its room, so that no two are promised the same. */
  #promised: Promise<unknown> = Promise.resolve();

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  get folder(): string {
    return this.#options.folder;
  }

  /** Makes the folder if need be, for us alone. Rejects with what to change when it is not ours: it lies where others may write. */
  async prepare(): Promise<void> {
    const { folder } = this.#options;
    const why = 'set checkpoint.images_dir to a folder that only catnap may write to';
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const flaw = await this.#flaw();
      if (flaw !== undefined) throw new Error(flaw);
      await chmod(folder, 0o700);
    } catch (error) {
      throw new Error(`${folder} cannot hold images: ${inWords(error)}; ${why}`, { cause: error });
    }
  }

  /** Why the folder cannot be trusted: others may have made it, for us to write to or to remove things from, or may put another in its place. */
  async #flaw(): Promise<string | undefined> {
    const { folder } = this.#options;
    const found = await lstat(folder);
    if (!found.isDirectory()) return 'it is not a folder';
    const own = process.geteuid?.();
    if (found.uid !== own) return 'it belongs to another user';
    const above = dirname(resolve(folder));
    const { uid, mode } = await stat(above);
    if (uid !== own && uid !== 0) return `${above}, in which it lies, belongs to another user`;
    const isOpen = (mode & constants.S_IWOTH) !== 0 && (mode & STICKY) === 0;
    return isOpen ? `${above}, in which it lies, may be written to by everybody` : undefined;
  }

  /**
   * Keeps room for an image of this size, or tells why it would not fit. Where it would if others made room, they do: those
   * that only wait for another start, the longest unused first, and then these. Nobody gives way for what would not fit all the same.
   */
  claim(bytes: number, sleepers: readonly Yielding[] = []): Promise<Claim | { readonly lack: string }> {
    const promise = this.#promised.then(async () => {
      const lack = await this.#lackOfRoom(bytes, sleepers);
      if (lack !== undefined) return { lack };
      const claim: Claim = { bytes, path: undefined };
      this.#claims.add(claim);
      return claim;
    });
    this.#promised = promise.catch(() => {}); // whoever asked is told
    return promise;
  }

  /** The image is written, or will not be: from now on it counts for what it is. */
  settle(claim: Claim): void {
    this.#claims.delete(claim);
  }

  async #lackOfRoom(bytes: number, sleepers: readonly Yielding[]): Promise<string | undefined> {
    const waiting = (await this.#waiting()).map(({ image }) => ({
      bytes: image.bytes,
      giveWay: () => this.#giveWay(image),
    }));
    const others = [...waiting, ...sleepers];
    const room = others.reduce((sum, other) => sum + other.bytes, 0);
    for (const other of others) {
      if ((await this.#lack(bytes)) === undefined || (await this.#lack(bytes - room)) !== undefined) break;
      await other.giveWay();
    }
    return this.#lack(bytes);
  }

  async #giveWay(image: Image): Promise<void> {
    const { path } = image;
    if (this.#held.has(path)) return;
    this.#going.add(path);
    try {
      await image.drop();
    } finally {
      this.#going.delete(path);
    }
  }

  async #lack(bytes: number): Promise<string | undefined> {
    const { folder, maxBytes } = this.#options;
    const { bavail, bsize } = await statfs(folder);
    const promised = await this.#yetToCome();
    const free = Math.max(0, bavail * bsize - promised);
    if (bytes > free) return `its image takes about ${mib(bytes)}, and ${folder} has ${mib(free)} left`;
    if (maxBytes === 0) return undefined;
    const used = (await this.#used()) + promised;
    if (used + bytes <= maxBytes) return undefined;
    return `its image takes about ${mib(bytes)}, and of checkpoint.images_max_mib (${mib(maxBytes)}) ${mib(used)} are taken`;
  }

  async create(manifest: Written, claim?: Claim): Promise<Image> {
    const name = `${engineFileName(manifest.engine)}.${manifest.mark.slice(0, 8)}.${randomBytes(4).toString('hex')}`;
    const path = join(this.#options.folder, name);
    await mkdir(path, { mode: 0o700 });
    if (claim !== undefined) claim.path = path;
    await this.#own(path, manifest);
    return new Image(path);
  }

  /** One that another catnap in our place has written and leaves to us. Rejects when it is not there any more. */
  async adopt(path: string, sealed: Pick<PassportOnDisk, 'listing' | 'bytes'>): Promise<Image> {
    const manifest = await this.#manifestOf(path);
    if (manifest === undefined || !this.#isOfHere(manifest)) throw new Error(`there is no image of ours in ${path}`);
    await this.#own(path, manifest);
    return new Image(path, sealed);
  }

  /** Its manifest is whole or not there, whenever we are killed. */
  async #own(path: string, manifest: Written): Promise<void> {
    const { table, state } = this.#options;
    const { boot, namespace, self } = table;
    const catnap = { pid: self.pid, started: self.started };
    const full: ManifestOfImage = { ...manifest, version: 1, boot, namespace, catnap, state };
    await writeFile(join(path, `${MANIFEST}.part`), `${JSON.stringify(full)}\n`, { mode: 0o600 });
    await rename(join(path, `${MANIFEST}.part`), join(path, MANIFEST));
    this.hold(path);
  }

  /** While it is held, an image makes room for no other. False: it does already. */
  hold(path: string): boolean {
    if (this.#going.has(path)) return false;
    this.#held.add(path);
    return true;
  }

  release(path: string): void {
    this.#held.delete(path);
  }

  /** The image of this engine that was kept for a later start: the one that goes on where it was before any that was prepared. */
  async kept(engine: string): Promise<Found | undefined> {
    const found = (await this.#waiting()).filter(({ manifest }) => manifest.engine === engine);
    return found.findLast(({ passport }) => !passport.prepared) ?? found.at(-1);
  }

  /** Those of ours that nobody holds and that have a passport, the longest unused first. In a folder that others could have written to there are none. */
  async #waiting(): Promise<readonly Found[]> {
    const names = await this.#names();
    if (names.length === 0 || (await this.#flaw()) !== undefined) return [];
    const found: (Found & { readonly usedAt: number })[] = [];
    for (const name of names) {
      const path = join(this.#options.folder, name);
      if (this.#held.has(path)) continue;
      const [manifest, passport] = [await this.#manifestOf(path), await readPassport(path)];
      if (manifest === undefined || passport === undefined || !this.#isOfHere(manifest)) continue;
      found.push({ image: new Image(path, passport), manifest, passport, usedAt: await lastUseOf(path) });
    }
    return found.toSorted((a, b) => a.usedAt - b.usedAt);
  }

  async #manifestOf(path: string): Promise<ManifestOfImage | undefined> {
    const text = await readFile(join(path, MANIFEST), 'utf8').catch(() => '');
    return Manifest.safeParse(jsonOf(text)).data;
  }

  /** Nothing outlives its boot: its numbers, and the clocks it has seen. */
  #isOfHere({ boot, namespace, state }: z.infer<typeof Owner>): boolean {
    const { table, state: ours } = this.#options;
    return boot === table.boot && namespace === table.namespace && state === ours;
  }

  /**
   * Removes what an earlier catnap has left, but for what may stay. Those of a catnap that runs are let be, and so is
   * whatever is not ours. Gives how many went.
   */
  async sweep(mayStay: MayStay = () => false): Promise<number> {
    return this.#removeUnless((path) => this.#isKept(path, mayStay));
  }

  /** Removes all images of ours, also those of this very catnap, and the folder when it is empty then. */
  async clear(): Promise<void> {
    await this.#removeUnless((path) => this.#isKept(path, () => false, true));
    await rmdir(this.#options.folder).catch(() => {}); // it is not there, or others use it
  }

  async #removeUnless(isKept: (path: string) => Promise<boolean>): Promise<number> {
    let removed = 0;
    const names = await this.#names();
    if (names.length > 0 && (await this.#flaw()) !== undefined) return removed;
    for (const name of names) {
      const path = join(this.#options.folder, name);
      if (await isKept(path)) continue;
      await new Image(path).drop();
      removed += 1;
    }
    return removed;
  }

  async #isKept(path: string, mayStay: MayStay, mineGoes = false): Promise<boolean> {
    let text: string;
    try {
      text = await readFile(join(path, MANIFEST), 'utf8');
    } catch (error) {
      if (!isMissing(error)) return true;
      // Made by somebody who did not live to write it, or by somebody else.
      await rm(join(path, `${MANIFEST}.part`), { force: true });
      await rmdir(path).catch(() => {});
      return true;
    }
    const owner = Owner.safeParse(jsonOf(text));
    if (!owner.success) return false;
    const { table, state: ours } = this.#options;
    const { boot, namespace, catnap, state } = owner.data;
    const isMe = catnap.pid === table.self.pid && catnap.started === table.self.started;
    if (boot !== table.boot) return false;
    if (state === ours) return (!mineGoes && isMe && namespace === table.namespace) || this.#stays(path, mayStay);
    // Whether a catnap in another space of process numbers still lives cannot be seen from here.
    if (namespace !== table.namespace) return true;
    const stat = table.look(catnap.pid);
    return stat?.alive === true && stat.started === catnap.started;
  }

  async #stays(path: string, mayStay: MayStay): Promise<boolean> {
    const [manifest, passport] = [await this.#manifestOf(path), await readPassport(path)];
    if (manifest === undefined || passport === undefined) return false;
    return this.#isOfHere(manifest) && mayStay(manifest.engine, passport.prepared);
  }

  async #used(): Promise<number> {
    const sizes = await Promise.all((await this.#names()).map((name) => sizeOf(join(this.#options.folder, name))));
    return sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** What images that are being written will take beyond what they take now. */
  async #yetToCome(): Promise<number> {
    const left = [...this.#claims].map(async ({ bytes, path }) => {
      const written = path === undefined ? 0 : (await sizeOf(path)).bytes;
      return Math.max(0, bytes - written);
    });
    return (await Promise.all(left)).reduce((sum, rest) => sum + rest, 0);
  }

  async #names(): Promise<string[]> {
    try {
      return (await readdir(this.#options.folder)).filter((name) => FOLDER.test(name));
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const inWords = (error: unknown): string => codeOf(error) ?? (error instanceof Error ? error.message : String(error));

const mib = (bytes: number): string =>
  bytes >= 1_073_741_824 ? `${(bytes / 1_073_741_824).toFixed(1)} GiB` : `${Math.ceil(bytes / 1_048_576)} MiB`;
