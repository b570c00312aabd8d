import { systemMachine } from '../adapters/machine.ts';
import { provenBytes } from '../adapters/resident-memory.ts';
import type { EngineId, Millis } from '../core/kinds.ts';
import type { MemoryReading } from '../core/overlap.ts';
import type { Clock } from '../ports/clock.ts';
import type { Gpu, GpuDevice, GpuReading } from '../ports/gpu.ts';
import type { Machine } from '../ports/machine.ts';
import type { Gauge, Gauged } from '../runtime/room-watch.ts';
import type { StagePlan } from './stages.ts';

type Means = {
  readonly clock: Clock;
  readonly gpu: Gpu;
  readonly machine: Pick<Machine, 'availableMib'>;
  /** How much main memory processes hold; undefined while one of them ends and it cannot be told. */
  readonly heldBytes: (pids: readonly number[]) => Promise<number | undefined>;
};

/** What is known of an engine from the looks at it before. */
type Mark = {
  readonly pids: ReadonlySet<number>;
  /** What no listed process held of each GPU; undefined where the driver named none of its processes. */
  readonly unlistedMib: ReadonlyMap<string, number> | undefined;
  readonly hostMib: number;
};

type Known = Gauged & { readonly pids: ReadonlySet<number>; readonly mark: Mark | undefined };

const MIB = 1_048_576;
/** So old may be what was read: it counts from when it was begun. */
const RECENT_MS = 50;
/** What is left free beside whoever comes in, of each GPU and of main memory. */
const GPU_MARGIN_MIB = 512;
const HOST_MARGIN_MIB = 1_024;

/** What measures the memory of each stage of this machine. */
export function gaugesOf(
  plans: readonly StagePlan[],
  means: Pick<Means, 'clock' | 'gpu'>,
): (stage: string) => Gauge | undefined {
  const system = { ...means, machine: systemMachine(), heldBytes: provenBytes };
  const gauges = new Map(plans.map((plan) => [plan.name, roomGauge(system, plan)]));
  return (stage) => gauges.get(stage);
}

/** Measures the memory of one stage by what the driver of the GPUs tells, or the system where there are none or main memory is what counts. */
export function roomGauge(means: Means, { counts, gpus }: Pick<StagePlan, 'counts' | 'gpus'>): Gauge {
  let marks: ReadonlyMap<EngineId, Mark> = new Map();

  async function known(engines: readonly Gauged[]): Promise<readonly Known[]> {
    return Promise.all(
      engines.map(async (gauged) => {
        const mark = marks.get(gauged.engine);
        return { ...gauged, mark, pids: new Set([...(mark?.pids ?? []), ...(await gauged.members())]) };
      }),
    );
  }

  async function host(takenAt: Millis, engines: readonly Known[]): Promise<MemoryReading | undefined> {
    const held = await Promise.all(
      engines.map(async ({ engine, pids, mark }) => {
        const bytes = await means.heldBytes([...pids]);
        // Nobody who ends takes more than he had.
        const hostMib = bytes === undefined ? (mark?.hostMib ?? Number.POSITIVE_INFINITY) : bytes / MIB;
        return [engine, { pids, unlistedMib: undefined, hostMib }] as const;
      }),
    );
    const free = await means.machine.availableMib();
    marks = new Map(held);
    if (free === undefined) return undefined;
    const heldMib = told(engines, new Map(held.map(([engine, { hostMib }]) => [engine, Math.ceil(hostMib)])));
    return { memory: 'host', takenAt, freeMib: free - HOST_MARGIN_MIB, heldMib };
  }

  function gpu({ takenAt, ...reading }: GpuReading, engines: readonly Known[]): MemoryReading | undefined {
    const devices = reading.devices.filter((device) => isOf(gpus, device));
    if (devices.length === 0 || devices.length < gpus.length) return undefined;
    const held = new Map<EngineId, number>();
    const next = new Map<EngineId, Mark>();
    for (const { engine, pids, mark } of engines) {
      const own = reading.processes.filter(({ pid }) => pids.has(pid));
      const unlisted = unlistedOf({ ...reading, devices });
      const isNamed = own.length > 0 && own.every(({ usedMib }) => usedMib !== undefined);
      const before = mark?.unlistedMib ?? (isNamed ? unlisted : undefined);
      next.set(engine, { pids, unlistedMib: before, hostMib: 0 });
      // Where the driver names nobody it holds no more than all that is used.
      const used = sum(devices.map(({ usedMib }) => usedMib));
      const lagging = sum([...unlisted].map(([uuid, mib]) => Math.max(0, mib - (before?.get(uuid) ?? 0))));
      const isSure = before !== undefined && own.every(({ usedMib }) => usedMib !== undefined);
      held.set(engine, isSure ? sum(own.map(({ usedMib = 0 }) => usedMib)) + lagging : used);
    }
    marks = next;
    // Nobody knows on which of several GPUs whoever comes will be.
    const freeMib = Math.min(...devices.map((device) => device.freeMib)) - GPU_MARGIN_MIB;
    return { memory: 'gpu', takenAt, freeMib, heldMib: told(engines, held) };
  }

  return async (gauged) => {
    const engines = await known(gauged);
    const now = means.clock.now();
    if (counts === 'host_mib') return host(now, engines);
    const sight = await means.gpu.read(RECENT_MS);
    if (sight.kind === 'read') return gpu(sight.reading, engines);
    return sight.kind === 'absent' && counts === 'models' && gpus.length === 0 ? host(now, engines) : undefined;
  };
}

const told = (engines: readonly Known[], heldMib: ReadonlyMap<EngineId, number>): ReadonlyMap<EngineId, number> =>
  new Map([...heldMib].filter(([engine]) => engines.some((one) => one.engine === engine && !one.mayTake)));

const isOf = (gpus: StagePlan['gpus'], { uuid, index }: GpuDevice): boolean =>
  gpus.length === 0 || gpus.some((gpu) => gpu.uuid === uuid || gpu.name === uuid || gpu.name === index);

/** What no process that is listed holds, by GPU: the memory of one that has ended is free some time after it is listed no more. */
const unlistedOf = ({ devices, processes }: Omit<GpuReading, 'takenAt'>): ReadonlyMap<string, number> =>
  new Map(
    devices.map(({ uuid, usedMib: used }) => {
      const listed = processes.flatMap(({ uuid: on, usedMib = 0 }) => (on === uuid ? [usedMib] : []));
      return [uuid, used - sum(listed)];
    }),
  );

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
