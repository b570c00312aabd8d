import { after } from '../core/kinds.ts';
import { DriverError } from '../engines/driver.ts';
import { pause, reasonOf } from '../engines/wait.ts';
import type { Clock } from '../ports/clock.ts';
import { holdersOf, type Gpu, type GpuDevice, type GpuProcess } from '../ports/gpu.ts';

/** How much of what an engine held a level gives back. */
export type Promised = 'most' | 'all';

/** What CUDA, graphs and communicators of one process may keep at levels that promise most of it. */
const CONTEXT_MIB = 1_536;
/** Of what is above that, this share must be free, and of everything at least the smaller one. */
const SHARE = 0.7;
const LEAST_SHARE = 0.2;
/** Of a level that promises all of it no more may be left than this, and never as much as one context of CUDA takes. */
const LEFT_SHARE = 0.05;
/** Where a device's whole use is all there is to go by, a change below this is taken for the doing of others. */
const NOISE_MIB = 256;
const LOOK_EVERY_MS = 100;

/** What an engine held before it was put away. */
export type Mark =
  /** Its own processes are listed. */
  | { readonly kind: 'own'; readonly mib: number; readonly processes: number }
  /** The driver names processes that are not ours to match, as in a container: only whole devices can be compared. */
  | { readonly kind: 'devices'; readonly usedMib: ReadonlyMap<string, number> }
  | { readonly kind: 'unseen'; readonly reason: string };

/** Enough is free. */
type Kept = { readonly leftMib: number | undefined };

type Means = { readonly clock: Clock; readonly gpu: Gpu; readonly timeoutMs: number };

/** Whether memory is really back, by the driver's own account and not by what an engine says. */
export class MemoryProof {
  readonly #means: Means;

  constructor(means: Means) {
    this.#means = means;
  }

  /** What these processes hold now, or held no longer ago than this. */
  async mark(pids: readonly number[], maxAgeMs = 0): Promise<Mark> {
    const { gpu } = this.#means;
    const holders = await holdersOf(gpu, maxAgeMs);
    if (holders.kind !== 'read') return { kind: 'unseen', reason: holders.reason };
    const own = holders.processes.filter(({ pid }) => pids.includes(pid));
    const known = own.flatMap(({ usedMib }) => (usedMib === undefined ? [] : [usedMib]));
    if (known.length > 0 && known.length === own.length)
      return { kind: 'own', mib: sum(known), processes: known.length };
    const sight = await gpu.read(maxAgeMs);
    return sight.kind === 'read' ? devicesOf(sight.reading.devices) : { kind: 'unseen', reason: sight.reason };
  }

  /** Resolves once memory is back as promised, with what they keep of it where that is told; rejects with what is still held when the time is over. */
  async back(
    before: Mark,
    promised: Promised,
    pids: () => Promise<readonly number[]>,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { clock, timeoutMs } = this.#means;
    if (before.kind === 'unseen') return undefined;
    const deadline = after(clock.now(), timeoutMs);
    for (;;) {
      const held = await this.#held(before, promised, pids);
      if (signal.aborted) throw reasonOf(signal);
      if (typeof held !== 'string') return held.leftMib;
      if (clock.now() >= deadline) throw new DriverError(`${held} after ${timeoutMs / 1_000} s`);
      await pause(clock, LOOK_EVERY_MS, signal);
      if (signal.aborted) throw reasonOf(signal);
    }
  }

  /**
   * What is wrong, in words; else what is left. Its processes are enough to go by where they are listed; but whoever gives all of it up does so
   * for one that has to know what the GPUs have free, so that is looked at beside them.
   */
  async #held(
    before: Exclude<Mark, { kind: 'unseen' }>,
    promised: Promised,
    pids: () => Promise<readonly number[]>,
  ): Promise<string | Kept> {
    const { gpu } = this.#means;
    if (before.kind === 'own' && promised === 'most') {
      const [sight, own] = await Promise.all([holdersOf(gpu, 0), pids()]);
      return sight.kind === 'read' ? stillOwn(before, promised, sight.processes, own) : sight.reason;
    }
    const [sight, own] = await Promise.all([gpu.read(0), pids()]);
    if (sight.kind !== 'read') return sight.reason;
    const { devices, processes } = sight.reading;
    if (devices.length === 0) return 'no GPU is listed any more';
    return before.kind === 'own' ? stillOwn(before, promised, processes, own) : stillFull(before, devices);
  }
}

function devicesOf(devices: readonly GpuDevice[]): Mark {
  if (devices.length === 0) return { kind: 'unseen', reason: 'there is no GPU' };
  return { kind: 'devices', usedMib: new Map(devices.map(({ uuid, usedMib }) => [uuid, usedMib])) };
}

function stillFull(
  { usedMib: then }: Extract<Mark, { kind: 'devices' }>,
  devices: readonly GpuDevice[],
): string | Kept {
  const freed = devices.some(({ uuid, usedMib }) => {
    const was = then.get(uuid) ?? 0;
    return was - usedMib >= Math.max(NOISE_MIB, LEAST_SHARE * was);
  });
  return freed ? { leftMib: undefined } : 'no GPU has more free memory than before';
}

function stillOwn(
  before: Extract<Mark, { kind: 'own' }>,
  promised: Promised,
  processes: readonly GpuProcess[],
  pids: readonly number[],
): string | Kept {
  const own = processes.filter(({ pid }) => pids.includes(pid));
  const known = own.flatMap(({ usedMib }) => (usedMib === undefined ? [] : [usedMib]));
  // Whoever keeps a context is still listed.
  if (own.length === 0 && promised === 'most') return 'the driver names none of its processes any more';
  if (known.length < own.length) return 'the driver does not tell any more what its processes hold';
  const held = sum(known);
  return before.mib - held >= dueOf(before, promised)
    ? { leftMib: held }
    : `its processes still hold ${held} of ${before.mib} MiB of GPU memory`;
}

/** How much must be free. */
export function dueOf(
  { mib, processes }: { readonly mib: number; readonly processes: number },
  promised: Promised,
): number {
  if (promised === 'all') return mib - Math.min(LEFT_SHARE * mib, NOISE_MIB);
  return Math.max(SHARE * (mib - CONTEXT_MIB * processes), LEAST_SHARE * mib);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
