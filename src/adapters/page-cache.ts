import { open, readFile, type FileHandle } from 'node:fs/promises';
import { after } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { PageCache, ReadAhead, ReadAheadEnd } from '../ports/page-cache.ts';

const BLOCK = 1_048_576;
/** After so much it is looked at whether it may go on. */
const LOOK_EVERY = 16 * BLOCK;
/** So many pages that others had to fetch since the last look are no accident: that is 1 MiB. */
const FAULTS = 256;

export type PageCacheMeans = {
  readonly clock: Clock;
  /** What is available without swapping; undefined where nobody tells. */
  readonly availableBytes?: () => Promise<number | undefined>;
  /** How many pages these processes had to fetch from disk so far. */
  readonly faults?: (pids: readonly number[]) => Promise<number>;
};

/**
 * Reads files from one end to the other, for the system to keep what it has read. Nothing is kept here but one block. Where the system does not tell what
 * memory is available nothing is read at all.
 */
export function pageCache({ clock, availableBytes = availableNow, faults = majorFaults }: PageCacheMeans): PageCache {
  const pause = (ms: number, signal: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.at(after(clock.now(), ms), resolve);
    const stop = (): void => {
      cancel();
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
    return promise.finally(() => signal.removeEventListener('abort', stop));
  };

  async function read({
    files,
    mostBytes,
    bytesPerSec,
    keepFreeBytes,
    spare,
    signal,
  }: ReadAhead): Promise<ReadAheadEnd> {
    const block = Buffer.allocUnsafeSlow(BLOCK);
    const startedAt = clock.now();
    let bytes = 0;
    let lookAt = 0;
    let faultsBefore: number | undefined;
    for (const path of files) {
      const file = await openToRead(path);
      if (typeof file === 'string') return { end: 'failed', bytes, reason: file };
      try {
        for (;;) {
          if (signal.aborted) return { end: 'stopped', bytes };
          if (bytes >= mostBytes) return { end: 'bound', bytes };
          if (bytes >= lookAt) {
            lookAt = bytes + LOOK_EVERY;
            const free = await availableBytes();
            if (free === undefined || free < keepFreeBytes) return { end: 'memory', bytes };
            const now = await faults(spare());
            if (faultsBefore !== undefined && now - faultsBefore > FAULTS) return { end: 'disk', bytes };
            faultsBefore = now;
          }
          const { bytesRead } = await file.read(block, 0, Math.min(BLOCK, mostBytes - bytes));
          if (bytesRead === 0) break;
          bytes += bytesRead;
          const aheadMs = (bytes / bytesPerSec) * 1_000 - (clock.now() - startedAt);
          if (aheadMs > 1) await pause(aheadMs, signal);
        }
      } finally {
        await file.close().catch(() => {});
      }
    }
    return { end: 'whole', bytes };
  }

  return {
    readAhead: (order) =>
      read(order).catch((error: unknown): ReadAheadEnd => ({ end: 'failed', bytes: 0, reason: String(error) })),
  };
}

async function openToRead(path: string): Promise<FileHandle | string> {
  try {
    return await open(path, 'r');
  } catch (error) {
    return String(error);
  }
}

async function availableNow(): Promise<number | undefined> {
  const kib = /^MemAvailable:\s+(\d+) kB$/m.exec(await textOf('/proc/meminfo'))?.[1];
  return kib === undefined ? undefined : Number(kib) * 1_024;
}

/** What maps its weights reads them by faults; that of `majflt` in what the kernel tells of a process, after the name in parentheses. */
async function majorFaults(pids: readonly number[]): Promise<number> {
  const counts = await Promise.all(
    pids.map(async (pid) => {
      const stat = await textOf(`/proc/${pid}/stat`);
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[9] ?? 0) || 0;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Nothing where there is nothing to read, as for a process that has just ended. */
async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'latin1');
  } catch {
    return '';
  }
}
