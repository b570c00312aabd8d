import type { Sight } from './cast.ts';
import { atLeast, Costs } from './costs.ts';
import { Demand } from './demand.ts';
import { isDeeper, lighterOf, mayGoTo } from './depth.ts';
import { atRest, type EngineGoal, type EnginePhase } from './engine.ts';
import { Giving } from './giving.ts';
import { Lane } from './lane.ts';
import type { ModelTerms } from './terms.ts';
import type { Part } from './part.ts';
import {
  after,
  FOREVER,
  invariant,
  millis,
  type EngineId,
  type Millis,
  type ModelId,
  type SleepLevel,
  type TicketId,
} from './kinds.ts';
import type { Failure } from './restart.ts';
import type { LevelOrder } from './stage-events.ts';
import type { Swap, Took } from './swap.ts';

export const goalForLevel = (level: SleepLevel): EngineGoal =>
  level === 5 ? { kind: 'off' } : { kind: 'asleep', level };

/** All the stage knows about one model. Only the stage writes it. */
export class Member {
  readonly lane: Lane;
  readonly phases: Map<EngineId, EnginePhase>;
  /** Open leases and the engine each is on. */
  readonly leases = new Map<TicketId, EngineId>();
  /** Those of them that were put away with their engine, and since when. Each waits in line, too. */
  readonly frozen = new Map<TicketId, Millis>();
  readonly costs: Costs;
  readonly demand = new Demand();
  readonly giving = new Giving();
  readonly #inFlight: Map<EngineId, number>;
  readonly #lentAt = new Map<TicketId, Millis>();
  readonly #cut = new Set<TicketId>();
  /** Its engines that were told to be awake and have said nothing since: they are at rest no more. */
  readonly #called = new Set<EngineId>();
  /** Its engines that served until they were told to go. */
  readonly #partingFromService = new Set<EngineId>();
  /** Those that go deeper from their sleep. */
  readonly #deepening = new Set<EngineId>();
  #terms: ModelTerms;
  /** What another config says of it, as far as that has to wait. */
  #coming: ModelTerms | undefined;
  part: Part = { kind: 'out' };
  swap: Swap | undefined;
  /** Since when nobody has been served by it or has waited for it; undefined while somebody is or does. */
  quietSince: Millis | undefined;
  /** Whether others have made room because its start ran out of memory, and who they are. */
  roomAsked = false;
  roomFrom: readonly Member[] = [];
  leftAt: Sight['leftAt'];
  /** Whether it may come in, or did, while others still left. */
  overlap: 'may' | 'does' | 'failed' = 'may';
  /** Operators who wait for it to be gone; while there are any, nobody new is let in line. */
  unloads: TicketId[] = [];
  /** How deep an operator wants it put away; undefined: as the config says. */
  levelSet: SleepLevel | undefined;
  /** An operator has put it away for good: until one loads it again no request does. */
  held = false;
  /** How many engines it comes with. */
  replicas: number;
  /** Its engines are those of an earlier config: they are ended before anybody is served anew. */
  stale = false;
  /** The config has it no more: it is forgotten once it is gone. */
  departs = false;

  constructor(terms: ModelTerms) {
    const { length } = terms.engines;
    invariant(terms.replicas >= 1 && terms.replicas <= length, `${terms.model} has ${length} engines`);
    invariant(terms.targetInflight >= 1, `${terms.model} may serve nothing at a time`);
    this.#terms = terms;
    this.replicas = terms.replicas;
    this.lane = new Lane(terms.maxWaiting, () => this.leastMs);
    this.costs = new Costs(terms.costs);
    this.phases = new Map(terms.engines.map((engine) => [engine, { kind: 'off' }]));
    this.#inFlight = new Map(terms.engines.map((engine) => [engine, 0]));
  }

  /** As it is now: what has to wait until its engines are gone is still what it was. */
  get terms(): ModelTerms {
    return this.#terms;
  }

  get model(): ModelId {
    return this.terms.model;
  }

