import type { EngineId, Millis } from '../core/kinds.ts';
import { DriverError, type Done, type Order } from '../engines/driver.ts';
import type { KeptEngine, OwnSleep, Sleeper } from '../engines/sleeper.ts';
import { reasonOf, unlessAborted, within } from '../engines/wait.ts';
import { CheckpointError, type Checkpoint, type Checkpoints, type Returning } from '../ports/checkpoints.ts';
import type { LevelMemory } from '../ports/handover.ts';
import type { Level2 } from './level-2.ts';
import type { Level } from './level.ts';
import { frozenMemory, frozenOf, type Suspension } from './suspension.ts';

/** What level 4 needs of a suspension. */
type GpuWay = Pick<
  Suspension,
  | 'frozen'
  | 'recall'
  | 'concerns'
  | 'unusable'
  | 'lackOfMemory'
  | 'suspend'
  | 'note'
  | 'untilRoom'
  | 'resume'
  | 'proveRunning'
>;

type CheckpointMeans = {
  readonly checkpoints: Checkpoints;
  /** What the engine is put to first where it can be, so that the image is small. */
  readonly first: Level2 | undefined;
  /** The sleep calls it has of its own. */
  readonly own: OwnSleep | undefined;
  /** What empties the GPU before the dump, and fills it after the restore. */
  readonly suspension: GpuWay;
  /** Whether that is done by catnap, or by the plugin of criu. */
  readonly cudaDriver: 'self' | 'plugin';
  /** Whether its images are to outlive this catnap: one was asked for, or every one is. */
  readonly keeps: 'no' | 'all' | 'prepared';
  /** How long it may take to come back from disk, and then to answer, before what was done first is undone. */
  readonly stepMs: number;
};

/** What was done to an engine before it went to disk, and has to be undone when it is back. */
type Before = {
  readonly first: Level2 | undefined;
  readonly onGpu: boolean;
};

type Saved = Before & { readonly checkpoint: Checkpoint };

const MIB = 1_048_576;

/** Level 4: everything the engine is goes to disk, and no process is left. It comes back as the process it was. */
export class CheckpointLevel implements Level {
  readonly level = 4;
  readonly #means: CheckpointMeans;
  /** Why it did not come back once, of processes that work together: communicators that only seem to be down hang for ever. */
  #spoiled: string | undefined;
  #saved: Saved | undefined;
  /** Whether it was on a GPU when it was looked for hindrances, which is before every sleep. */
  #onGpu: boolean | undefined;
  #hasSpoken = false;

  constructor(means: CheckpointMeans) {
    this.#means = means;
  }

  get hasSpoken(): boolean {
    return this.#hasSpoken;
  }

