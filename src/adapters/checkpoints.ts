import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { modelId, type EngineId } from '../core/kinds.ts';
import {
  CheckpointError,
  type Checkpoint,
  type CheckpointOf,
  type Checkpoints,
  type KeptImage,
} from '../ports/checkpoints.ts';
import type { HandedImage } from '../ports/handover.ts';
import type { Child } from '../ports/process.ts';
import { whyFailed } from './criu.ts';
import type { Image } from './image.ts';
import type { MayStay } from './images.ts';
import { keyOf, SavedEngine, type SavedMeans } from './saved-engine.ts';
import { signalGroup } from './signal-group.ts';
import { goOn, standStill } from './standstill.ts';

const MIB = 1_048_576;
const LOOK_EVERY_MS = 10;
/** How long a criu that was killed may take to end, before it is left to its fate. */
const LATE_MS = 2_000;
/** How long what a dump has ended may take to be gone: processes whose parent is the system are collected late. */
const GONE_MS = 10_000;

const NO_TABLE = 'sleep level 4 needs the process table of Linux in /proc';

/** Engines on disk, by criu. */
export class CriuCheckpoints implements Checkpoints {
  readonly #means: SavedMeans;
  #isLeaving = false;
  /** Those on disk that nobody has asked for yet, the longest asleep first. */
  readonly #asleep = new Set<SavedEngine>();
  #lastBytes: number | undefined;

  constructor(means: Omit<SavedMeans, 'isLeaving' | 'wanted'>) {
    this.#means = { ...means, isLeaving: () => this.#isLeaving, wanted: (saved) => void this.#asleep.delete(saved) };
  }

