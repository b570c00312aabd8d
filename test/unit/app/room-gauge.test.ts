import { describe, test } from 'vitest';
import { roomGauge } from '../../../src/app/room-gauge.ts';
import type { StageGpu } from '../../../src/app/stages.ts';
import { engineId, millis, modelId } from '../../../src/core/kinds.ts';
import type { GpuProcess, GpuSight } from '../../../src/ports/gpu.ts';
import type { Gauged } from '../../../src/runtime/room-watch.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';

const alpha = engineId(modelId('alpha'), 0);
const MIB = 1_048_576;

type Seen = {
  readonly usedMib: number;
  readonly own?: number | undefined;
  readonly listed?: boolean;
  readonly otherMib?: number;
};

/** One GPU of 24,000 MiB. */
function sight({ usedMib, own, listed = true, otherMib }: Seen, second?: number): GpuSight {
  const device = { uuid: 'g0', index: 0, name: 'x', totalMib: 24_000, usedMib, freeMib: 24_000 - usedMib };
  const other = { ...device, uuid: 'g1', index: 1, usedMib: second ?? 0, freeMib: 24_000 - (second ?? 0) };
  const processes: GpuProcess[] = listed && own !== 0 ? [{ pid: 41, uuid: 'g0', usedMib: own }] : [];
  if (otherMib !== undefined) processes.push({ pid: 99, uuid: 'g0', usedMib: otherMib });
  const devices = second === undefined ? [device] : [device, other];
  return { kind: 'read', reading: { takenAt: millis(7), cameAt: millis(8), devices, processes } };
}

function gauge(
  sights: readonly GpuSight[],
  more: { host?: readonly (number | undefined)[]; availableMib?: number } = {},
) {
  let [looks, hostLooks] = [0, 0];
  const means = {
    clock: new VirtualClock(),
    gpu: { read: async (): Promise<GpuSight> => sights[looks++] ?? { kind: 'failed', reason: 'no more' } },
    machine: { availableMib: async () => more.availableMib },
    heldBytes: async () => more.host?.[hostLooks++],
  };
  return (counts: 'gpu_mib' | 'host_mib' | 'models' = 'gpu_mib', gpus: readonly StageGpu[] = []) =>
    roomGauge(means, { counts, gpus });
}

const leaves: Gauged = { engine: alpha, mayTake: false, members: async () => [41] };
const gone: Gauged = { ...leaves, members: async () => [] };

describe('what an engine that leaves holds of the GPU', () => {
  test('is what its own processes hold', async ({ expect }) => {
    const look = gauge([sight({ usedMib: 15_000, own: 14_000, otherMib: 500 })])();
    const reading = await look([leaves]);
    expect(reading).toMatchObject({ memory: 'gpu', takenAt: 7, freeMib: 24_000 - 15_000 - 512 });
    expect(reading?.heldMib.get(alpha)).toBe(14_000);
  });

  test('is what nobody holds since its processes are listed no more', async ({ expect }) => {
    const look = gauge([
      sight({ usedMib: 14_300, own: 14_000 }),
      sight({ usedMib: 14_300, own: 0 }),
      sight({ usedMib: 300, own: 0 }),
    ])();
    await look([leaves]);
    expect((await look([gone]))?.heldMib.get(alpha)).toBe(14_000);
    expect((await look([gone]))?.heldMib.get(alpha)).toBe(0);
  });

  test('is no more than all that is used, where the driver names nobody', async ({ expect }) => {
    const unnamed = gauge([sight({ usedMib: 9_000, own: 0 })])();
    expect((await unnamed([leaves]))?.heldMib.get(alpha)).toBe(9_000);
    const untold = gauge([sight({ usedMib: 9_000, own: undefined })])();
    expect((await untold([leaves]))?.heldMib.get(alpha)).toBe(9_000);
  });

  test('is not told of one that may take it back', async ({ expect }) => {
    const look = gauge([sight({ usedMib: 14_300, own: 14_000 })])();
    expect((await look([{ ...leaves, mayTake: true }]))?.heldMib.has(alpha)).toBe(false);
  });
});

test('of several GPUs the fullest says what is free', async ({ expect }) => {
  const look = gauge([sight({ usedMib: 4_000, own: 4_000 }, 20_000)])();
  expect((await look([leaves]))?.freeMib).toBe(4_000 - 512);
});

test('a GPU of the stage that is listed no more may hold anything, so nothing is told', async ({ expect }) => {
  const gpus = ['g0', 'g1'].map((uuid, index) => ({ name: index, index, uuid }));
  const look = gauge([sight({ usedMib: 4_000, own: 4_000 }, 0), sight({ usedMib: 4_000, own: 4_000 })])(
    'gpu_mib',
    gpus,
  );
  expect(await look([leaves])).toBeDefined();
  expect(await look([leaves])).toBeUndefined();
});

test('a driver that does not answer tells nothing', async ({ expect }) => {
  expect(await gauge([])('models')([leaves])).toBeUndefined();
});

describe('main memory', () => {
  test('counts where the budget does', async ({ expect }) => {
    const look = gauge([], { host: [3_000 * MIB], availableMib: 9_000 })('host_mib');
    const reading = await look([leaves]);
    expect(reading).toMatchObject({ memory: 'host', freeMib: 9_000 - 1_024 });
    expect(reading?.heldMib.get(alpha)).toBe(3_000);
  });

  test('counts on a machine without a GPU where models are counted', async ({ expect }) => {
    const look = gauge([{ kind: 'absent', reason: 'none' }], { host: [0], availableMib: 9_000 })('models');
    expect((await look([gone]))?.memory).toBe('host');
  });

  test('of a process that ends and tells nothing any more is all that it had', async ({ expect }) => {
    const look = gauge([], { host: [3_000 * MIB, undefined, 0], availableMib: 9_000 })('host_mib');
    await look([leaves]);
    expect((await look([gone]))?.heldMib.get(alpha)).toBe(3_000);
    expect((await look([gone]))?.heldMib.get(alpha)).toBe(0);
  });
});