  async hindrance(sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined> {
    const { checkpoints, suspension, own, first } = this.#means;
    const unable = await checkpoints.hindrance();
    if (unable !== undefined) return unable;
    const ours = this.#means.keeps === 'prepared' ? this.#oursAlone(sleeper) : undefined;
    if (ours !== undefined) return ours;
    this.#onGpu = await suspension.concerns(sleeper, signal);
    if (!this.#onGpu) return undefined;
    const together = sleeper.ranks > 1 ? this.#together(sleeper) : undefined;
    if (together !== undefined) return together;
    // A sleep of its own that failed half way would be all that comes back.
    if ((await own?.sleeps(sleeper, signal)) === true) return `${sleeper.name} is half asleep already`;
    const unusable = await suspension.unusable(sleeper, signal);
    // Whoever gives most of it up first is asked about the rest afterwards.
    return unusable ?? (first === undefined ? suspension.lackOfMemory(sleeper) : undefined);
  }

  /** Why processes that work together on several GPUs cannot be parted and frozen as at level hybrid. */
  #together(sleeper: Sleeper): string | undefined {
    const { own, cudaDriver } = this.#means;
    if (own === undefined)
      return `${sleeper.name} runs on ${sleeper.ranks} GPUs that talk to each other, which a checkpoint breaks; use level 5`;
    if (cudaDriver === 'plugin')
      return 'the plugin of criu freezes one process after the other, which those on several GPUs do not survive: set checkpoint.cuda_driver to "self"';
    if (this.#spoiled !== undefined) return `it did not come back from level 4 before: ${this.#spoiled}`;
    return own.partHindrance(sleeper);
  }

  /** Whatever fails on the way, the engine is ended: there is no level below this one but that. */
  async sleep(sleeper: Sleeper, order: Order): Promise<Done> {
    const { clock } = sleeper;
    const from = clock.now();
    const onGpu = this.#onGpu ?? (await this.#means.suspension.concerns(sleeper, order.signal));
    this.#onGpu = undefined;
    const open = order.open === true;
    if (open && onGpu) this.#mayStayOpen(sleeper);
    const first = open ? undefined : await this.#sleepFirst(sleeper, order);
    if (onGpu && sleeper.ranks > 1) await this.#means.own?.part(sleeper, order.signal);
    if (onGpu) await this.#leaveGpu(sleeper, order.signal);
    // Whatever fails from here on ends the engine: it does not come back to the GPU.
    if (!onGpu || this.#means.cudaDriver === 'self') order.onlyGives?.();
    await this.#save(sleeper, { first, onGpu }, order);
    const diskMib = Math.ceil((this.#saved?.checkpoint.bytes ?? 0) / MIB);
    return { actMs: clock.now() - from, proofMs: 0, left: { gpuMib: 0, diskMib } };
  }

  async wake(sleeper: Sleeper, order: Order): Promise<Done> {
    const { suspension } = this.#means;
    const { clock } = sleeper;
    const from = clock.now();
    const saved = this.#saved;
    if (saved === undefined) throw new DriverError(`${sleeper.name} is not on disk`);
    // Where there is no room for it, it need not come back at all.
    if (saved.onGpu) await suspension.untilRoom(sleeper, order.signal);
    const returning = await saved.checkpoint.restore(order.signal).catch(notBack(sleeper));
    try {
      return await this.#finish(sleeper, returning, order, from);
    } catch (error) {
      if (sleeper.ranks > 1 && !order.signal.aborted)
        this.#spoiled = error instanceof Error ? error.message : String(error);
      throw error;
    }
  }

  async kept(engine: EngineId): Promise<KeptEngine | undefined> {
    const image = await this.#means.checkpoints.kept(engine);
    if (image === undefined) return undefined;
    const { port, savedAt, prepared, before, checkpoint } = image;
    return {
      ...{ port, savedAt, prepared },
      change: (launched) => image.change(launched),
      begin: (signal) => checkpoint.restore(signal),
      finish: async (sleeper, returning, order) => {
        const { suspension, first } = this.#means;
        if (before.slept && first === undefined)
          throw new DriverError('it cannot be woken from level 2 as it is started now');
        if (before.gpu !== null) suspension.recall({ ...before.gpu, needs: new Map(Object.entries(before.gpu.needs)) });
        if (first !== undefined && before.sample !== null) first.sample = before.sample;
        this.#saved = { checkpoint, first: before.slept ? first : undefined, onGpu: before.gpu !== null };
        return this.#finish(sleeper, returning, order, sleeper.clock.now());
      },
      letBe: () => checkpoint.drop(),
      remove: () => image.remove(),
    };
  }

  /** Once criu is at it: all that was done before the dump, undone in the reverse order. */
  async #finish(sleeper: Sleeper, returning: Returning, order: Order, from: Millis): Promise<Done> {
    const { clock } = sleeper;
    const saved = this.#saved;
    await this.#untilBack(sleeper, returning, order.signal);
    if (saved?.onGpu === true) await this.#returnToGpu(sleeper, order.signal);
    if (saved?.onGpu === true && sleeper.ranks > 1) await this.#means.own?.rejoin(sleeper, order.signal);
    const backAt = clock.now();
    await sleeper.untilReady(this.#means.stepMs, order.signal);
    const woken = await saved?.first?.wake(sleeper, order);
    this.#hasSpoken = saved?.first?.hasSpoken === true;
    await this.discard();
    const actMs = backAt - from + (woken?.actMs ?? 0);
    return { actMs, proofMs: clock.now() - from - actMs };
  }

  memory(): LevelMemory {
    const { first, suspension } = this.#means;
    const saved = this.#saved;
    const known = { sample: first?.sample, spoiled: this.#spoiled };
    if (saved === undefined) return known;
    const disk = { image: saved.checkpoint.release(), slept: saved.first !== undefined, onGpu: saved.onGpu };
    return { ...known, disk, frozen: frozenMemory(suspension.frozen) };
  }

  async recall({ sample, spoiled, frozen, disk }: LevelMemory, sleeper: Sleeper): Promise<void> {
    const { checkpoints, first, suspension } = this.#means;
    if (first !== undefined) first.sample = sample;
    this.#spoiled = spoiled;
    if (disk === undefined) return;
    if (frozen !== undefined) suspension.recall(frozenOf(frozen));
    const checkpoint = await checkpoints.adopt(sleeper.child, sleeper, disk.image);
    this.#saved = { checkpoint, first: disk.slept ? first : undefined, onGpu: disk.onGpu };
    checkpoint.whenGone(() => sleeper.lostSleep());
  }

  async discard(): Promise<void> {
    const saved = this.#saved;
    this.#saved = undefined;
    await saved?.checkpoint.drop();
  }

  async #keep(sleeper: Sleeper, { first, onGpu, checkpoint }: Saved): Promise<void> {
    const { keeps, suspension } = this.#means;
    if (keeps === 'no' || this.#oursAlone(sleeper) !== undefined) return;
    const { pids, needs } = suspension.frozen;
    const gpu = onGpu ? { pids, needs: Object.fromEntries(needs) } : null;
    const before = { slept: first !== undefined, sample: first?.sample ?? null, gpu };
    await checkpoint.keep({ launched: sleeper.launched, before, prepared: keeps === 'prepared' });
  }

  /** Why no later catnap could bring it back. */
  #oursAlone({ name, ranks }: Sleeper): string | undefined {
    if (ranks > 1) return `${name} runs on ${ranks} GPUs that talk to each other, and such an image is not kept`;
    return this.#means.own?.remembers === true
      ? `an image of ${name} with adapters is not kept: which of them it had is known to its own catnap alone`
      : undefined;
  }

  /** Its processes stand still before criu begins, and in such a one the plugin of criu can do nothing; what parts the others drops what they work on. */
  #mayStayOpen({ name, ranks }: Sleeper): void {
    const { cudaDriver } = this.#means;
    if (cudaDriver === 'plugin')
      throw new DriverError(`${name} cannot go to disk with requests in flight: set checkpoint.cuda_driver to "self"`);
    if (ranks > 1) throw new DriverError(`${name} runs on ${ranks} GPUs and cannot go to disk with requests in flight`);
  }

  /** What it cannot be put to here is left out: the image is larger then. */
  async #sleepFirst(sleeper: Sleeper, order: Order): Promise<Level2 | undefined> {
    const { first } = this.#means;
    if (first === undefined || (await first.hindrance(sleeper, order.signal)) !== undefined) return undefined;
    await first.sleep(sleeper, order);
    return first;
  }

  async #leaveGpu(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const { suspension, cudaDriver } = this.#means;
    await (cudaDriver === 'self' ? suspension.suspend(sleeper, signal) : suspension.note(sleeper, signal));
  }

  /** The plugin of criu empties the GPU while it writes, so what is there still has to go to host memory first. */
  #leftOnGpu(): number {
    const { suspension, cudaDriver } = this.#means;
    return cudaDriver === 'self' ? 0 : [...suspension.frozen.needs.values()].reduce((sum, mib) => sum + mib, 0);
  }

  /** criu ends well although its plugin could not bring the GPU state back, so what the processes say counts. */
  async #returnToGpu(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const { suspension, cudaDriver } = this.#means;
    await (cudaDriver === 'self' ? suspension.resume(sleeper, signal) : suspension.proveRunning(sleeper, signal));
  }

