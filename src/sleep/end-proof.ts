import { after, type Millis } from '../core/kinds.ts';
import { pause } from '../engines/wait.ts';
import type { Clock } from '../ports/clock.ts';
import type { Gpu, GpuDevice, GpuReading, GpuSight } from '../ports/gpu.ts';
import type { Machine } from '../ports/machine.ts';

type Means = {
  readonly clock: Clock;
  readonly gpu: Gpu;
  readonly machine: Pick<Machine, 'mapsGpu'>;
  readonly timeoutMs: number;
};

/** How full one GPU was, and how that came about. */
type Fill = {
  readonly usedMib: number;
  /** What no listed process holds. Below zero: somebody took memory between the two looks that a reading is made of, and it tells nothing. */
  readonly unlistedMib: number;
  /** Undefined where the driver does not name the processes that are on it. */
  readonly ownMib: number | undefined;
};

/** What an engine held on the GPUs when its end began. */
export type Holding = { readonly pids: readonly number[]; readonly fills: ReadonlyMap<string, Fill> };

/** What was read so long ago still holds for an engine that has nothing to do. */
const RECENT_MS = 1_000;
/** A GPU that hangs must not hold the end of an engine up. A driver that is not kept loaded, or a machine that has much to do, takes its time. */
const LOOK_MS = 3_000;
const LOOK_EVERY_MS = 100;
/** A change below this is taken for the doing of others. */
const NOISE_MIB = 256;
const SHARE = 0.9;

/** Whether the GPU memory of an engine that has ended is free: the driver gives it back some time after the process is gone. */
export class EndProof {
  readonly #means: Means;

  constructor(means: Means) {
    this.#means = means;
  }

  /** What its processes hold; undefined: nothing that can be seen. Where the driver names nobody, only one that is awake is known to hold something. */
  async before(pids: readonly number[], isAwake: boolean): Promise<Holding | undefined> {
    const sight = await this.#look();
    if (sight?.kind !== 'read' || sight.reading.devices.length === 0) return undefined;
    const { devices } = sight.reading;
    const own = devices.flatMap((device) => {
      const fill = fillOf(device, sight.reading, pids);
      return (fill.ownMib ?? 0) > 0 ? [[device.uuid, fill] as const] : [];
    });
    if (own.length > 0) return { pids, fills: new Map(own) };
    if (!isAwake || (await this.#means.machine.mapsGpu(pids)).length === 0) return undefined;
    const fills = devices.map((device) => {
      return [device.uuid, { ...fillOf(device, sight.reading, pids), ownMib: undefined }] as const;
    });
    return { pids, fills: new Map(fills) };
  }

  /** Resolves once it is free, with nothing, or with what is not when the time is over. Whoever cannot look believes. */
  async free(held: Holding, withinMs = Number.POSITIVE_INFINITY, signal?: AbortSignal): Promise<string | undefined> {
    const { clock, gpu, timeoutMs } = this.#means;
    const from = clock.now();
    const deadline: Millis = after(from, Math.max(0, Math.min(timeoutMs, withinMs)));
    for (;;) {
      const sight = await gpu.read(0);
      if (sight.kind !== 'read' || signal?.aborted === true) return undefined;
      const left = leftOf(held, sight.reading);
      if (left === undefined) return undefined;
      if (clock.now() >= deadline) return `${left} ${Math.round((clock.now() - from) / 100) / 10} s after its end`;
      await pause(clock, LOOK_EVERY_MS, signal);
    }
  }

  async #look(): Promise<GpuSight | undefined> {
    const { clock, gpu } = this.#means;
    const over = new AbortController();
    const late = pause(clock, LOOK_MS, over.signal).then(() => undefined);
    try {
      return await Promise.race([gpu.read(RECENT_MS), late]);
    } finally {
      over.abort();
    }
  }
}

function leftOf({ pids, fills }: Holding, reading: GpuReading): string | undefined {
  const fell = ({ uuid, usedMib }: GpuDevice, mib: number): boolean => (fills.get(uuid)?.usedMib ?? 0) - usedMib >= mib;
  const concerned = reading.devices.filter(({ uuid }) => fills.has(uuid));
  if ([...fills.values()].every(({ ownMib }) => ownMib === undefined))
    return concerned.some((device) => fell(device, NOISE_MIB)) ? undefined : 'no GPU has more free memory';
  for (const device of concerned) {
    const now = fillOf(device, reading, pids);
    const then = fills.get(device.uuid);
    const ownMib = then?.ownMib ?? 0;
    if (then === undefined || fell(device, SHARE * ownMib)) continue;
    // Others may take what it has given back: it is free when nobody is left who has it, whether listed or not.
    const unlistedMib = then.unlistedMib < 0 ? 0 : now.unlistedMib - then.unlistedMib;
    if ((now.ownMib ?? 0) > 0 || unlistedMib > Math.min(NOISE_MIB, ownMib / 2))
      return `the ${ownMib} MiB that it held of ${device.uuid} are not free`;
  }
  return undefined;
}

function fillOf({ uuid, usedMib }: GpuDevice, { processes }: GpuReading, pids: readonly number[]): Fill {
  const on = processes.filter((process) => process.uuid === uuid);
  const own = on.filter(({ pid }) => pids.includes(pid));
  return { usedMib, unlistedMib: usedMib - sum(on), ownMib: sum(own) };
}

const sum = (rows: readonly { readonly usedMib: number | undefined }[]): number =>
  rows.reduce((total, { usedMib = 0 }) => total + usedMib, 0);
