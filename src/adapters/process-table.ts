import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { isOutOfReach } from './system-error.ts';

/** A process number with the moment it was given out, in ticks since boot: together they name one process for good. */
export type ProcessId = { readonly pid: number; readonly started: number };

export type ProcessStat = ProcessId & {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** False for a zombie: it has ended and holds nothing but its number. */
  readonly alive: boolean;
  /** It was stopped, by a signal or by whoever looks into it, and hears of no signal but SIGKILL. */
  readonly stopped: boolean;
};

/** What the kernel knows of the processes of this machine. */
export interface ProcessTable {
  readonly self: ProcessStat;
  /** Process numbers mean something only within one boot and one PID namespace. */
  readonly boot: string;
  readonly namespace: string;
  look(pid: number): ProcessStat | undefined;
  /**
   * Those that were started at this moment or later, in ticks since boot. Gives way to other work on the way, so it is
   * no snapshot of one moment.
   */
  list(since?: number): Promise<readonly ProcessStat[]>;
  /** For exit handlers, which cannot wait. */
  listNow(): readonly ProcessStat[];
  /** Which of the processes were started with this text in their environment. What may not be read does not carry it. */
  bearers(pids: readonly number[], text: string): Promise<ReadonlySet<number>>;
}

/**
 * A process that was read before. The inode of its folder is given out once, so the same one means the same process; to look
 * at it takes a quarter of what it takes to read when the process was started. Most processes are much older than any engine.
 */
type Seen = { readonly inode: number; readonly started: number };

/** So many processes are looked at without a pause, or at once where each takes an open file. */
const SLICE = 64;
/** Reading an environment waits for a lock of that process, which a process stuck in a driver may hold for good. */
const ENVIRONMENT_LIMIT_MS = 1_000;

/** The process table of Linux; undefined where there is no such `/proc`. */
export function procTable(): ProcessTable | undefined {
  const self = look(process.pid);
  if (self === undefined) return undefined;
  const reads = new Map<number, Promise<Buffer | undefined>>();
  let seen: ReadonlyMap<number, Seen> = new Map();
  return {
    self,
    boot: orNothing(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()),
    namespace: orNothing(() => readlinkSync('/proc/self/ns/pid')),
    look,
    async list(since = 0) {
      const stats: ProcessStat[] = [];
      const next = new Map<number, Seen>();
      for (const [index, pid] of pids().entries()) {
        if (index % SLICE === SLICE - 1) await turn();
        // Before its start is read: should the number change hands in between, what is remembered fits nobody.
        const inode = inodeOf(pid);
        const before = seen.get(pid);
        if (before !== undefined && before.inode === inode && before.started < since) {
          next.set(pid, before);
          continue;
        }
        const stat = look(pid);
        if (stat === undefined) continue;
        if (inode !== undefined) next.set(pid, { inode, started: stat.started });
        if (stat.started >= since) stats.push(stat);
      }
      seen = next;
      return stats;
    },
    listNow: () => pids().flatMap((pid) => look(pid) ?? []),
    async bearers(candidates, text) {
      const bearers = new Set<number>();
      for (let from = 0; from < candidates.length; from += SLICE) {
        const slice = candidates.slice(from, from + SLICE);
        const environments = await Promise.all(slice.map((pid) => environmentOf(pid, reads)));
        for (const [index, pid] of slice.entries()) if (environments[index]?.includes(text) === true) bearers.add(pid);
      }
      return bearers;
    },
  };
}

/** Sandboxes leave out parts of `/proc`; numbers and start times still tell processes apart. */
function orNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

function pids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function inodeOf(pid: number): number | undefined {
  try {
    return statSync(`/proc/${pid}`).ino;
  } catch (error) {
    return undefinedOutOfReach(error);
  }
}

/** A read that hangs is joined by the next one, so that one stuck process costs one thread and no more. */
async function environmentOf(
  pid: number,
  reads: Map<number, Promise<Buffer | undefined>>,
): Promise<Buffer | undefined> {
  let read = reads.get(pid);
  if (read === undefined) {
    read = readFile(`/proc/${pid}/environ`).catch(undefinedOutOfReach);
    reads.set(pid, read);
    const forget = () => reads.delete(pid);
    void read.then(forget, forget);
  }
  const enough = new AbortController();
  const limit = pause(ENVIRONMENT_LIMIT_MS, undefined, { signal: enough.signal }).catch(() => undefined);
  try {
    return await Promise.race([read, limit]);
  } finally {
    enough.abort();
  }
}

const buffer = Buffer.alloc(4_096);

function look(pid: number): ProcessStat | undefined {
  try {
    const file = openSync(`/proc/${pid}/stat`, 'r');
    try {
      return parseStat(buffer.toString('latin1', 0, readSync(file, buffer)));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return undefinedOutOfReach(error);
  }
}

/** Any other error must not pass for the end of a process. */
function undefinedOutOfReach(error: unknown): undefined {
  if (!isOutOfReach(error)) throw error;
}

/** Reads a line of `/proc/PID/stat`. The name of the program stands in brackets and may itself hold brackets and spaces. */
export function parseStat(line: string): ProcessStat | undefined {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  const [parent, group, session] = fields.slice(1, 4).map(Number);
  const [threads, , started] = fields.slice(17, 20).map(Number);
  const pid = Number.parseInt(line, 10);
  if (state === undefined || parent === undefined || group === undefined || session === undefined) return undefined;
  if (threads === undefined || started === undefined || Number.isNaN(pid)) return undefined;
  // A dead first thread whose other threads still run is shown as a zombie too, but holds all that the process held.
  const alive = !/[ZXx]/.test(state) || threads > 1;
  return { pid, started, parent, group, session, alive, stopped: /[Tt]/.test(state) };
}
