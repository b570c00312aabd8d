import { test } from 'vitest';
import { millis } from '../../../src/core/kinds.ts';
import type { Gpu, GpuSight, HolderSight } from '../../../src/ports/gpu.ts';
import { MemoryProof, type Promised } from '../../../src/sleep/memory.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';

/** What each process holds; a device is as full as they make it, or as is said. */
function sight(processes: Readonly<Record<number, number | undefined>>, usedMib?: number): GpuSight {
  const rows = Object.entries(processes).map(([pid, mib]) => ({ pid: Number(pid), uuid: 'GPU-0', usedMib: mib }));
  const used = usedMib ?? rows.reduce((sum, row) => sum + (row.usedMib ?? 0), 0);
  const device = { uuid: 'GPU-0', index: 0, name: 'x', totalMib: 80_000, usedMib: used, freeMib: 80_000 - used };
  return { kind: 'read', reading: { takenAt: millis(0), cameAt: millis(0), devices: [device], processes: rows } };
}

const processesIn = (seen: GpuSight): HolderSight =>
  seen.kind === 'read' ? { kind: 'read', processes: seen.reading.processes } : seen;

/** How a proof ends when memory is seen like this before, and like each of these afterwards. */
async function proof(before: GpuSight, after: readonly GpuSight[], promised: Promised = 'most'): Promise<string> {
  const clock = new VirtualClock();
  const seen = [before, ...after];
  let sleeps = false;
  const look = (): GpuSight => (sleeps && seen.length > 1 && seen.shift(), seen[0] ?? before);
  const gpu: Gpu = { read: async () => look(), holders: async () => processesIn(look()) };
  const memory = new MemoryProof({ clock, gpu, timeoutMs: 1_000 });
  const mark = await memory.mark([7, 8]);
  sleeps = true;
  let end = 'pending';
  void memory
    .back(mark, promised, async () => [7, 8], new AbortController().signal)
    .then(
      () => (end = 'back'),
      (error: Error) => (end = error.message),
    );
  await clock.advance(2_000);
  return end;
}

const FULL = sight({ 7: 20_000, 99: 3_000 });

test('enough is back when little more than a context is left', async ({ expect }) => {
  expect(await proof(FULL, [sight({ 7: 1_300 })])).toBe('back');
  expect(await proof(FULL, [sight({ 7: 12_000 })])).toBe(
    'its processes still hold 12000 of 20000 MiB of GPU memory after 1 s',
  );
});

test('memory may take a while to be back', async ({ expect }) => {
  expect(await proof(FULL, [FULL, FULL, sight({ 7: 900 })])).toBe('back');
});

test('a process of which the driver does not tell any more what it holds has freed nothing', async ({ expect }) => {
  expect(await proof(FULL, [sight({ 7: undefined })])).toMatch(
    /does not tell any more what its processes hold after 1 s/,
  );
  expect(await proof(FULL, [sight({ 7: undefined }), sight({ 7: 900 })])).toBe('back');
});

test('what others take or give is not counted', async ({ expect }) => {
  expect(await proof(FULL, [sight({ 7: 20_000, 99: 0 })])).toMatch(/still hold 20000/);
  expect(await proof(FULL, [sight({ 7: 900, 99: 40_000 })])).toBe('back');
});

test('a small engine must give something back all the same', async ({ expect }) => {
  const small = sight({ 7: 1_400 });
  expect(await proof(small, [small])).toMatch(/still hold 1400 of 1400/);
  expect(await proof(small, [sight({ 7: 1_000 })])).toBe('back');
});

test('a level that promises everything is held to it', async ({ expect }) => {
  expect(await proof(FULL, [sight({ 7: 1_300 })], 'all')).toMatch(/still hold 1300/);
  expect(await proof(FULL, [sight({})], 'all')).toBe('back');
  // One context of CUDA is little of it, and shows that a process was left out.
  expect(await proof(FULL, [sight({ 7: 400 })], 'all')).toMatch(/still hold 400/);
});

test('every process counts', async ({ expect }) => {
  const two = sight({ 7: 10_000, 8: 10_000 });
  expect(await proof(two, [sight({ 7: 700, 8: 10_000 })])).toMatch(/still hold 10700 of 20000/);
  expect(await proof(two, [sight({ 7: 700, 8: 700 })])).toBe('back');
});

test('where processes are not told apart, some device must have more room than before', async ({ expect }) => {
  const blind = sight({ 7: undefined }, 20_000);
  expect(await proof(blind, [sight({ 7: undefined }, 2_000)])).toBe('back');
  expect(await proof(blind, [sight({ 7: undefined }, 19_900)])).toBe(
    'no GPU has more free memory than before after 1 s',
  );
});

test('a driver that names none of its processes any more has shown nothing of them', async ({ expect }) => {
  expect(await proof(FULL, [sight({}, 4_000)])).toBe('the driver names none of its processes any more after 1 s');
});

test('a driver that lists no GPU any more has shown nothing', async ({ expect }) => {
  const none: GpuSight = {
    kind: 'read',
    reading: { takenAt: millis(0), cameAt: millis(0), devices: [], processes: [] },
  };
  expect(await proof(FULL, [none], 'all')).toBe('no GPU is listed any more after 1 s');
});

test('a reading that fails later is no proof, and one that fails before asks for none', async ({ expect }) => {
  const failed: GpuSight = { kind: 'failed', reason: 'nvidia-smi did not answer within 10 s' };
  expect(await proof(FULL, [failed])).toMatch(/nvidia-smi did not answer/);
  expect(await proof(failed, [FULL])).toBe('back');
});
