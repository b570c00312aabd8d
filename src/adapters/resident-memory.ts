import { readFileSync } from 'node:fs';
import { isMissing } from './system-error.ts';

/**
 * How much main memory processes hold for themselves, in bytes: what is anonymous, shared or swapped out. Mapped files do not count,
 * which the system takes back as it likes. The kernel keeps these numbers, so that reading them holds up no process, however large it is, and takes less
 * than to hand the read to another thread.
 */
export async function residentBytes(pids: readonly number[], folder = '/proc'): Promise<number> {
  return pids.reduce((sum, pid) => sum + heldBy(`${folder}/${pid}/status`), 0);
}

/** Nothing for a process that has just ended. */
function heldBy(file: string): number {
  try {
    return heldIn(readFileSync(file, 'latin1'));
  } catch {
    return 0;
  }
}

function heldIn(text: string): number {
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
  return (kib('RssAnon') + kib('RssShmem') + kib('VmSwap')) * 1_024;
}

/**
 * The same of processes that may be on their way out: nothing of those that are gone, and undefined while one is there of which nothing is told any
 * more. Its memory is given back in that time, which takes seconds where there is much of it.
 */
export async function provenBytes(pids: readonly number[], folder = '/proc'): Promise<number | undefined> {
  const held = pids.map((pid) => provenOf(`${folder}/${pid}/status`));
  return held.reduce(
    (sum: number | undefined, bytes) => (sum === undefined || bytes === undefined ? undefined : sum + bytes),
    0,
  );
}

function provenOf(file: string): number | undefined {
  try {
    const text = readFileSync(file, 'latin1');
    return /^VmRSS:/m.test(text) ? heldIn(text) : undefined;
  } catch (error) {
    if (isMissing(error) || (error instanceof Error && 'code' in error && error.code === 'ESRCH')) return 0;
    return undefined;
  }
}
