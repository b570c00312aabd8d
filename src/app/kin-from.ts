import type { ProcessTable } from '../adapters/process-table.ts';

export type KinOf = (leaders: readonly number[]) => Promise<ReadonlyMap<number, readonly number[]>>;

/** The processes of engines, by the one that was started: those of its session. For showing what they hold, not for ending them. */
export function kinFrom(table: Pick<ProcessTable, 'list'> | undefined): KinOf {
  return async (leaders) => {
    const kin = new Map<number, number[]>(leaders.map((leader) => [leader, []]));
    if (leaders.length === 0 || table === undefined) return new Map();
    for (const { pid, session, alive } of await table.list()) if (alive) kin.get(session)?.push(pid);
    return kin;
  };
}