  /** The config says something else of it. `anew`: other engines. An operator's level stays where it may still be put to it. */
  revise(terms: ModelTerms, anew: boolean): void {
    const { engines, replicas, cost, costEach } = this.#terms;
    if (this.levelSet !== undefined && !mayGoTo(this.levelSet, terms.naps)) this.levelSet = undefined;
    this.#terms = { ...terms, engines, replicas, cost, costEach };
    this.#coming = terms;
    this.stale ||= anew && !this.gone;
    this.lane.resize(terms.maxWaiting);
  }

  /** Takes up what had to wait until it is out; with other engines it is gone then. Gives those that it has no more. */
  renew(): readonly EngineId[] {
    const coming = this.#coming;
    if (coming === undefined || this.part.kind !== 'out' || !this.atRest) return [];
    const { engines, replicas } = this.#terms;
    const dropped = engines.filter((engine) => !coming.engines.includes(engine));
    // One that died in its turn came back with those that it had, and may sleep by now.
    if (dropped.length > 0 && !this.gone) return [];
    this.#coming = undefined;
    this.#terms = coming;
    this.replicas = this.replicas === replicas ? coming.replicas : Math.min(this.replicas, coming.engines.length);
    for (const engine of dropped) {
      this.phases.delete(engine);
      this.#inFlight.delete(engine);
    }
    for (const engine of coming.engines) {
      if (this.phases.has(engine)) continue;
      this.phases.set(engine, { kind: 'off' });
      this.#inFlight.set(engine, 0);
    }
    return dropped;
  }

  /** Those of its engines that come with it. */
  get engines(): readonly EngineId[] {
    return this.terms.engines.slice(0, this.replicas);
  }

  /** What is wanted of its engines when it is put away: those that nobody wants back are ended. */
  awayTo(level: SleepLevel): EngineGoal {
    return this.stale || this.departs ? { kind: 'off' } : goalForLevel(level);
  }

  /** How deep it is put away for others. */
  get sleepLevel(): SleepLevel {
    return this.levelSet ?? this.terms.sleepLevel;
  }

  /** Undefined: nothing was said of it. */
  setLevel(level: LevelOrder | undefined): void {
    if (level !== undefined) this.levelSet = level ?? undefined;
  }

  /** An operator wants it: from now on requests bring it back again. */
  wanted(level: LevelOrder | undefined): void {
    this.held = false;
    this.setLevel(level);
  }

  /** Whether anything is going on: somebody waits, or has a lease that is not settled yet, or it has a part, or an engine of it is not at rest. */
  get stirs(): boolean {
    return this.part.kind !== 'out' || this.lane.length > 0 || this.leases.size > 0 || !this.atRest;
  }

  get atRest(): boolean {
    return this.#called.size === 0 && this.#every(atRest);
  }

