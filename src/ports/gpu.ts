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
  readonly takenAt: Millis;
  readonly devices: readonly GpuDevice[];
  readonly processes: readonly GpuProcess[];
};

export type GpuSight =
  | { readonly kind: 'read'; readonly reading: GpuReading }
  /** There is nothing to read with, and so probably nothing to read. */
  | { readonly kind: 'absent'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** The memory of the GPUs. A reading takes tens of milliseconds and may hang where a GPU does, so it never lies on the path of a request. */
export interface Gpu {
  /** A reading begun no longer ago than this; those who ask at the same time share one. Never rejects, and is bounded in time. */
  read(maxAgeMs: number): Promise<GpuSight>;
}
