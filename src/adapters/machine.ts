import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Machine } from '../ports/machine.ts';

const MIB = 1_048_576;
/** No control group lies deeper. */
const DEEPEST = 32;

/** This machine, by what Linux tells in `/proc` and of control groups. Elsewhere it knows nothing, and says so. */
export function systemMachine(root = '/'): Machine {
  return {
    isRoot: process.geteuid?.() === 0,
    async mapsGpu(pids) {
      const maps = await Promise.all(pids.map((pid) => textOf(join(root, `proc/${pid}/maps`))));
      return pids.filter((_, at) => maps[at]?.includes('/dev/nvidia') === true);
    },
    async availableMib() {
      const kib = /^MemAvailable:\s+(\d+) kB$/m.exec(await textOf(join(root, 'proc/meminfo')))?.[1];
      const known = [...(kib === undefined ? [] : [Number(kib) / 1_024]), ...(await leftByGroups(root))];
      return known.length === 0 ? undefined : Math.max(0, Math.floor(Math.min(...known)));
    },
  };
}

/** What each control group that we are in leaves: a container has less than the machine it runs on. */
async function leftByGroups(root: string): Promise<readonly number[]> {
  const own = await textOf(join(root, 'proc/self/cgroup'));
  const unified = /^0::(\/.*)$/m.exec(own)?.[1];
  const separate = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(\/.*)$/m.exec(own)?.[1];
  const v2 = unified === undefined ? [] : foldersOf(unified).map((path) => leftIn(join(root, CGROUPS, path), V2));
  const v1 =
    separate === undefined ? [] : foldersOf(separate).map((path) => leftIn(join(root, CGROUPS, 'memory', path), V1));
  return (await Promise.all([...v2, ...v1])).flatMap((left) => (left === undefined ? [] : [left]));
}

const CGROUPS = 'sys/fs/cgroup';
const V2 = { limit: 'memory.max', used: 'memory.current', file: /^(?:in)?active_file (\d+)$/gm };
const V1 = {
  limit: 'memory.limit_in_bytes',
  used: 'memory.usage_in_bytes',
  file: /^total_(?:in)?active_file (\d+)$/gm,
};

/** Pages of files count as used and are given back when memory is asked for. */
async function leftIn(folder: string, { limit, used, file }: typeof V2): Promise<number | undefined> {
  const [most, now, stat] = await Promise.all([limit, used, 'memory.stat'].map((name) => textOf(join(folder, name))));
  if (!/^\d+$/.test(most?.trim() ?? '') || !/^\d+$/.test(now?.trim() ?? '')) return undefined;
  const files = [...(stat ?? '').matchAll(file)].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
  return (Number(most) - Math.max(0, Number(now) - files)) / MIB;
}

/** The group, and all that it lies in. In a container its own is what it sees as the root. */
function foldersOf(path: string): readonly string[] {
  const folders = [path];
  for (let at = path; at !== '/' && folders.length < DEEPEST; folders.push(at)) at = dirname(at);
  return folders;
}

/** Nothing where there is nothing to read, as for a process that has just ended. */
async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'latin1');
  } catch {
    return '';
  }
}