  async hindrance(): Promise<string | undefined> {
    const { criu, images } = this.#means;
    const hindrance = await criu.hindrance();
    if (hindrance !== undefined) return hindrance;
    if (images === undefined) return NO_TABLE;
    try {
      await images.prepare();
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** The size of the image that was written last. */
  get lastBytes(): number | undefined {
    return this.#lastBytes;
  }

  /** This catnap is about to end: what was kept for a later one is removed no more. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Removes what an earlier catnap has left on disk, but for what may stay. */
  async sweep(mayStay?: MayStay): Promise<void> {
    const { images, onProblem } = this.#means;
    try {
      const removed = (await images?.sweep(mayStay)) ?? 0;
      if (removed > 0)
        onProblem(`an earlier catnap left ${removed === 1 ? 'an engine' : `${removed} engines`} on disk; removed`);
    } catch (error) {
      onProblem(`images of an earlier catnap could not be removed: ${String(error)}`);
    }
  }

  /** Removes all that this catnap, or an earlier one in its place, has left, and the folder where nobody else uses it. */
  async clear(): Promise<void> {
    const { images, onProblem } = this.#means;
    try {
      await images?.clear();
    } catch (error) {
      onProblem(`images in ${images?.folder} could not be removed: ${String(error)}`);
    }
  }

  async save(
    child: Child,
    { engine, model, port, ranks = 1, gpuMib = 0, open = false }: CheckpointOf,
    signal: AbortSignal,
  ): Promise<Checkpoint> {
    const { host, images } = this.#means;
    if (images === undefined) throw new CheckpointError(NO_TABLE);
    const sleepers = [...this.#asleep].map((saved) => ({ bytes: saved.bytes, giveWay: () => saved.giveWay(engine) }));
    const claim = await images.claim((await memoryOf(await child.everyone())) + gpuMib * MIB, sleepers);
    if ('lack' in claim) throw new CheckpointError(claim.lack);
    try {
      const savedAt = new Date().toISOString();
      const note = { engine, model, port, pid: child.pid, mark: host.markOf(child), savedAt };
      const image = await images.create(note, claim);
      let release = (): void => {};
      const connected = ranks > 1 || open;
      const saved = new SavedEngine(
        { of: child, port, image, release: () => release(), connected, open, kept: 'no', engine },
        this.#means,
      );
      try {
        release = await host.hold(child, port);
        await image.expect(await child.everyone());
        if (open) await standStill(() => child.everyone());
        await this.#dump(child, { image, connected }, signal);
        await this.#untilGone(child, signal);
        await image.seal();
        this.#lastBytes = image.bytes;
      } catch (error) {
        if (open) goOn(await child.everyone());
        await saved.remove();
        throw error;
      }
      // Somebody waits for what it works on: it makes room for nobody.
      if (!open) this.#asleep.add(saved);
      return saved;
    } finally {
      images.settle(claim);
    }
  }

  async adopt(
    child: Child,
    { engine, port }: Pick<CheckpointOf, 'engine' | 'port'>,
    { path, listing, bytes, connected, kept }: HandedImage,
  ): Promise<Checkpoint> {
    const { host, images } = this.#means;
    if (images === undefined) throw new CheckpointError(NO_TABLE);
    const image = await images.adopt(path, { listing, bytes });
    const release = await host.hold(child, port);
    const saved = new SavedEngine(
      { of: child, port, image, release, connected, open: connected, kept, engine },
      this.#means,
    );
    this.#asleep.add(saved);
    return saved;
  }

  async kept(engine: EngineId): Promise<KeptImage | undefined> {
    const { images, host, criu, programs } = this.#means;
    const found = await images?.kept(engine);
    if (found === undefined) return undefined;
    const { image, manifest, passport } = found;
    const { model, mark, port, savedAt } = manifest;
    const { prepared, before } = passport;
    const of = { engine, model: modelId(model), port, mark };
    const release = host.keepPort(port);
    const kept = prepared ? 'prepared' : 'once';
    const checkpoint = new SavedEngine(
      { of, port, image, release, connected: false, open: false, kept, engine },
      this.#means,
    );
    return {
      ...{ port, savedAt, prepared, before, checkpoint },
      change: async (launched) => {
        const unable = await this.hindrance();
        if (unable !== undefined) return unable;
        const key = await keyOf(launched, criu, programs);
        return key === passport.key
          ? image.change()
          : 'its command line, its environment, one of its files, or criu is another one by now';
      },
      remove: () => checkpoint.remove(),
    };
  }

  async #dump(
    child: Child,
    { image, connected }: { image: Image; connected: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { host, criu } = this.#means;
    signal.throwIfAborted();
    const argv = criu.dump(child.pid, { folder: image.path, connected });
    const helper = await image.withOutput((output) => host.help(child, argv, output));
    const kill = (): void => void signalGroup(helper.pid, 'SIGKILL');
    signal.addEventListener('abort', kill, { once: true });
    if (signal.aborted) kill();
    try {
      const { code, signal: by } = await unlessLate(helper.exited, signal);
      if (code === 0) return;
      const reason = await whyFailed({ folder: image.path }, 'dump');
      const how = code === null ? `criu was ended by ${by ?? 'a signal'}` : `criu failed with code ${code}`;
      throw new CheckpointError(`it could not be written to disk: ${reason ?? how}`);
    } finally {
      signal.removeEventListener('abort', kill);
    }
  }

  async #untilGone(child: Child, signal: AbortSignal): Promise<void> {
    const until = performance.now() + GONE_MS;
    for (;;) {
      const left = await child.members();
      if (left.length === 0) return;
      signal.throwIfAborted();
      if (performance.now() > until)
        throw new CheckpointError(`it was written to disk and still runs: process ${left.join(', ')}`);
      // Its end is heard of at once; that of others of its tree is looked for.
      await (child.hasExited ? pause(LOOK_EVERY_MS) : Promise.race([child.exited, pause(LOOK_EVERY_MS)]));
    }
  }
}

/** What an image will hold at least: everything that is in no file. In bytes. */
async function memoryOf(pids: readonly number[]): Promise<number> {
  const sizes = await Promise.all(
    pids.map(async (pid) => {
      const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
      return [...status.matchAll(/^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$/gm)].reduce(
        (sum, [, kb]) => sum + Number(kb),
        0,
      );
    }),
  );
  return sizes.reduce((sum, kb) => sum + kb * 1_024, 0);
}

/** Once the signal has fired, the end is not waited for longer than it takes to be killed. */
async function unlessLate<T>(ended: Promise<T>, signal: AbortSignal): Promise<T> {
  const late = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    timer = setTimeout(() => late.reject(new CheckpointError('criu did not end in time')), LATE_MS);
  };
  signal.addEventListener('abort', start, { once: true });
  if (signal.aborted) start();
  try {
    return await Promise.race([ended, late.promise]);
  } finally {
    signal.removeEventListener('abort', start);
    clearTimeout(timer);
  }
}
