import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { EngineId } from '../core/kinds.ts';
import { CheckpointError, type Checkpoint, type Passport, type Returning } from '../ports/checkpoints.ts';
import type { HandedImage } from '../ports/handover.ts';
import type { Child } from '../ports/process.ts';
import type { Programs } from '../ports/programs.ts';
import { cleared, restoredPid, whyFailed, type Criu } from './criu.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { Image } from './image.ts';
import type { ImageStore } from './images.ts';
import { noteUse, withdrawPassport, writePassport } from './passport.ts';
import { goOn } from './standstill.ts';
import type { CheckpointHost, Lost, Reviving } from './processes.ts';

const LOOK_EVERY_MS = 10;
/** A file that is not there yet is asked for with next to no work, and requests wait for it. */
const BACK_EVERY_MS = 3;
/** How long what has come back of an engine that nobody wants any more may take to be gone. */
const GONE_MS = 10_000;
/** How long a number may still be that of a process which has ended and was not collected. */
const COLLECTED_MS = 10_000;

export type SavedMeans = {
  readonly host: CheckpointHost;
  readonly criu: Criu;
  readonly programs: Programs;
  /** Undefined where there is no process table. */
  readonly images: ImageStore | undefined;
  readonly portIsFree: (port: number) => Promise<boolean>;
  readonly onProblem: (message: string) => void;
  /** Whether this catnap is about to end, so that what was kept is left where it is. */
  readonly isLeaving: () => boolean;
  /** Told when an engine on disk is asked for, or is to be there no longer. */
  readonly wanted: (saved: SavedEngine) => void;
};

export type Saved = {
  readonly engine: EngineId;
  /** The process that was written, or what is known of it. */
  readonly of: Child | Lost;
  readonly port: number;
  readonly image: Image;
  /** Whether its connections with itself were kept. */
  readonly connected: boolean;
  /** Whether it was stopped before, since others wait on connections to it. */
  readonly open: boolean;
  /** Lets go of what is kept for it while it is on disk. */
  readonly release: () => void;
  /** What it may come back from later, if anything. */
  readonly kept: 'no' | 'once' | 'prepared';
};

/** One engine on disk, written by this catnap or by an earlier one. */
export class SavedEngine implements Checkpoint {
  readonly #saved: Saved;
  readonly #means: SavedMeans;
  #kept: Saved['kept'];
  #gaveWay: string | undefined;
  #tellGone: () => void = () => {};
  /** Somebody has asked for it, or for its end: it makes room for nobody any more. */
  #isWanted = false;

  constructor(saved: Saved, means: SavedMeans) {
    this.#saved = saved;
    this.#means = means;
    this.#kept = saved.kept;
  }

  get bytes(): number {
    return this.#saved.image.bytes;
  }

