import { DriverError } from '../engines/driver.ts';
import type { Sleeper } from '../engines/sleeper.ts';
import { reasonOf } from '../engines/wait.ts';
import { holdersOf, type Gpu, type HolderSight } from '../ports/gpu.ts';
import type { LevelMemory } from '../ports/handover.ts';
import type { Machine } from '../ports/machine.ts';
import type { CudaAction, CudaCheckpoint, CudaOrder } from './cuda-checkpoint.ts';
import type { Needs, Room } from './room.ts';

export type SuspensionMeans = {
  readonly cuda: CudaCheckpoint;
  readonly gpu: Gpu;
  readonly machine: Machine;
  readonly room: Room;
  /** How long memory for the way back may take to be free. */
  readonly freeMs: number;
  /** Whether the engine may be put to level hybrid. */
  readonly hasHybrid: boolean;
};

/** What was read of the GPUs so long ago still holds for an engine that has nothing to do. */
const RECENT_MS = 1_000;
/** Each engine is looked at when it has become awake. Who was on a GPU then is likely to be there still: enough to begin with, and looked at again meanwhile. */
const ANY_AGE_MS = Number.POSITIVE_INFINITY;
/** What the machine itself is left, of its memory. */
const HOST_MARGIN_MIB = 1_024;

/** Some of its processes did not come back from a step that failed: no call of its own is answered any more. */
export class BeyondRepair extends DriverError {}

/** Undefined: the driver does not tell how much. */
type Held = { readonly pid: number; readonly uuid: string; readonly mib: number | undefined };

/** Who was on a GPU when it became awake, and who is there now. The look never rejects. */
export type Look = { readonly sure: readonly number[]; readonly now: Promise<HolderSight> };

type Around = {
  readonly everyone: readonly number[];
  readonly held: readonly Held[];
  readonly likely: ReadonlySet<number>;
};

/** Those that were on the GPU, and how much they need of each to come back. */
export type Frozen = { readonly pids: readonly number[]; readonly needs: Needs };

type FrozenMemory = NonNullable<LevelMemory['frozen']>;

const NONE: Frozen = { pids: [], needs: new Map() };

/**
 * The GPU state of all processes of one engine, moved to host memory and back. All are locked before any is frozen, and all
 * are restored before any runs again, since they may wait for each other.
 */
export class Suspension {
  readonly #means: SuspensionMeans;
  #frozen: Frozen = NONE;

  constructor(means: SuspensionMeans) {
    this.#means = means;
  }

  get frozen(): Frozen {
    return this.#frozen;
  }

  /** What another suspension, of an earlier catnap, has left frozen. */
  recall(frozen: Frozen): void {
    this.#frozen = frozen;
  }

