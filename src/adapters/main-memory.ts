import { readFile } from 'node:fs/promises';
import type { MainMemory, ProcessMemory } from '../ports/process-memory.ts';

type Held = { readonly bytes: number; readonly privateBytes: number };

/** Main memory as Linux counts it: a page that several processes share is divided among them (PSS), and swapped ones count. */
export function mainMemory(folder = '/proc'): MainMemory {
  return {
    async of(pids) {
      const read = await Promise.all(pids.map((pid) => held(`${folder}/${pid}`)));
      const living = read.filter((one) => one !== 'gone');
      const known = living.filter((one) => one !== 'hidden');
      const all = known.length === living.length;
      return {
        count: living.length,
        bytes: all ? sum(known.map(({ bytes }) => bytes)) : undefined,
        privateBytes: all ? sum(known.map(({ privateBytes }) => privateBytes)) : undefined,
      } satisfies ProcessMemory;
    },
  };
}

async function held(process: string): Promise<Held | 'gone' | 'hidden'> {
  try {
    const text = await readFile(`${process}/smaps_rollup`, 'latin1');
    // A process that has just ended has an empty one.
    return /^Pss:/m.test(text) ? heldIn(text) : 'gone';
  } catch {
    return (await lives(process)) ? 'hidden' : 'gone';
  }
}

async function lives(process: string): Promise<boolean> {
  try {
    return !/^State:\s+[ZX]/m.test(await readFile(`${process}/status`, 'latin1'));
  } catch {
    return false;
  }
}

/** Reads what the kernel says of a whole process. */
export function heldIn(text: string): Held {
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
  const swapped = kib('SwapPss');
  return {
    bytes: (kib('Pss') + swapped) * 1_024,
    privateBytes: (kib('Pss_Anon') + kib('Pss_Shmem') + swapped) * 1_024,
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
