import { signalGroup } from './signal-group.ts';
import type { ProcessId, ProcessStat, ProcessTable } from './process-table.ts';

/** All processes that stem from one start of an engine. */
export interface Kin {
  /**
   * The living ones. While some that are known still live, only those are named and the answer is cheap;
   * an empty answer always follows a full look and is final.
   */
  living(): Promise<readonly number[]>;
  /** All of the living, after a full look. */
  all(): Promise<readonly number[]>;
  /** To the process groups of all that are known. After SIGKILL whatever is found later is killed when it is found. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
  /** Kills without waiting, for exit handlers. */
  killNow(): void;
}

type Claim = {
  /** `NAME=value` in the environment of every one of them that did not clear it. */
  readonly mark: string;
  /** The process that was started; undefined when nobody lived to write it down. */
  readonly leader: ProcessId | undefined;
  /** Whether the leader's session is theirs although none of them is known to be in it: true only for whoever started it. */
  readonly holdsSession: boolean;
};

/**
 * Finds kin by four kinds of proof: known before (number and start time), started in a session that one of them
 * is in (the leader got a session of its own, so every such session began with one of them), child of one of them,
 * or bearer of the mark.
 */
export class ProcKin implements Kin {
  readonly #table: ProcessTable;
  readonly #claim: Claim;
  readonly #known = new Map<number, ProcessStat>();
  /** Whether the known ones are enough to go by while they live; each new kind of signal asks for another look. */
  #looked: boolean;
  #sent: 'SIGTERM' | 'SIGKILL' | undefined;
  #gone = false;

  constructor(table: ProcessTable, claim: Claim) {
    this.#table = table;
    this.#claim = claim;
    const { leader } = claim;
    const stat = leader === undefined ? undefined : table.look(leader.pid);
    if (stat?.started === leader?.started && stat !== undefined) this.#known.set(stat.pid, stat);
    this.#looked = this.#known.size > 0;
  }

  async living(): Promise<readonly number[]> {
    if (this.#gone) return [];
    if (this.#looked) {
      const known = this.#livingKnown();
      if (known.length > 0) return known.map(({ pid }) => pid);
    }
    // Twice, since a process that forks and ends while the table is read can slip through one look.
    for (let looks = 0; looks < 2; looks += 1) {
      const found = await this.#look();
      if (found.length > 0) return found;
    }
    this.#gone = true;
    return [];
  }

  async all(): Promise<readonly number[]> {
    return this.#gone ? [] : this.#look();
  }

  /** Whether one of those that are known stands still. */
  get standsStill(): boolean {
    return this.#livingKnown().some(({ stopped }) => stopped);
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (this.#gone) return;
    if (name !== this.#sent) this.#looked = false;
    this.#sent = name;
    this.#signalGroups(name);
  }

  killNow(): void {
    if (this.#gone) return;
    this.#learn(this.#related(this.#table.listNow()));
    this.signal('SIGKILL');
  }

  #signalGroups(name: 'SIGTERM' | 'SIGKILL'): void {
    const groups = new Set(this.#livingKnown().map(({ group }) => group));
    const { leader, holdsSession } = this.#claim;
    if (leader !== undefined && holdsSession && !isImpostor(this.#table.look(leader.pid), leader))
      groups.add(leader.pid);
    groups.delete(this.#table.self.group);
    // 0 and 1 would mean our own group and every process there is.
    for (const group of groups) if (group > 1) signalGroup(group, name);
  }

  #livingKnown(): ProcessStat[] {
    const living: ProcessStat[] = [];
    for (const { pid, started } of this.#known.values()) {
      const stat = this.#table.look(pid);
      if (stat?.started === started && stat.alive) living.push(stat);
      else if (stat?.started !== started) this.#known.delete(pid);
    }
    return living;
  }

  #related(stats: readonly ProcessStat[], marked: ReadonlySet<number> = new Set()): ReadonlyMap<number, ProcessStat> {
    return related({ ...this.#claim, known: this.#known, marked, self: this.#table.self }, stats);
  }

  /** The table first, then the environments of those it leaves open, then the table once more for their kin. */
  async #look(): Promise<number[]> {
    const stats = await this.#table.list(this.#claim.leader?.started);
    const sure = this.#related(stats);
    const open = stats.filter(({ pid }) => !sure.has(pid) && pid !== this.#table.self.pid);
    const marked = await this.#table.bearers(
      open.map(({ pid }) => pid),
      this.#claim.mark,
    );
    this.#learn(marked.size === 0 ? sure : this.#related(stats, marked));
    this.#looked = true;
    if (this.#sent === 'SIGKILL') this.#signalGroups('SIGKILL');
    return this.#livingKnown().map(({ pid }) => pid);
  }

  #learn(found: ReadonlyMap<number, ProcessStat>): void {
    for (const [pid, stat] of found) this.#known.set(pid, stat);
  }
}

type Evidence = Pick<Claim, 'leader' | 'holdsSession'> & {
  readonly known: ReadonlyMap<number, ProcessId>;
  /** Who bears the mark. */
  readonly marked: ReadonlySet<number>;
  readonly self: Pick<ProcessStat, 'pid' | 'session'>;
};

/** Who among `stats` is kin. Never we ourselves, and never all of a session that we or the system are in. */
export function related(
  { leader, holdsSession, known, marked, self }: Evidence,
  stats: readonly ProcessStat[],
): ReadonlyMap<number, ProcessStat> {
  const kin = new Map<number, ProcessStat>();
  const sessions = new Set<number>();
  const add = (stat: ProcessStat) => {
    kin.set(stat.pid, stat);
    // Session 0 is that of the kernel, or one outside of this namespace.
    if (stat.session !== 0 && stat.session !== self.session) sessions.add(stat.session);
  };
  for (const stat of stats) {
    if (known.get(stat.pid)?.started === stat.started || marked.has(stat.pid)) add(stat);
  }
  if (leader !== undefined && holdsSession) {
    // A number is given out again only when no session bears it any more.
    if (!stats.some((stat) => isImpostor(stat, leader))) sessions.add(leader.pid);
  }
  for (let grew = true; grew;) {
    grew = false;
    for (const stat of stats) {
      if (kin.has(stat.pid) || stat.pid === self.pid) continue;
      if (!sessions.has(stat.session) && !kin.has(stat.parent)) continue;
      add(stat);
      grew = true;
    }
  }
  return kin;
}

const isImpostor = (stat: ProcessStat | undefined, leader: ProcessId): boolean =>
  stat !== undefined && stat.pid === leader.pid && stat.started !== leader.started;

/** Where there is no process table: the process group alone. */
export class GroupKin implements Kin {
  readonly #leader: number;
  #gone = false;

  constructor(leader: number) {
    this.#leader = leader;
  }

  living(): Promise<readonly number[]> {
    if (!this.#gone && !signalGroup(this.#leader, 0)) this.#gone = true;
    return Promise.resolve(this.#gone ? [] : [this.#leader]);
  }

  all(): Promise<readonly number[]> {
    return this.living();
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (!this.#gone) signalGroup(this.#leader, name);
  }

  killNow(): void {
    this.signal('SIGKILL');
  }
}
