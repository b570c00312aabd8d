import { test } from 'vitest';
import { Readings, type Seen } from '../../../src/app/readings.ts';
import { millis } from '../../../src/core/kinds.ts';
import type { GpuSight } from '../../../src/ports/gpu.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';
import { alpha, beta, engine, model, phases, stage } from '../api/scene.ts';

const device = { uuid: 'g', index: 0, name: 'x', totalMib: 10, usedMib: 4, freeMib: 6 };
const read = (usedMib: number): GpuSight => ({
  kind: 'read',
  reading: { takenAt: millis(0), cameAt: millis(0), devices: [{ ...device, usedMib }], processes: [] },
});

function machine(sights: readonly (GpuSight | Promise<GpuSight>)[]) {
  const clock = new VirtualClock();
  const bugs: unknown[] = [];
  let looks = 0;
  const readings = new Readings({
    clock,
    gpu: { read: async () => sights[looks++] ?? read(0) },
    view: () =>
      stage([
        model(alpha, phases.awake, { engines: [0, 1].map((replica) => engine(alpha, replica, phases.awake)) }),
        model(beta, phases.off),
      ]),
    kinOf: async (leaders) => new Map(leaders.map((pid) => [pid, [pid, pid * 10]])),
    residentBytes: async (pids) => pids.reduce((sum, pid) => sum + pid, 0),
    bug: (error) => bugs.push(error),
  });
  return { clock, readings, bugs, looks: () => looks };
}

const turn = () => new Promise(setImmediate);
const used = ({ gpus }: Seen) => gpus.map(({ usedBytes }) => usedBytes / 1_048_576);

test('whoever asks waits for nothing: he is told what is known, and a look is begun for the next', async ({
  expect,
}) => {
  const { clock, readings, looks } = machine([read(4), read(5)]);
  expect(readings.latest()).toEqual({ gpus: [], hostBytes: new Map() });
  await turn();
  expect(used(readings.latest())).toEqual([4]);
  expect(readings.latest().hostBytes).toEqual(
    new Map([
      [alpha, 41 + 410 + 42 + 420],
      [beta, 0],
    ]),
  );
  expect(looks()).toBe(1);
  await clock.advance(6_000);
  expect(used(readings.latest())).toEqual([4]);
  await turn();
  expect(used(readings.latest())).toEqual([5]);
});

test('a look that hangs is not doubled, and what it replaced stays', async ({ expect }) => {
  const { promise, resolve } = Promise.withResolvers<GpuSight>();
  const { clock, readings, looks } = machine([read(4), promise]);
  readings.latest();
  await turn();
  for (let n = 0; n < 5; n++) {
    await clock.advance(10_000);
    expect(used(readings.latest())).toEqual([4]);
  }
  expect(looks()).toBe(2);
  resolve({ kind: 'failed', reason: 'lost' });
  await turn();
  expect(used(readings.latest())).toEqual([]);
});

test('a look that fails is a bug that is told, and not the last one', async ({ expect }) => {
  const { clock, readings, bugs } = machine([Promise.reject(new Error('odd')), read(5)]);
  readings.latest();
  await turn();
  expect(bugs).toHaveLength(1);
  await clock.advance(6_000);
  readings.latest();
  await turn();
  expect(used(readings.latest())).toEqual([5]);
});