  async #save(sleeper: Sleeper, before: Before, { signal, open = false }: Order): Promise<void> {
    const { child } = sleeper;
    sleeper.letGo();
    try {
      const { engine, model, port, ranks } = sleeper;
      const of = { engine, model, port, ranks, open, gpuMib: before.onGpu ? this.#leftOnGpu() : 0 };
      const checkpoint = await this.#means.checkpoints.save(child, of, signal);
      if (signal.aborted) {
        // Whoever gave up on this has seen to its end, and to what was kept until then.
        await checkpoint.drop();
        throw reasonOf(signal);
      }
      this.#saved = { ...before, checkpoint };
      checkpoint.whenGone(() => sleeper.lostSleep());
      // Nobody who starts later has the other ends of its connections.
      if (!open) await this.#keep(sleeper, this.#saved);
    } catch (error) {
      if (!child.hasExited) sleeper.takeBack(child);
      throw failed(`${sleeper.name} cannot sleep at level 4`, error);
    }
  }

  /** What is on its way back is the engine's process at once, so that a stop finds it; its end is no crash until it is there. */
  async #untilBack(sleeper: Sleeper, { child, back }: Returning, signal: AbortSignal): Promise<void> {
    const { stepMs } = this.#means;
    sleeper.takeBack(child);
    sleeper.letGo();
    const isBack = back.catch(notBack(sleeper));
    await within(sleeper.clock, stepMs, signal, async (limit) => {
      try {
        await unlessAborted(isBack, limit);
      } catch (error) {
        if (!limit.aborted || signal.aborted) throw error;
        const late = `${sleeper.name} did not come back from disk within ${stepMs / 1_000} s (wake_timeout_secs)`;
        throw new DriverError(late);
      }
    });
    sleeper.takeBack(child);
  }
}

const notBack =
  ({ name }: Sleeper) =>
  (error: unknown): never => {
    throw failed(`${name} did not come back from disk`, error);
  };

function failed(what: string, error: unknown): Error {
  if (error instanceof CheckpointError) return new DriverError(`${what}: ${error.message}`);
  return error instanceof Error ? error : new DriverError(what);
}
