import { test } from 'vitest';
import { millis } from '../../../src/core/kinds.ts';
import type { Gpu, GpuSight } from '../../../src/ports/gpu.ts';
import { EndProof } from '../../../src/sleep/end-proof.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';

type Rows = Readonly<Record<number, number>>;

/** What each process holds, and how full the device is. */
function sight(rows: Rows, usedMib: number): GpuSight {
  const processes = Object.entries(rows).map(([pid, mib]) => ({ pid: Number(pid), uuid: 'GPU-0', usedMib: mib }));
  const device = { uuid: 'GPU-0', index: 0, name: 'x', totalMib: 80_000, usedMib, freeMib: 80_000 - usedMib };
  return { kind: 'read', reading: { takenAt: millis(0), cameAt: millis(0), devices: [device], processes } };
}

type Terms = { readonly isAwake?: boolean; readonly maps?: boolean };

/** How the end of process 7 goes when the GPU is seen like this before, and like each of these afterwards; and how often it is looked at. */
async function end(
  before: GpuSight,
  after: readonly GpuSight[],
  { isAwake = true, maps = true }: Terms = {},
): Promise<readonly [string, number]> {
  const clock = new VirtualClock();
  const seen = [before, ...after];
  let looks = 0;
  const gpu: Gpu = {
    read: async () => {
      looks += 1;
      return (seen.length > 1 ? seen.shift() : seen[0]) ?? before;
    },
  };
  const machine = { mapsGpu: async (pids: readonly number[]) => (maps ? pids : []) };
  const proof = new EndProof({ clock, gpu, machine, timeoutMs: 1_000 });
  const held = await proof.before([7], isAwake);
  if (held === undefined) return ['not waited for', looks];
  let said = 'pending';
  void proof.free(held).then((left) => (said = left ?? 'free'));
  await clock.advance(5_000);
  return [said, looks];
}

const ALONE = sight({ 7: 20_000 }, 20_500);

test('it is free when nobody is listed with it and the GPU is as empty as that makes it', async ({ expect }) => {
  expect(await end(ALONE, [sight({}, 500)])).toEqual(['free', 2]);
  expect(await end(ALONE, [ALONE, sight({}, 20_500), sight({}, 500)])).toEqual(['free', 4]);
});

test('memory that nobody is listed with any more and that is not free is waited for, and told at last', async ({
  expect,
}) => {
  expect(await end(ALONE, [sight({}, 20_500)])).toEqual([
    'the 20000 MiB that it held of GPU-0 are not free 1 s after its end',
    12,
  ]);
});

test('what others take meanwhile is theirs, and what they give back is not its own', async ({ expect }) => {
  const beside = sight({ 7: 20_000, 9: 30_000 }, 50_500);
  expect(await end(beside, [sight({ 9: 50_000 }, 50_500)])).toEqual(['free', 2]);
  expect(await end(beside, [sight({ 9: 15_000 }, 35_500), sight({ 9: 15_000 }, 15_500)])).toEqual(['free', 3]);
});

test('how full a GPU was before its engine had woken does not count against it', async ({ expect }) => {
  const waking = sight({ 7: 20_000 }, 6_500);
  expect(await end(waking, [sight({}, 500)])).toEqual(['free', 2]);
  expect(await end(waking, [ALONE, sight({}, 500)])).toEqual(['free', 3]);
});

test('a GPU that cannot be looked at is not waited for', async ({ expect }) => {
  const failed: GpuSight = { kind: 'failed', reason: 'x' };
  const absent: GpuSight = { kind: 'absent', reason: 'x' };
  expect(await end(absent, [ALONE])).toEqual(['not waited for', 1]);
  expect(await end(failed, [ALONE])).toEqual(['not waited for', 1]);
  expect(await end(ALONE, [failed])).toEqual(['free', 2]);
});

test('an engine that is not on the GPU is not waited for', async ({ expect }) => {
  expect(await end(sight({ 9: 30_000 }, 30_500), [ALONE], { maps: false })).toEqual(['not waited for', 1]);
});

test('where the driver names no processes, one that was awake makes some GPU emptier', async ({ expect }) => {
  const full = sight({}, 20_500);
  expect(await end(full, [full, sight({}, 12_000)])).toEqual(['free', 3]);
  expect(await end(full, [full])).toEqual(['no GPU has more free memory 1 s after its end', 12]);
  expect(await end(full, [full], { isAwake: false })).toEqual(['not waited for', 1]);
});

test('a look that hangs holds the end up for three seconds at most', async ({ expect }) => {
  const clock = new VirtualClock();
  const gpu: Gpu = { read: () => new Promise(() => undefined) };
  const proof = new EndProof({ clock, gpu, machine: { mapsGpu: async () => [] }, timeoutMs: 10_000 });
  let said = 'pending';
  void proof.before([7], true).then((held) => (said = held === undefined ? 'not waited for' : 'held'));
  await clock.advance(2_999);
  expect(said).toBe('pending');
  await clock.advance(1);
  expect(said).toBe('not waited for');
});
