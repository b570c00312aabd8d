import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import {
  CheckpointError,
  type Checkpoint,
  type CheckpointOf,
  type Checkpoints,
  type Returning,
} from '../ports/checkpoints.ts';
import type { Child } from '../ports/process.ts';
import { restoredPid, whyFailed, type Criu } from './criu.ts';
import type { Image, ImageStore } from './images.ts';
import type { CheckpointHost, Reviving } from './processes.ts';
import { signalGroup } from './signal-group.ts';

const LOOK_EVERY_MS = 10;
/** How long a criu that was killed may take to end, before it is left to its fate. */
const LATE_MS = 2_000;
/** How long what a dump has ended may take to be gone: processes whose parent is the system are collected late. */
const GONE_MS = 10_000;
/** How long a number may still be that of a process which has ended and was not collected. */
const COLLECTED_MS = 10_000;

const NO_TABLE = 'sleep level 4 needs the process table of Linux in /proc';

type Means = {
  readonly host: CheckpointHost;
  readonly criu: Criu;
  /** Undefined where there is no process table. */
  readonly images: ImageStore | undefined;
  readonly portIsFree: (port: number) => Promise<boolean>;
  readonly onProblem: (message: string) => void;
};

/** Engines on disk, by criu. */
export class CriuCheckpoints implements Checkpoints {
  readonly #means: Means;

  constructor(means: Means) {
    this.#means = means;
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

  /** Removes what an earlier catnap has left on disk. */
  async sweep(): Promise<void> {
    const { images, onProblem } = this.#means;
    try {
      const removed = (await images?.sweep()) ?? 0;
      if (removed > 0)
        onProblem(`an earlier catnap left ${removed === 1 ? 'an engine' : `${removed} engines`} on disk; removed`);
    } catch (error) {
      onProblem(`images of an earlier catnap could not be removed: ${String(error)}`);
    }
  }

  async save(child: Child, { engine, model, port }: CheckpointOf, signal: AbortSignal): Promise<Checkpoint> {
    const { host, images } = this.#means;
    if (images === undefined) throw new CheckpointError(NO_TABLE);
    const lack = await images.lackOfRoom(await memoryOf(await child.everyone()));
    if (lack !== undefined) throw new CheckpointError(lack);
    const { pid } = child;
    const image = await images.create({
      engine,
      model,
      port,
      pid,
      mark: host.markOf(child),
      savedAt: new Date().toISOString(),
    });
    const release = await host.hold(child, port);
    try {
      await this.#dump(child, image, signal);
      await this.#untilGone(child, signal);
      await image.seal();
    } catch (error) {
      release();
      await dropped(image, this.#means);
      throw error;
    }
    return new SavedEngine({ child, port, image, release }, this.#means);
  }

  async #dump(child: Child, image: Image, signal: AbortSignal): Promise<void> {
    const { host, criu } = this.#means;
    signal.throwIfAborted();
    const argv = criu.dump(child.pid, { folder: image.path });
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
      await pause(LOOK_EVERY_MS);
    }
  }
}

type Saved = {
  readonly child: Child;
  readonly port: number;
  readonly image: Image;
  /** Lets go of what is kept for it while it is on disk. */
  readonly release: () => void;
};

class SavedEngine implements Checkpoint {
  readonly #saved: Saved;
  readonly #means: Means;

  constructor(saved: Saved, means: Means) {
    this.#saved = saved;
    this.#means = means;
  }

  get bytes(): number {
    return this.#saved.image.bytes;
  }

  async restore(signal: AbortSignal): Promise<Returning> {
    const { host, criu, portIsFree } = this.#means;
    const { child, port, image } = this.#saved;
    const change = await image.change();
    if (change !== undefined) throw new CheckpointError(change);
    await this.#untilNumbersFree(signal);
    if (!(await portIsFree(port)))
      throw new CheckpointError(`port ${port}, which it listens on, is in use by another program`);
    signal.throwIfAborted();
    const argv = criu.restore({ folder: image.path });
    const reviving = await image.withOutput((output) => host.revive(child, argv, output));
    if (signal.aborted) {
      // It was given up while this began, so nobody else knows of what has come of it.
      await killed(reviving.child);
      signal.throwIfAborted();
    }
    const back = this.#untilBack(reviving, signal);
    back.catch(() => {}); // told to whoever waits for it, if anybody still does
    return { child: reviving.child, back };
  }

  async drop(): Promise<void> {
    this.#saved.release();
    await dropped(this.#saved.image, this.#means);
  }

  /** Of processes that have ended and were not yet collected the numbers are still taken, and so they may be by strangers. */
  async #untilNumbersFree(signal: AbortSignal): Promise<void> {
    const { table } = this.#means.host;
    if (table === undefined) return;
    const numbers = await this.#saved.image.numbers();
    const until = performance.now() + COLLECTED_MS;
    for (;;) {
      const taken = numbers.flatMap((pid) => table.look(pid) ?? []);
      if (taken.length === 0) return;
      signal.throwIfAborted();
      const stranger = taken.find(({ alive }) => alive) ?? (performance.now() > until ? taken[0] : undefined);
      if (stranger !== undefined)
        throw new CheckpointError(
          `process number ${stranger.pid}, which it must have again, is in use: ${await nameOf(stranger.pid)}`,
        );
      await pause(LOOK_EVERY_MS);
    }
  }

  async #untilBack(reviving: Reviving, signal: AbortSignal): Promise<void> {
    const place = { folder: this.#saved.image.path };
    let code: number | null | undefined;
    void reviving.ended.then((exit) => (code = exit.code));
    for (;;) {
      signal.throwIfAborted();
      if (code !== undefined) {
        const reason = await whyFailed(place, 'restore');
        const how = code === null ? 'criu was killed' : `criu ended with code ${code}`;
        throw new CheckpointError(`it could not be brought back from disk: ${reason ?? how}`);
      }
      const pid = await restoredPid(place);
      if (pid !== undefined && (await reviving.arrived(pid))) break;
      await pause(LOOK_EVERY_MS);
    }
    this.#saved.release();
  }
}

async function killed(child: Child): Promise<void> {
  const until = performance.now() + GONE_MS;
  while ((await child.members()).length > 0 && performance.now() < until) {
    child.signal('SIGKILL');
    await pause(LOOK_EVERY_MS);
  }
}

async function dropped(image: Image, { onProblem }: Means): Promise<void> {
  try {
    await image.drop();
  } catch (error) {
    onProblem(`the image in ${image.path} could not be removed: ${String(error)}`);
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

async function nameOf(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const [program = ''] = line.split('\0');
  return program === '' ? 'a program that cannot be seen' : program.slice(0, 200);
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
