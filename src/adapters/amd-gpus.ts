import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, millis, type Millis } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import { holdersOf, type Gpu, type GpuDevice, type GpuSight, type HolderSight } from '../ports/gpu.ts';

/** A driver that does not answer in this time has lost its GPU. */
const LIMIT_MS = 10_000;
const MIB = 1_048_576;

/** Reads the memory of AMD's GPUs where Linux tells it. It names no processes. */
export class AmdGpus implements Gpu {
  readonly #clock: Clock;
  readonly #folder: string;
  #last: { readonly since: Millis; readonly sight: Promise<GpuSight>; over: boolean } | undefined;

  constructor(clock: Clock, folder = '/sys/class/drm') {
    this.#clock = clock;
    this.#folder = folder;
  }

  read(maxAgeMs: number): Promise<GpuSight> {
    const now = this.#clock.now();
    const last = this.#last;
    // One that hangs is not asked again beside itself.
    if (last !== undefined && (!last.over || last.since >= millis(now - maxAgeMs))) return this.#within(last.sight);
    const sight = this.#look(now);
    const reading = { since: now, sight, over: false };
    this.#last = reading;
    void sight.then(() => {
      reading.over = true;
    });
    return this.#within(sight);
  }

  #within(sight: Promise<GpuSight>): Promise<GpuSight> {
    const { promise, resolve } = Promise.withResolvers<GpuSight>();
    const reason = `${this.#folder} was not read within ${LIMIT_MS / 1_000} s`;
    const cancel = this.#clock.at(after(this.#clock.now(), LIMIT_MS), () => resolve({ kind: 'failed', reason }));
    void sight.then((seen) => {
      cancel();
      resolve(seen);
    });
    return promise;
  }

  async #look(takenAt: Millis): Promise<GpuSight> {
    const cards = (await namesIn(this.#folder)).filter((name) => /^card\d+$/.test(name));
    const sorted = cards.toSorted((a, b) => Number(a.slice(4)) - Number(b.slice(4)));
    const found = await Promise.all(sorted.map((card) => this.#device(card)));
    const devices = found.filter((device) => device !== undefined).map((device, index) => ({ ...device, index }));
    if (devices.length > 0)
      return { kind: 'read', reading: { takenAt, cameAt: this.#clock.now(), devices, processes: [] } };
    return { kind: 'absent', reason: `there is no GPU of AMD in ${this.#folder}` };
  }

  async #device(card: string): Promise<Omit<GpuDevice, 'index'> | undefined> {
    const at = (file: string): Promise<string | undefined> => textIn(join(this.#folder, card, 'device', file));
    const [total, used, product, unique] = await Promise.all([
      at('mem_info_vram_total'),
      at('mem_info_vram_used'),
      at('product_name'),
      at('unique_id'),
    ]);
    const [totalMib, usedMib] = [mib(total), mib(used)];
    if (totalMib === undefined || usedMib === undefined) return undefined;
    const name = product === undefined || product === '' ? `AMD GPU (${card})` : product;
    return { uuid: unique || card, name, totalMib, usedMib, freeMib: totalMib - usedMib };
  }
}

const mib = (bytes: string | undefined): number | undefined =>
  bytes !== undefined && /^\d+$/.test(bytes) ? Math.round(Number(bytes) / MIB) : undefined;

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
}

/** Nothing where there is nothing to read: cards of others, and older drivers. */
async function textIn(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'latin1')).trim();
  } catch {
    return undefined;
  }
}

/** The first of them that is there; where none is, what both say. */
export function firstGpu(first: Gpu, second: Gpu): Gpu {
  const either = async <Sight extends GpuSight | HolderSight>(see: (gpu: Gpu) => Promise<Sight>) => {
    const sight = await see(first);
    if (sight.kind !== 'absent') return sight;
    const other = await see(second);
    if (other.kind !== 'absent') return other;
    return { kind: 'absent', reason: `${sight.reason}; ${other.reason}` } as const;
  };
  return {
    read: (maxAgeMs) => either((gpu) => gpu.read(maxAgeMs)),
    holders: (maxAgeMs) => either((gpu) => holdersOf(gpu, maxAgeMs)),
  };
}
