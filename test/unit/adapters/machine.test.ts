import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test as base } from 'vitest';
import { systemMachine } from '../../../src/adapters/machine.ts';
import { testFolder } from '../../helpers/survivors.ts';

const GIB = 1_073_741_824;
const MEMINFO = 'MemTotal:       67108864 kB\nMemFree:         1024 kB\nMemAvailable:   33554432 kB\n';

/** How much memory there is on a machine with these files. */
const test = base.extend('available', async ({}, { onCleanup }) => {
  const { path, remove } = testFolder();
  onCleanup(remove);
  return (files: Readonly<Record<string, string>>): Promise<number | undefined> => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), text);
    }
    return systemMachine(path).availableMib();
  };
});

test('where nothing is told, nothing is known', async ({ available, expect }) => {
  expect(await available({})).toBeUndefined();
});

test('without a limit it is what the machine has', async ({ available, expect }) => {
  const files = { 'proc/meminfo': MEMINFO, 'proc/self/cgroup': '0::/a\n', 'sys/fs/cgroup/a/memory.max': 'max\n' };
  expect(await available({ ...files, 'sys/fs/cgroup/a/memory.current': '5\n' })).toBe(32_768);
});

test('a control group leaves less, whichever of those it lies in, and pages of files are not lost', async ({
  available,
  expect,
}) => {
  expect(
    await available({
      'proc/meminfo': MEMINFO,
      'proc/self/cgroup': '0::/slice/unit\n',
      'sys/fs/cgroup/slice/unit/memory.max': 'max\n',
      'sys/fs/cgroup/slice/unit/memory.current': `${GIB}\n`,
      'sys/fs/cgroup/slice/memory.max': `${8 * GIB}\n`,
      'sys/fs/cgroup/slice/memory.current': `${7 * GIB}\n`,
      'sys/fs/cgroup/slice/memory.stat': `anon 5\nfile ${4 * GIB}\ninactive_file ${2 * GIB}\nactive_file ${GIB}\n`,
    }),
  ).toBe(4_096);
});

test('the older kind of control groups counts too, and one that is overdrawn leaves nothing', async ({
  available,
  expect,
}) => {
  const files = { 'proc/meminfo': MEMINFO, 'proc/self/cgroup': '5:cpu:/x\n4:memory:/\n' };
  const folder = 'sys/fs/cgroup/memory';
  const limit = { [`${folder}/memory.limit_in_bytes`]: `${4 * GIB}\n`, [`${folder}/memory.stat`]: 'cache 9\n' };
  expect(await available({ ...files, ...limit, [`${folder}/memory.usage_in_bytes`]: `${GIB}\n` })).toBe(3_072);
  expect(await available({ [`${folder}/memory.usage_in_bytes`]: `${5 * GIB}\n` })).toBe(0);
});
