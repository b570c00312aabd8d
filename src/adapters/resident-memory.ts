import { readFile } from 'node:fs/promises';

/**
 * How much main memory processes hold for themselves, in bytes: what is anonymous, shared or swapped out. Mapped files do not count,
 * which the system takes back as it likes. The kernel keeps these numbers, so that reading them holds up no process, however large it is.
 */
export async function residentBytes(pids: readonly number[], folder = '/proc'): Promise<number> {
  const held = await Promise.all(pids.map((pid) => heldBy(`${folder}/${pid}/status`)));
  return held.reduce((sum, bytes) => sum + bytes, 0);
}

/** Nothing for a process that has just ended. */
async function heldBy(file: string): Promise<number> {
  try {
    const text = await readFile(file, 'latin1');
    const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
    return (kib('RssAnon') + kib('RssShmem') + kib('VmSwap')) * 1_024;
  } catch {
    return 0;
  }
}
