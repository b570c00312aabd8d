import { after } from '../core/kinds.ts';
import { DriverError } from '../engines/driver.ts';
import type { Sleeper } from '../engines/sleeper.ts';
import { pause, reasonOf } from '../engines/wait.ts';
import type { Gpu } from '../ports/gpu.ts';
import type { Machine } from '../ports/machine.ts';
import type { CudaAction, CudaCheckpoint } from './cuda-checkpoint.ts';

export type SuspensionMeans = {
  readonly cuda: CudaCheckpoint;
  readonly gpu: Gpu;
  readonly machine: Machine;
  /** How long memory for the way back may take to be free. */
  readonly freeMs: number;
};

const LOOK_EVERY_MS = 100;
/** What the machine itself is left, of its memory. */
const HOST_MARGIN_MIB = 1_024;

type Held = { readonly pid: number; readonly uuid: string; readonly mib: number };

/**
 * The GPU state of all processes of one engine, moved to host memory and back. All are locked before any is frozen, and all
 * are restored before any runs again, since they may wait for each other.
 */
export class Suspension {
  readonly #means: SuspensionMeans;
  /** Those that were frozen, and how much they need to come back. */
  #frozen: readonly number[] = [];
  #needs: ReadonlyMap<string, number> = new Map();

  constructor(means: SuspensionMeans) {
    this.#means = means;
  }

  /** Why this engine cannot be frozen now. */
  async hindrance(sleeper: Sleeper): Promise<string | undefined> {
    const { cuda, machine } = this.#means;
    const unusable = await cuda.hindrance();
    if (unusable !== undefined) return unusable;
    const held = await this.#held(sleeper);
    const pids = await this.#users(sleeper, held);
    if (pids.length === 0) return `no process of ${sleeper.name} uses CUDA`;
    if (pids.length > 1 && !(await cuda.hasSteps()))
      return `this cuda-checkpoint freezes one process at a time, and ${sleeper.name} uses CUDA in ${pids.length} (driver 555 and later can)`;
    const needs = sum(held);
    const available = await machine.availableMib();
    if (available !== undefined && needs + HOST_MARGIN_MIB > available)
      return `its ${needs} MiB of GPU memory do not fit into host memory: ${available} MiB are available`;
    return undefined;
  }

  /** After a rejection the engine runs as before, or is not to be used again; its probes tell which. */
  async suspend(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const held = await this.#held(sleeper);
    const pids = await this.#users(sleeper, held);
    if (pids.length === 0) throw new DriverError(`no process of ${sleeper.name} uses CUDA any more`);
    this.#needs = byDevice(held);
    this.#frozen = pids;
    if (await this.#means.cuda.hasSteps()) {
      await this.#orBack('lock', pids, ['unlock'], signal);
      await this.#orBack('checkpoint', pids, ['restore', 'unlock'], signal);
    } else {
      for (const pid of pids) await this.#means.cuda.toggle(pid);
    }
  }

  async resume(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    await this.#untilRoom(sleeper, signal);
    const { cuda } = this.#means;
    if (await cuda.hasSteps()) {
      await this.#all('restore', this.#frozen);
      await this.#all('unlock', this.#frozen);
      await this.#areAll('running', this.#frozen);
    } else {
      for (const pid of this.#frozen) await cuda.toggle(pid);
    }
    this.#frozen = [];
  }

  /** Does one step for all of them; where one fails, those that were done are brought back. */
  async #orBack(
    action: CudaAction,
    pids: readonly number[],
    back: readonly CudaAction[],
    signal: AbortSignal,
  ): Promise<void> {
    const { cuda } = this.#means;
    const ends = await Promise.allSettled(pids.map((pid) => cuda.act(action, pid)));
    const failed = ends.find((end) => end.status === 'rejected');
    // Whoever took the order back ends the process; by now its number may be somebody else's.
    if (signal.aborted) throw reasonOf(signal);
    if (failed === undefined) return;
    const done = pids.filter((_, at) => ends[at]?.status === 'fulfilled');
    // Those that failed at this step are still locked. Where the way back fails as well, the engine's probes will tell.
    for (const step of back) {
      await Promise.allSettled((step === 'unlock' ? pids : done).map((pid) => cuda.act(step, pid)));
    }
    throw failed.reason;
  }

  async #all(action: CudaAction, pids: readonly number[]): Promise<void> {
    await Promise.all(pids.map((pid) => this.#means.cuda.act(action, pid)));
  }

  async #areAll(state: string, pids: readonly number[]): Promise<void> {
    for (const pid of pids) {
      const found = await this.#means.cuda.stateOf(pid);
      if (found !== state) throw new DriverError(`process ${pid} should be ${state} and is ${found ?? 'gone'}`);
    }
  }

  /** A restore that runs out of memory ruins the process for good, so there must be room before it is tried. */
  async #untilRoom({ name, clock }: Sleeper, signal: AbortSignal): Promise<void> {
    const deadline = after(clock.now(), this.#means.freeMs);
    for (;;) {
      const sight = await this.#means.gpu.read(0);
      if (signal.aborted) throw reasonOf(signal);
      if (sight.kind !== 'read') return;
      const short = sight.reading.devices.find(({ uuid, freeMib }) => freeMib < (this.#needs.get(uuid) ?? 0));
      if (short === undefined) return;
      if (clock.now() >= deadline) {
        const needs = this.#needs.get(short.uuid) ?? 0;
        throw new DriverError(
          `${name} needs ${needs} MiB of ${short.uuid} to come back, and ${short.freeMib} MiB are free`,
        );
      }
      await pause(clock, LOOK_EVERY_MS, signal);
    }
  }

  async #held(sleeper: Sleeper): Promise<readonly Held[]> {
    const [pids, sight] = await Promise.all([sleeper.child.everyone(), this.#means.gpu.read(0)]);
    if (sight.kind !== 'read') return [];
    return sight.reading.processes.flatMap(({ pid, uuid, usedMib = 0 }) =>
      pids.includes(pid) ? [{ pid, uuid, mib: usedMib }] : [],
    );
  }

  /** Those that run CUDA now: by what the driver lists, by what they have mapped, and where neither tells, by asking each. */
  async #users(sleeper: Sleeper, held: readonly Held[]): Promise<readonly number[]> {
    const { machine, cuda } = this.#means;
    const everyone = await sleeper.child.everyone();
    const likely = new Set([...held.map(({ pid }) => pid), ...(await machine.mapsGpu(everyone))]);
    const asked = likely.size > 0 ? [...likely] : everyone;
    if (likely.size > 0 && !(await cuda.hasSteps())) return asked;
    const states = await Promise.all(asked.map((pid) => cuda.stateOf(pid)));
    const odd = states.find((state) => state !== undefined && state !== 'running');
    if (odd !== undefined) throw new DriverError(`a process of ${sleeper.name} is ${odd} already`);
    return asked.filter((_, at) => states[at] === 'running');
  }
}

const sum = (held: readonly Held[]): number => held.reduce((total, { mib }) => total + mib, 0);

function byDevice(held: readonly Held[]): ReadonlyMap<string, number> {
  const needs = new Map<string, number>();
  for (const { uuid, mib } of held) needs.set(uuid, (needs.get(uuid) ?? 0) + mib);
  return needs;
}
