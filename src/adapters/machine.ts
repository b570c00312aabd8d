import { readFile } from 'node:fs/promises';
import type { Machine } from '../ports/machine.ts';

/** This machine, by what Linux tells in `/proc`. Elsewhere it knows nothing, and says so. */
export function systemMachine(): Machine {
  return {
    isRoot: process.geteuid?.() === 0,
    async mapsGpu(pids) {
      const maps = await Promise.all(pids.map((pid) => textOf(`/proc/${pid}/maps`)));
      return pids.filter((_, at) => maps[at]?.includes('/dev/nvidia') === true);
    },
    async availableMib() {
      const kib = /^MemAvailable:\s+(\d+) kB$/m.exec(await textOf('/proc/meminfo'))?.[1];
      return kib === undefined ? undefined : Math.floor(Number(kib) / 1_024);
    },
  };
}

/** Nothing where there is nothing to read, as for a process that has just ended. */
async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'latin1');
  } catch {
    return '';
  }
}