  release(): HandedImage {
    const { image, connected } = this.#saved;
    const { path, listing, bytes } = image;
    this.#want();
    return { path, listing, bytes, connected, kept: this.#kept };
  }

  async restore(signal: AbortSignal): Promise<Returning> {
    const { host, criu, images, portIsFree } = this.#means;
    const { of, port, image, connected } = this.#saved;
    this.#want();
    if (this.#gaveWay === undefined && images?.hold(image.path) === false)
      this.#gaveWay = `the image in ${image.path} is being removed to make room for another`;
    // Of an engine that was handed over, this catnap has not looked at criu yet.
    const hindrance = this.#gaveWay ?? (await criu.hindrance()) ?? (await image.change());
    if (hindrance !== undefined) throw new CheckpointError(hindrance);
    await this.#untilNumbersFree(signal);
    if (!(await portIsFree(port)))
      throw new CheckpointError(`port ${port}, which it listens on, is in use by another program`);
    signal.throwIfAborted();
    await this.#begin();
    const argv = criu.restore({ folder: image.path, connected });
    const reviving = await image.withOutput((output) => host.revive(of, argv, output));
    if (signal.aborted) {
      // It was given up while this began, so nobody else knows of what has come of it.
      await killed(reviving.child);
      signal.throwIfAborted();
    }
    const back = this.#untilBack(reviving, signal);
    back.catch(() => {}); // told to whoever waits for it, if anybody still does
    return { child: reviving.child, back };
  }

  whenGone(tell: () => void): void {
    this.#tellGone = tell;
    if (this.#gaveWay !== undefined) tell();
  }

  async keep({ launched, before, prepared }: Passport): Promise<void> {
    const { criu, programs, onProblem } = this.#means;
    const { image } = this.#saved;
    try {
      const key = await keyOf(launched, criu, programs);
      const { path, listing, bytes } = image;
      await writePassport(path, { key, prepared, before, listing, bytes });
      this.#kept = prepared ? 'prepared' : 'once';
      if (prepared) this.#means.images?.release(path);
    } catch (error) {
      onProblem(`the image in ${image.path} will not outlive this catnap: ${String(error)}`);
    }
  }

  async drop(): Promise<void> {
    const stays = this.#kept === 'prepared' || (this.#kept === 'once' && this.#means.isLeaving());
    await (stays ? this.#letBe() : this.remove());
  }

  async remove(): Promise<void> {
    const { image } = this.#saved;
    await this.#letBe();
    try {
      await image.drop();
    } catch (error) {
      this.#means.onProblem(`the image in ${image.path} could not be removed: ${String(error)}`);
    }
  }

  /** Its image makes room for another engine's, unless it is wanted by now; it will be started afresh. */
  async giveWay(to: EngineId): Promise<void> {
    if (this.#isWanted) return;
    const { onProblem } = this.#means;
    const { engine, image } = this.#saved;
    this.#gaveWay = `its image was removed to make room for that of ${to}`;
    this.#want();
    onProblem(`${engine}: ${this.#gaveWay} (checkpoint.images_max_mib); it will be started afresh`);
    this.#tellGone();
    await image.drop();
  }

  #want(): void {
    this.#isWanted = true;
    this.#means.wanted(this);
  }

  async #letBe(): Promise<void> {
    this.#want();
    this.#saved.release();
    this.#means.images?.release(this.#saved.image.path);
  }

  /** What runs again must not be brought back a second time from where it was; what was prepared begins anew each time. */
  async #begin(): Promise<void> {
    const { path } = this.#saved.image;
    if (this.#kept === 'prepared') await noteUse(path);
    else await withdrawPassport(path);
    if (this.#kept === 'once') this.#kept = 'no';
    await cleared({ folder: path });
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
      await pause(BACK_EVERY_MS);
    }
    if (this.#saved.open) goOn(await reviving.child.everyone());
    this.#saved.release();
  }
}

/** Of what we inherit ourselves, these decide which libraries an engine loads and which GPUs it sees. */
const DECISIVE = /^(CUDA_|NVIDIA_|NCCL_|HIP_|ROCR_|LD_LIBRARY_PATH$|PYTHON|VIRTUAL_ENV$|CONDA_PREFIX$)/;

/** A name for all that an image depends on, but for the numbers and the port, which are looked at when it comes back. */
export async function keyOf(
  { argv, env, cwd }: Passport['launched'],
  criu: Pick<Criu, 'version'>,
  programs: Programs,
): Promise<string> {
  const program = await programs.find(argv[0]);
  const inherited = Object.entries(process.env).filter(([name]) => DECISIVE.test(name));
  const variables = [...inherited, ...Object.entries(env)].map(([name, value]) => `${name}=${value}`);
  return fingerprintOf([
    `${program?.path} ${program?.mark}`,
    ...argv,
    cwd ?? '',
    ...variables.toSorted(),
    `criu ${criu.version}`,
  ]);
}

async function killed(child: Child): Promise<void> {
  const until = performance.now() + GONE_MS;
  while ((await child.members()).length > 0 && performance.now() < until) {
    child.signal('SIGKILL');
    await pause(LOOK_EVERY_MS);
  }
}

async function nameOf(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const [program = ''] = line.split('\0');
  return program === '' ? 'a program that cannot be seen' : program.slice(0, 200);
}
