import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { heldIn, mainMemory } from '../../../src/adapters/main-memory.ts';
import { testFolder } from '../../helpers/survivors.ts';

const ROLLUP = `55d0-7ffe ---p 00000000 00:00 0                          [rollup]
Rss:              150000 kB
Pss:              120000 kB
Pss_Dirty:         20000 kB
Pss_Anon:          18000 kB
Pss_File:         100000 kB
Pss_Shmem:          2000 kB
SwapPss:            1000 kB
`;

test('what is shared is divided, what is swapped counts, what a file has is not its own', ({ expect }) => {
  expect(heldIn(ROLLUP)).toEqual({ bytes: 121_000 * 1_024, privateBytes: 21_000 * 1_024 });
});

test('all that live count, and those that ended do not', async ({ expect }) => {
  const folder = testFolder();
  for (const [pid, text] of [
    ['11', ROLLUP],
    ['12', ROLLUP],
    ['13', ''],
  ] as const) {
    mkdirSync(join(folder.path, pid));
    writeFileSync(join(folder.path, pid, 'smaps_rollup'), text);
  }
  const memory = mainMemory(folder.path);
  expect(await memory.of([11, 12, 13, 14])).toEqual({
    count: 2,
    bytes: 242_000 * 1_024,
    privateBytes: 42_000 * 1_024,
  });
  // One that lives and may not be read makes the sum unknown, and not smaller.
  mkdirSync(join(folder.path, '15'));
  writeFileSync(join(folder.path, '15', 'status'), 'Name:\tx\nState:\tS (sleeping)\n');
  expect(await memory.of([11, 15])).toEqual({ count: 2, bytes: undefined, privateBytes: undefined });
  expect(await memory.of([])).toEqual({ count: 0, bytes: 0, privateBytes: 0 });
  folder.remove();
});

test.skipIf(process.platform !== 'linux')('a real process holds something until it has ended', async ({ expect }) => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const pids = [child.pid ?? 0];
  const { count, bytes = 0 } = await mainMemory().of(pids);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(count).toBe(1);
  expect(bytes).toBeGreaterThan(0);
  expect(await mainMemory().of(pids)).toEqual({ count: 0, bytes: 0, privateBytes: 0 });
});
