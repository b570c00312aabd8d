import { setTimeout as pause } from 'node:timers/promises';
import type { Leftover } from '../ports/process.ts';
import { ProcKin } from './kin.ts';
import type { ProcessTable } from './process-table.ts';
import { MARK } from './engine-env.ts';
import type { EngineRecord, Entry, Registry } from './registry.ts';

export type ReapingRules = {
  /** How long a leftover may take after SIGTERM, again after the second, and again after SIGKILL. */
  readonly graceMs: number;
  readonly onProblem: (message: string) => void;
};

const LOOK_EVERY_MS = 20;

/**
 * Ends what an earlier catnap left running. A process is touched only if the record proves it ours: by number and start
 * time in this very boot, by a session that began with it, or by the mark in its environment.
 */
export async function reapLeftovers(
  registry: Registry,
  table: ProcessTable,
  rules: ReapingRules,
): Promise<readonly Leftover[]> {
  const entries = (await registry.entries()).filter((entry) => !isOurs(entry.record, table));
  const reaped = await Promise.all(entries.map((entry) => reap(entry, table, rules)));
  return reaped.filter((leftover) => leftover !== undefined);
}

const isOurs = ({ boot, namespace, catnap }: EngineRecord, table: ProcessTable): boolean =>
  boot === table.boot && namespace === table.namespace && isSame(catnap, table.self);

async function reap(entry: Entry, table: ProcessTable, rules: ReapingRules): Promise<Leftover | undefined> {
  const { record } = entry;
  if (record.boot !== table.boot) {
    await entry.remove(); // nothing outlives its boot
    return undefined;
  }
  // Numbers of another namespace mean nothing here; the mark does.
  const here = record.namespace === table.namespace;
  if (here && runs(record.catnap, table)) {
    rules.onProblem(
      `${inWords(record)} belongs to another catnap that runs (process ${record.catnap.pid}) and is left to it`,
    );
    return undefined;
  }
  const leader = here ? (record.leader ?? undefined) : undefined;
  const kin = new ProcKin(table, { mark: `${MARK}=${record.mark}`, leader, holdsSession: false });
  const gone = await end(kin, rules.graceMs);
  const doubtful = gone && leader !== undefined ? await sessionOf(leader.pid, table) : [];
  if (doubtful.length > 0) {
    rules.onProblem(
      `what ${inWords(record)} left may still run, but cannot be told from others and is left alone: process ${doubtful.join(', ')}`,
    );
  } else if (gone) {
    await entry.remove();
  }
  const { engine, model, port } = record;
  return { engine, model, port, pid: record.leader?.pid ?? 0, gone: gone && doubtful.length === 0 };
}

/** Asked politely, asked again, killed; true once nothing is left. One that was put away with requests in flight stands still, and is killed at once. */
async function end(kin: ProcKin, graceMs: number): Promise<boolean> {
  for (const name of ['SIGTERM', 'SIGTERM', 'SIGKILL'] as const) {
    if ((await kin.living()).length === 0) return true;
    if (name === 'SIGTERM' && kin.standsStill) continue;
    kin.signal(name);
    for (const deadline = performance.now() + graceMs; performance.now() < deadline; await pause(LOOK_EVERY_MS)) {
      if ((await kin.living()).length === 0) return true;
    }
  }
  return (await kin.living()).length === 0;
}

/** Who lives in the session that the leader began, if its number still stands for that. */
async function sessionOf(pid: number, table: ProcessTable): Promise<number[]> {
  const stats = await table.list();
  // Its number is in use again, so its session ended before.
  if (stats.some((stat) => stat.pid === pid)) return [];
  return stats.filter((stat) => stat.alive && stat.session === pid).map((stat) => stat.pid);
}

/** One that was killed may be shown until its parent has collected it, which may be never. */
function runs(catnap: EngineRecord['catnap'], table: ProcessTable): boolean {
  const stat = table.look(catnap.pid);
  return stat?.alive === true && isSame(catnap, stat);
}

const isSame = (a: { pid: number; started: number }, b: { pid: number; started: number } | undefined): boolean =>
  a.pid === b?.pid && a.started === b.started;

const inWords = ({ engine, leader }: EngineRecord): string =>
  leader === null ? `engine ${engine}` : `engine ${engine} (process ${leader.pid})`;