  /** With how many engines the next load brings it, as far as the config has so many by now. */
  comeWith(replicas: number): void {
    this.replicas = Math.min(replicas, (this.#coming ?? this.#terms).engines.length);
  }

  /** Whether an engine was told to be awake and has said nothing since. */
  get answering(): boolean {
    return this.#called.size > 0;
  }

  /** How much it takes, or would, of the room that is shared. Those that are kept have room of their own. */
  get cost(): number {
    return this.terms.keep === true ? 0 : this.takes;
  }

  /** The same, were it to come with so many engines. */
  costWith(replicas = this.replicas): number {
    const { keep, cost, costEach } = this.terms;
    if (keep === true) return 0;
    return costEach === undefined ? cost : costEach * replicas;
  }

  /** How much of the budget it takes, or would. */
  get takes(): number {
    const { cost, costEach } = this.terms;
    if (costEach === undefined) return cost;
    let stirring = 0;
    for (const phase of this.phases.values()) if (!atRest(phase)) stirring++;
    return costEach * Math.max(this.replicas, stirring);
  }

  /** Whether its engines are put away as `goal` says: one that sleeps and has just been told to end or to go deeper is not. */
  isAway(goal: EngineGoal): boolean {
    if (this.#called.size > 0) return false;
    return this.#every((phase) => (phase.kind === 'asleep' ? isDone(goal, phase.level) : atRest(phase)));
  }

  /** Whether it has no process at all. */
  get gone(): boolean {
    return this.#called.size === 0 && this.#every((phase) => phase.kind === 'off' || phase.kind === 'failed');
  }

  get awake(): boolean {
    return this.engines.every((engine) => this.phases.get(engine)?.kind === 'awake');
  }

  /** How deep it is away: from where it would have to come back. */
  get depth(): SleepLevel {
    for (const phase of this.phases.values()) if (phase.kind === 'asleep') return phase.level;
    return 5;
  }

  /** The lightest level at which one of its engines sleeps; 5 when none does. */
  get lightest(): SleepLevel {
    let lightest: SleepLevel = 5;
    for (const phase of this.phases.values()) if (phase.kind === 'asleep') lightest = lighterOf(phase.level, lightest);
    return lightest;
  }

  get anyAwake(): boolean {
    for (const phase of this.phases.values()) if (phase.kind === 'awake') return true;
    return false;
  }

  /** Whether somebody who makes room for it is still on the way out. */
  get roomIsComing(): boolean {
    return this.roomFrom.some(({ part }) => part.kind === 'draining' || part.kind === 'leaving');
  }

  /** Whether it takes room now: it is on its way in or out, or something of it is not at rest. */
  get occupies(): boolean {
    const { kind } = this.part;
    return (kind !== 'out' && kind !== 'summoned') || !this.atRest;
  }

  /** When a failed engine may be tried again, if that is still to come. */
  retryAt(now: Millis): { readonly at: Millis; readonly failure: Failure } | undefined {
    let latest: { at: Millis; failure: Failure } | undefined;
    for (const phase of this.phases.values()) {
      if (phase.kind !== 'failed' || phase.retryAt <= now || (latest !== undefined && latest.at >= phase.retryAt))
        continue;
      latest = { at: phase.retryAt, failure: phase.failure };
    }
    return latest;
  }

  /** The awake engine with the fewest requests that may take one more. */
  freeEngine(): EngineId | undefined {
    let best: EngineId | undefined;
    let fewest = this.terms.targetInflight;
    for (const [engine, phase] of this.phases) {
      const inFlight = this.#inFlight.get(engine) ?? 0;
      if (phase.kind === 'awake' && inFlight < fewest) [best, fewest] = [engine, inFlight];
    }
    return best;
  }

  /** One of its engines is in another phase; what the command took that led to it is learned from. */
  engineIn(engine: EngineId, phase: EnginePhase, took: Took | undefined): void {
    const before = this.phases.get(engine);
    invariant(before !== undefined, `${engine} is not an engine of ${this.model}`);
    // From its sleep it is another way than from its service.
    if (took !== undefined && !(phase.kind === 'asleep' && this.#deepening.has(engine)))
      this.costs.moved(before, phase, took, this.#partingFromService.has(engine));
    if (before.kind === 'awake' && phase.kind === 'stopping') this.#partingFromService.add(engine);
    else this.#partingFromService.delete(engine);
    if (before.kind === 'asleep' && phase.kind === 'falling-asleep') this.#deepening.add(engine);
    else this.#deepening.delete(engine);
    this.giving.moved(engine, before, phase);
    this.phases.set(engine, phase);
    this.#called.delete(engine);
    this.stale &&= !this.gone;
  }

  /** Its engines have been told to be awake. Those at rest begin at once, and what they say of it may come after something else. */
  called(atOnce: boolean, now: Millis): void {
    for (const engine of this.engines) {
      const phase = this.phases.get(engine);
      const waits = phase?.kind === 'failed' && !atOnce && phase.retryAt > now;
      if (phase !== undefined && atRest(phase) && !waits) this.#called.add(engine);
    }
  }

  /** Somebody asks for it. */
  arrived(now: Millis): void {
    this.quietSince = undefined;
    this.demand.arrived(now);
  }

  lend(ticket: TicketId, engine: EngineId, now: Millis): void {
    invariant(!this.leases.has(ticket), `ticket ${ticket} has a lease already`);
    this.leases.set(ticket, engine);
    this.#lentAt.set(ticket, now);
    this.#inFlight.set(engine, (this.#inFlight.get(engine) ?? 0) + 1);
    const { part } = this;
    if (part.kind === 'on' && part.idleSince !== undefined) this.part = { ...part, idleSince: undefined };
  }

  /** Those of them that were not ended before. Each lease is ended once, for the first reason, and settled by its holder later. */
  toCut(tickets: readonly TicketId[]): readonly TicketId[] {
    const open = tickets.filter((ticket) => !this.#cut.has(ticket));
    for (const ticket of open) this.#cut.add(ticket);
    return open;
  }

  /** How much longer than usual it takes to put it away with its requests and to bring it back; for ever where that cannot be done. */
  get freezeMs(): number {
    const { freezesAt } = this.terms;
    return freezesAt === undefined ? FOREVER : this.costs.moreMs(freezesAt, this.sleepLevel);
  }

  /** Its open leases that nobody has ended. */
  get uncut(): readonly TicketId[] {
    return [...this.leases.keys()].filter((ticket) => !this.#cut.has(ticket));
  }

  /** It goes on with those that were put away with it. */
  thaw(now: Millis): readonly TicketId[] {
    this.lane.takeFrozen();
    const tickets = [...this.frozen.keys()];
    // What it stood still for is no time of service.
    for (const [ticket, since] of this.frozen)
      this.#lentAt.set(ticket, after(this.#lentAt.get(ticket) ?? now, now - since));
    this.frozen.clear();
    return tickets;
  }

  settle(ticket: TicketId, now: Millis): void {
    const engine = this.leases.get(ticket);
    invariant(engine !== undefined, `lease ${ticket} of ${this.model} is settled twice or was never granted`);
    this.leases.delete(ticket);
    const until = this.frozen.get(ticket) ?? now;
    if (this.frozen.delete(ticket)) this.lane.remove(ticket);
    this.#cut.delete(ticket);
    this.#inFlight.set(engine, (this.#inFlight.get(engine) ?? 0) - 1);
    this.demand.served(until - (this.#lentAt.get(ticket) ?? until));
    this.#lentAt.delete(ticket);
    const { part } = this;
    if (part.kind !== 'on') return;
    this.part = { ...part, served: part.served + 1, idleSince: this.leases.size === 0 ? now : undefined };
  }

  sight(now: Millis): Sight {
    const { lane, part, model, terms, costs, demand, cost } = this;
    const on = part.kind === 'on' ? part : undefined;
    return {
      model,
      part: part.kind,
      cost,
      waiting: lane.length,
      first: lane.first,
      sinceSum: lane.sinceSum,
      inFlight: this.leases.size,
      onSince: on?.since ?? millis(0),
      served: on?.served ?? 0,
      idleSince: on?.idleSince,
      leftAt: this.leftAt,
      comeMs: costs.comeMs(this.level),
      comeBackMs: costs.comeMs(this.sleepLevel),
      goMs: costs.goMs(this.sleepLevel),
      drainMs: Math.min(costs.drainMs, this.freezeMs),
      logWork: demand.logWork - Math.log(terms.targetInflight * terms.engines.length),
      contendedRate: demand.contendedRate(now),
    };
  }

  /** What it takes at least until it is on, as long as it has not begun to come. */
  get leastMs(): number {
    const { kind } = this.part;
    return kind === 'out' || kind === 'summoned' ? atLeast(this.costs.come(this.level)) : 0;
  }

  /** The level it would come back from: the deepest of its engines counts. */
  get level(): SleepLevel {
    let level: SleepLevel = 5;
    for (const phase of this.phases.values()) {
      if (phase.kind !== 'asleep') return 5;
      level = phase.level;
    }
    return level;
  }

  #every(holds: (phase: EnginePhase) => boolean): boolean {
    for (const phase of this.phases.values()) if (!holds(phase)) return false;
    return true;
  }
}

const isDone = (goal: EngineGoal, level: SleepLevel): boolean =>
  goal.kind !== 'off' && (goal.kind === 'awake' || !isDeeper(goal.level, level));
