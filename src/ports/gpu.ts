import type { Millis } from '../core/kinds.ts';

/** Mebibytes, as the tools of the makers count them. */
export type GpuDevice = {
  readonly uuid: string;
  readonly index: number;
  readonly name: string;
  readonly totalMib: number;
  readonly usedMib: number;
  readonly freeMib: number;
};

export type GpuProcess = {
  readonly pid: number;
  readonly uuid: string;
  /** Undefined where the driver does not tell, as inside some containers. */
  readonly usedMib: number | undefined;
};

export type GpuReading = {
  /** When it was begun, and when it was there. */
  readonly takenAt: Millis;
  readonly cameAt: Millis;
  readonly devices: readonly GpuDevice[];
  readonly processes: readonly GpuProcess[];
};

export type GpuSight =
  | { readonly kind: 'read'; readonly reading: GpuReading }
  /** There is nothing to read with, and so probably nothing to read. */
  | { readonly kind: 'absent'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** What of it is told of processes alone. */
export type HolderSight =
  | { readonly kind: 'read'; readonly processes: readonly GpuProcess[] }
  | Exclude<GpuSight, { readonly kind: 'read' }>;

/** The memory of the GPUs. A reading takes tens of milliseconds and may hang where a GPU does, so it never lies on the path of a request. */
export interface Gpu {
  /** A reading begun no longer ago than this; those who ask at the same time share one. Never rejects, and is bounded in time. */
  read(maxAgeMs: number): Promise<GpuSight>;
  /** The same of the processes that hold it, where they can be read without the rest, which takes half the work. */
  holders?(maxAgeMs: number): Promise<HolderSight>;
}

/** Who holds it, with as little work as that takes. */
export async function holdersOf(gpu: Gpu, maxAgeMs: number): Promise<HolderSight> {
  if (gpu.holders !== undefined) return gpu.holders(maxAgeMs);
  const sight = await gpu.read(maxAgeMs);
  return sight.kind === 'read' ? { kind: 'read', processes: sight.reading.processes } : sight;
}