  /** Whether any of its processes is on a GPU. Where neither the driver nor what they have mapped tells, each is asked. */
  async concerns(sleeper: Sleeper, signal: AbortSignal): Promise<boolean> {
    const { gpu, cuda } = this.#means;
    if ((await this.#around(sleeper, this.#latest())).likely.size > 0) return true;
    const sight = await gpu.read(0);
    if (sight.kind === 'absent' || (sight.kind === 'read' && sight.reading.devices.length === 0)) return false;
    const around = await this.#around(sleeper, holdersOf(gpu, RECENT_MS));
    if (around.likely.size > 0) return true;
    if ((await cuda.hindrance()) !== undefined || !(await cuda.hasSteps())) return false;
    return (await this.#users(sleeper, signal, around)).length > 0;
  }

  /** Why this engine cannot be frozen now, as far as is known without a look; there is one while it is being locked. */
  async hindrance(sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined> {
    return (await this.unusable(sleeper, signal)) ?? this.lackOfMemory(sleeper);
  }

  /** What the tools lack for it, and what no tool can do. */
  async unusable(sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined> {
    const { cuda } = this.#means;
    const unusable = await cuda.hindrance();
    if (unusable !== undefined) return unusable;
    // Who the driver named when it became awake is enough to go by, and takes no look at all processes there are.
    const known = await this.#held(sleeper.child.members());
    const joined = this.#joined(sleeper, known);
    if (joined !== undefined) return joined;
    if (listed(known).length > 0 && (await cuda.hasSteps())) return undefined;
    const { likely } = await this.#around(sleeper, this.#latest());
    const pids =
      likely.size > 0 ? [...likely] : await this.#users(sleeper, signal, await this.#around(sleeper, this.#now()));
    if (pids.length === 0) return `no process of ${sleeper.name} uses CUDA`;
    if (pids.length > 1 && !(await cuda.hasSteps()))
      return `this cuda-checkpoint freezes one process at a time, and ${sleeper.name} uses CUDA in ${pids.length} (driver 555 and later can)`;
    return undefined;
  }

  /**
   * Processes on several GPUs that nobody has parted: those that its settings tell of are parted before they come here, and what else
   * says it to the engine (a config file of its own, a script) is not read. One process on several GPUs has nobody to talk to.
   */
  #joined({ name, ranks }: Sleeper, held: readonly Held[]): string | undefined {
    const on = held.filter(({ mib }) => mib !== 0);
    const [pids, gpus] = [new Set(on.map(({ pid }) => pid)), new Set(on.map(({ uuid }) => uuid))];
    if (ranks > 1 || pids.size < 2 || gpus.size < 2) return undefined;
    const instead = this.#means.hasHybrid
      ? 'say in extra_args on how many it works (--tensor-parallel-size and its like) and use level "hybrid", or use 5'
      : 'use level 5';
    return `${name} runs in ${pids.size} processes on ${gpus.size} GPUs, and what they share a checkpoint breaks; ${instead}`;
  }

  /** What it holds on the GPU now goes to host memory, if only for a while. */
  async lackOfMemory(sleeper: Sleeper): Promise<string | undefined> {
    return this.#lackFor(await this.#held(sleeper.child.members()));
  }

  async #lackFor(held: readonly Held[], left = this.#means.machine.availableMib()): Promise<string | undefined> {
    const needs = sum(held);
    const available = await left;
    if (available === undefined || needs + HOST_MARGIN_MIB <= available) return undefined;
    return `its ${needs} MiB of GPU memory do not fit into host memory: ${available} MiB are available`;
  }

  /** Begins to look who is on the GPUs, for `suspend`: other things may be done before it and meanwhile. */
  async look(sleeper: Sleeper): Promise<Look> {
    const sure = listed(await this.#held(sleeper.child.members()));
    return { sure, now: this.#now() };
  }

  /** After a rejection the engine runs as before, or is not to be used again (`BeyondRepair`). */
  async suspend(sleeper: Sleeper, signal: AbortSignal, begun?: Look): Promise<void> {
    const { cuda } = this.#means;
    const on = { child: sleeper.child, signal };
    const look = begun ?? (await this.look(sleeper));
    if (await cuda.hasSteps()) {
      const pids = await this.#lock(sleeper, on, look);
      await this.#orBack('checkpoint', pids, ['restore', 'unlock'], on);
    } else {
      for (const pid of (await this.note(sleeper, signal, { sure: [], now: look.now })).pids)
        await cuda.toggle(pid, on);
    }
  }

  /**
   * Whoever was on a GPU when it became awake is locked while it is looked at who is there now. A lock moves nothing and is taken back
   * where the look finds a reason to; whoever else it finds is locked after it.
   */
  async #lock(sleeper: Sleeper, on: CudaOrder, look: Look): Promise<readonly number[]> {
    const { sure } = look;
    const [locked, noted] = await Promise.allSettled([
      this.#orBack('lock', sure, ['unlock'], on),
      this.note(sleeper, on.signal, look),
    ]);
    if (locked.status === 'rejected') throw locked.reason;
    try {
      if (noted.status === 'rejected') throw noted.reason;
      const { pids } = noted.value;
      const others = pids.filter((pid) => !sure.includes(pid));
      await this.#orBack('lock', others, ['unlock'], on);
      return pids;
    } catch (error) {
      if (on.signal.aborted) throw reasonOf(on.signal);
      const ways = await Promise.allSettled(sure.map((pid) => this.#means.cuda.act('unlock', pid, on)));
      if (ways.every(({ status }) => status === 'fulfilled')) throw error;
      throw new BeyondRepair(error instanceof Error ? error.message : String(error));
    }
  }

  async resume(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    await this.untilRoom(sleeper, signal);
    await this.thaw(sleeper, signal);
  }

  /**
   * For whoever has seen that there is room. Whether they run again their work tells, which needs all of them; starting CUDA
   * once more to ask would take as long as a step.
   */
  async thaw(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const { cuda } = this.#means;
    const { pids } = this.#frozen;
    const on = { child: sleeper.child, signal };
    if (await cuda.hasSteps()) {
      await this.#all('restore', pids, on);
      await this.#all('unlock', pids, on);
    } else {
      for (const pid of pids) await cuda.toggle(pid, on);
    }
    this.#frozen = NONE;
  }

  /** Looks who is on the GPU, those who are `sure` to be among them, and remembers them: what they hold must fit into host memory. */
  async note(
    sleeper: Sleeper,
    signal: AbortSignal,
    { sure, now }: Look = { sure: [], now: this.#now() },
  ): Promise<{ readonly pids: readonly number[] }> {
    const left = this.#means.machine.availableMib();
    const around = await this.#around(sleeper, now);
    const { held } = around;
    const joined = this.#joined(sleeper, held);
    if (joined !== undefined) throw new DriverError(joined);
    const lack = await this.#lackFor(held, left);
    if (lack !== undefined) throw new DriverError(`${sleeper.name} cannot be frozen: ${lack}`);
    const pids = [...new Set([...sure, ...(await this.#users(sleeper, signal, around, sure))])];
    if (pids.length === 0) throw new DriverError(`no process of ${sleeper.name} uses CUDA any more`);
    this.#frozen = { pids, needs: byDevice(held) };
    return this.#frozen;
  }

  /** Whether those that were noted run again, for whoever else has brought them back. */
  async proveRunning(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const { pids } = this.#frozen;
    if (await this.#means.cuda.hasSteps()) await this.#areAll('running', pids, { child: sleeper.child, signal });
    this.#frozen = NONE;
  }

  /** A restore that runs out of memory ruins the process for good, so there must be room before it is tried. */
  async untilRoom({ name }: Sleeper, signal: AbortSignal): Promise<void> {
    const { room, freeMs } = this.#means;
    await room.until(this.#frozen.needs, { name, forMs: freeMs }, signal);
  }

  /** Does one step for all of them; where one fails, those that were done are brought back. */
  async #orBack(
    action: CudaAction,
    pids: readonly number[],
    back: readonly CudaAction[],
    on: CudaOrder,
  ): Promise<void> {
    const { cuda } = this.#means;
    const ends = await Promise.allSettled(pids.map((pid) => cuda.act(action, pid, on)));
    const failed = ends.find((end) => end.status === 'rejected');
    // Whoever took the order back ends the process; by now its number may be somebody else's.
    if (on.signal.aborted) throw reasonOf(on.signal);
    if (failed === undefined) return;
    const done = pids.filter((_, at) => ends[at]?.status === 'fulfilled');
    // Those that failed at this step are still locked.
    const undone: boolean[] = [];
    for (const step of back) {
      const ways = await Promise.allSettled((step === 'unlock' ? pids : done).map((pid) => cuda.act(step, pid, on)));
      undone.push(...ways.map(({ status }) => status === 'fulfilled'));
    }
    // One that was never locked cannot be unlocked, and is well.
    if (undone.every(Boolean) || (action === 'lock' && (await this.#allRun(pids, on)))) throw failed.reason;
    throw new BeyondRepair(failed.reason instanceof Error ? failed.reason.message : String(failed.reason));
  }

  async #allRun(pids: readonly number[], on: CudaOrder): Promise<boolean> {
    const states = await Promise.allSettled(pids.map((pid) => this.#means.cuda.stateOf(pid, on)));
    return states.every((state) => state.status === 'fulfilled' && state.value === 'running');
  }

  async #all(action: CudaAction, pids: readonly number[], on: CudaOrder): Promise<void> {
    const ends = await Promise.allSettled(pids.map((pid) => this.#means.cuda.act(action, pid, on)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #areAll(state: string, pids: readonly number[], on: CudaOrder): Promise<void> {
    for (const pid of pids) {
      const found = await this.#means.cuda.stateOf(pid, on);
      if (found !== state) throw new DriverError(`process ${pid} should be ${state} and is ${found ?? 'gone'}`);
    }
  }

  #now(): Promise<HolderSight> {
    return holdersOf(this.#means.gpu, 0);
  }

  #latest(): Promise<HolderSight> {
    return holdersOf(this.#means.gpu, ANY_AGE_MS);
  }

  /** All of its processes, and who of them is on a GPU: by what the driver lists, and by what they have mapped. */
  async #around(sleeper: Sleeper, sight: Promise<HolderSight>): Promise<Around> {
    // The look at the processes and the look at the GPU take about as long.
    const everyone = sleeper.child.everyone();
    const [held, mapped] = await Promise.all([
      this.#held(everyone, sight),
      everyone.then((pids) => this.#means.machine.mapsGpu(pids)),
    ]);
    return { everyone: await everyone, held, likely: new Set([...held.map(({ pid }) => pid), ...mapped]) };
  }

  async #held(of: Promise<readonly number[]>, seen = this.#latest()): Promise<readonly Held[]> {
    const [pids, sight] = await Promise.all([of, seen]);
    if (sight.kind !== 'read') return [];
    return sight.processes.flatMap(({ pid, uuid, usedMib }) =>
      pids.includes(pid) ? [{ pid, uuid, mib: usedMib }] : [],
    );
  }

  /** Those that run CUDA now: whom the driver lists with memory, and of the others that are likely, or of all where nothing tells, who says so when asked. */
  async #users(
    sleeper: Sleeper,
    signal: AbortSignal,
    { everyone, held, likely }: Around,
    sure: readonly number[] = [],
  ): Promise<readonly number[]> {
    const { cuda } = this.#means;
    if (likely.size > 0 && !(await cuda.hasSteps())) return [...likely];
    const known = new Set([...sure, ...listed(held)]);
    const open = likely.size > 0 || known.size > 0 ? [...likely] : everyone;
    const asked = open.filter((pid) => !known.has(pid));
    const states = await Promise.all(asked.map((pid) => cuda.stateOf(pid, { child: sleeper.child, signal })));
    const odd = states.find((state) => state !== undefined && state !== 'running');
    if (odd !== undefined) throw new DriverError(`a process of ${sleeper.name} is ${odd} already`);
    return [...known, ...asked.filter((_, at) => states[at] === 'running')];
  }
}

/** Who is on a GPU for certain. */
const listed = (held: readonly Held[]): readonly number[] => [
  ...new Set(held.flatMap(({ pid, mib = 0 }) => (mib > 0 ? [pid] : []))),
];
/** What is frozen, for another catnap, and from another one. */
export const frozenMemory = ({ pids, needs }: Frozen): FrozenMemory => ({ pids, needs: Object.fromEntries(needs) });
export const frozenOf = ({ pids, needs }: FrozenMemory): Frozen => ({ pids, needs: new Map(Object.entries(needs)) });

const sum = (held: readonly Held[]): number => held.reduce((total, { mib = 0 }) => total + mib, 0);

function byDevice(held: readonly Held[]): ReadonlyMap<string, number> {
  const needs = new Map<string, number>();
  for (const { uuid, mib = 0 } of held) needs.set(uuid, (needs.get(uuid) ?? 0) + mib);
  return needs;
}
