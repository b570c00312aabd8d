import { Candidates } from './candidates.ts';
import { uncommitted, type Contention, type StageSight } from './cast.ts';
import { doorOf, onlyOperatorsBring, type Shut } from './doors.ts';
import { failureOf, isInstead, retryAtOf, type EngineGoal, type EnginePhase } from './engine.ts';
import type { CutCode, RefusalCode } from './errors.ts';
import { after, invariant, millis, soonest, unreachable, FOREVER } from './kinds.ts';
import type { EngineId, Millis, ModelId, TicketId } from './kinds.ts';
import type { Waiting } from './lane.ts';
import { goalForLevel, Member, type Part } from './member.ts';
import { Batch, rankOf } from './place.ts';
import { stay, type Decision } from './policy/policy.ts';
import type { Failure } from './restart.ts';
import type { LoadTerms, StageEffect, StageEvent, StageOptions, TicketTerms, UnloadTerms } from './stage-events.ts';
import { Steering } from './steering.ts';
import { Swap, type SwapResult, type Took } from './swap.ts';

type Draining = Extract<Part, { readonly kind: 'draining' }>;
type Hope = Pick<Extract<StageEffect, { readonly kind: 'reject' }>, 'retryAt' | 'failure'>;

/**
 * One set of GPUs and the models that share it. Deterministic: the same events give the same effects; there is no clock, promise or I/O here.
 * After every event `#advance` moves everything that can move, in one order: who goes, who comes, who is served, what the policy wants.
 */
export class Stage {
  readonly #options: StageOptions;
  readonly #members: ReadonlyMap<ModelId, Member>;
  /** Those that need a look: everybody else is out, and wanted by nobody or a candidate to which nothing has happened. */
  readonly #stirring = new Set<Member>();
  readonly #candidates = new Candidates();
  /** Who was summoned, in that order. */
  #summoned: Member[] = [];
  #effects: StageEffect[] = [];
  #seq = 0;
  #swaps = 0;
  #lookAgainAt: Millis | undefined;
  readonly #steering = new Steering();
  /** Set once a shutdown was asked for. `left` are those whose engines have not been told to go yet. */
  #closing: { deadline: Millis; cut: boolean; done: boolean; readonly left: Set<Member> } | undefined;

  constructor(options: StageOptions) {
    this.#options = options;
    this.#members = new Map(options.models.map((terms) => [terms.model, new Member(terms)]));
    for (const { model, cost } of options.models) invariant(cost <= options.capacity, `${model} can never fit`);
  }

  get members(): ReadonlyMap<ModelId, Member> {
    return this.#members;
  }

  get mode(): Steering['mode'] {
    return this.#steering.mode;
  }

  /** Why a request for the model would not be let in line now; undefined where it is up to nobody but the queue. */
  barred(model: ModelId): Shut | undefined {
    const member = this.#members.get(model);
    return member === undefined ? undefined : doorOf(member, this.mode);
  }

  get accepting(): boolean {
    return this.#closing === undefined;
  }

  /** Whether a request for this model that came now would be granted at once: nobody is before it, and no swap is due. */
  hasPlaceFor(model: ModelId): boolean {
    const member = this.#members.get(model);
    if (member === undefined || !this.accepting || member.unloads.length > 0 || this.barred(model)) return false;
    return member.part.kind === 'on' && member.lane.length === 0 && member.freeEngine() !== undefined;
  }

  /** When to send `time-passed` if nothing happens before. */
  get dueAt(): Millis | undefined {
    let due = soonest(this.#lookAgainAt, this.#closing?.cut === false ? this.#closing.deadline : undefined);
    due = soonest(due, this.#candidates.dueAt);
    for (const { lane, part } of this.#stirring) {
      due = soonest(due, lane.dueAt);
      if (part.kind === 'draining' && !part.cut) due = soonest(due, part.deadline);
    }
    return due;
  }

  handle(event: StageEvent, now: Millis): readonly StageEffect[] {
    this.#effects = [];
    switch (event.kind) {
      case 'ticket-arrived':
        this.#arrive(event.ticket, 'request', this.#member(event.model), event.terms ?? {}, now);
        break;
      case 'load-asked':
        this.#load(this.#member(event.model), event.order, event, now);
        break;
      case 'ticket-abandoned':
        this.#member(event.model).lane.remove(event.ticket);
        break;
      case 'lease-settled':
        this.#member(event.model).settle(event.ticket, now);
        break;
      case 'engine-moved':
        this.#engineMoved(this.#member(event.model), event.engine, event.phase, event.took, now);
        break;
      case 'unload-asked':
        this.#unload(this.#member(event.model), event.order, event, now);
        break;
      case 'level-set':
        this.#member(event.model).setLevel(event.level);
        break;
      case 'mode-set':
        this.#steering.set(event.mode);
        this.#lookAtAll();
        break;
      case 'shutdown-asked':
        this.#shutDown(after(now, event.withinMs));
        break;
      case 'time-passed':
        break;
      default:
        unreachable(event);
    }
    this.#advance(now);
    return this.#effects;
  }

  #member(model: ModelId): Member {
    const member = this.#members.get(model);
    invariant(member !== undefined, `${model} is not on this stage`);
    this.#stirring.add(member);
    return member;
  }

  // --- what events do

  #arrive(ticket: TicketId, kind: Waiting['kind'], member: Member, asked: TicketTerms, now: Millis): void {
    const { lane, model, terms, part } = member;
    const { priority = 'normal', bound = false, withinMs = terms.patienceMs } = asked;
    const isThere = part.kind === 'on' || part.kind === 'entering' || terms.cost === 0;
    const door = kind === 'request' ? doorOf(member, this.mode) : undefined;
    if (this.#closing !== undefined) this.#reject(ticket, model, 'shutting_down', 'catnap is shutting down');
    else if (member.unloads.length > 0) this.#reject(ticket, model, 'model_unloading', `${model} is being unloaded`);
    else if (door !== undefined) this.#reject(ticket, model, door.code, door.reason);
    else if (lane.full) this.#reject(ticket, model, 'lane_full', `${lane.length} requests already wait for ${model}`);
    else if (bound && !isThere) this.#refuseBound(ticket, model);
    else {
      const patienceMs = kind === 'load' ? FOREVER : Math.min(withinMs, terms.patienceMs);
      const rank = rankOf(now, priority, this.#options.priorityStepMs);
      lane.push({ ticket, kind, rank, seq: this.#seq++, since: now, patienceMs, bound }, now);
      member.demand.arrived(now);
    }
  }

  #engineMoved(member: Member, engine: EngineId, phase: EnginePhase, took: Took | undefined, now: Millis): void {
    const before = member.phases.get(engine);
    invariant(before !== undefined, `${engine} is not an engine of ${member.model}`);
    member.engineIn(engine, phase, took);
    if (took !== undefined) {
      if (phase.kind === 'awake') member.swap?.woke(took, now);
      else if (member.part.kind === 'leaving') member.part.for?.putAway(member.model, took, now);
    }
    if (isInstead(phase) && member.part.kind === 'leaving') member.part.for?.stumble();
    const failure = failureOf(phase);
    // That it is still being cleared away is no new failure.
    if (failure === undefined || failureOf(before) !== undefined) return;
    (member.part.kind === 'leaving' ? member.part.for : member.swap)?.stumble();
    if (before.kind === 'awake') {
      const lost = [...member.leases].filter(([, on]) => on === engine).map(([ticket]) => ticket);
      this.#cut(member, lost, 'engine_died', failure.reason);
    }
    const { kind } = member.part;
    if (kind !== 'entering' && kind !== 'on' && kind !== 'draining') return;
    // A replica that keeps dying beside one that serves is left to its own retries.
    if (failure.giveUp && (kind === 'entering' || !member.anyAwake))
      this.#giveUp(member, failure, retryAtOf(phase), now);
    else if (kind === 'on' && !member.anyAwake) {
      // It died in the middle of its turn. Those who wait for it keep their turn; if nobody does, it is not brought back.
      if (member.lane.length > 0 && !onlyOperatorsBring(member)) this.#enter(member, now);
      else this.#sendOff(member, { kind: 'off' }, now);
    }
  }

  /** Nobody is kept waiting for an engine that will not come, and its own retry must not bring it back beside another. */
  #giveUp(member: Member, failure: Failure, retryAt: Millis | undefined, now: Millis): void {
    this.#rejectAll(member, 'engine_failed', failure.reason, { retryAt, failure });
    this.#finishSwap(member, 'failed', now);
    this.#sendOff(member, { kind: 'off' }, now);
  }

  /** An operator's wish waits its turn as a request does. Whoever else waits for a model that he brings in comes along. */
  #load(member: Member, order: TicketId, { as, fresh, replicas }: LoadTerms, now: Millis): void {
    const { part, lane } = member;
    const before = lane.length;
    this.#arrive(order, 'load', member, { withinMs: FOREVER }, now);
    if (lane.length === before) return;
    member.held = false;
    if (as === 'pin' || (as === 'switch' && this.mode.kind === 'manual')) {
      this.#steering.pin(order, member.model);
      this.#lookAtAll();
    }
    if (part.kind !== 'out' && part.kind !== 'leaving') return;
    member.replicas = replicas ?? member.replicas;
    if (fresh && !member.gone) this.#sendOff(member, { kind: 'off' }, now);
  }

  /** Who waits may have to be told of another mode. */
  #lookAtAll(): void {
    for (const member of this.#candidates) this.#stirring.add(member);
  }

  #unload(member: Member, order: TicketId, { level, hold }: UnloadTerms, now: Millis): void {
    const goal = goalForLevel(level);
    member.unloads.push(order);
    member.held ||= hold;
    this.#rejectAll(member, 'model_unloading', `${member.model} is being unloaded`);
    const { part } = member;
    switch (part.kind) {
      case 'summoned':
        this.#withdraw(member, now);
        this.#sendOff(member, goal, now);
        return;
      case 'on':
        this.#drain(member, part, { goal, for: undefined, batch: Batch.none, now });
        return;
      case 'draining':
        member.part = { ...part, batch: Batch.none, goal };
        return;
      case 'entering':
        this.#finishSwap(member, 'failed', now);
        this.#sendOff(member, goal, now);
        return;
      case 'out':
      case 'leaving':
        this.#sendOff(member, goal, now, true);
        return;
      default:
        unreachable(part);
    }
  }

  #shutDown(deadline: Millis): void {
    this.#closing ??= { deadline, cut: false, done: false, left: new Set(this.#members.values()) };
    // Asked again, it can only become more urgent.
    this.#closing.deadline = millis(Math.min(this.#closing.deadline, deadline));
    for (const member of this.#candidates) this.#stirring.add(member);
    for (const member of this.#members.values()) {
      for (const load of member.lane.takeLoads())
        this.#reject(load.ticket, member.model, 'shutting_down', 'catnap is shutting down');
    }
  }

  // --- moving forward

  /** The only place that moves the stage. Each round lets go, lets in, serves and then asks the policy, until it wants no more. */
  #advance(now: Millis): void {
    for (let rounds = 0; ; rounds++) {
      invariant(rounds <= 3 * this.#members.size + 3, 'the stage does not come to rest');
      for (const member of this.#candidates.overdue(now)) this.#stirring.add(member);
      for (const member of this.#stirring) this.#expire(member, now);
      for (const member of this.#stirring) this.#letGo(member, now);
      this.#close(now);
      // Who stays after all serves on when the policy has been asked: somebody else may have been waiting for longer.
      const asksFirst = this.#letStay(now);
      this.#letIn(now);
      if (!asksFirst) for (const member of this.#stirring) this.#goOn(member, now);
      if (!this.#decide(now) && !asksFirst) break;
    }
    for (const member of this.#stirring) {
      member.demand.contended(now, this.#isContended(member));
      if (!member.stirs || this.#candidates.has(member)) this.#stirring.delete(member);
    }
  }

  /** Whether others want its place. */
  #isContended({ part }: Member): boolean {
    if (part.kind === 'on') return this.#candidates.size > 0;
    return (part.kind === 'draining' || part.kind === 'leaving') && part.for !== undefined;
  }

  #expire(member: Member, now: Millis): void {
    for (const { ticket, since } of member.lane.takeExpired(now)) {
      const waited = `${member.model} did not get a turn within ${Math.round((now - since) / 1000)} s`;
      this.#reject(ticket, member.model, 'wait_timeout', `${waited}: ${this.#hindrance(member)}`);
    }
  }

  /** Who stands in the way, in words. */
  #hindrance(member: Member): string {
    if (member.part.kind === 'on' || member.part.kind === 'draining') return 'it is busy with earlier requests';
    const others = [...this.#stirring].filter((other) => other !== member && other.occupies);
    return others.map((other) => `${other.model} is ${other.part.kind}`).join(', ') || 'others were before it';
  }

  /** Withdraws who is no longer wanted, sends off who has drained, and notes who has gone. */
  #letGo(member: Member, now: Millis): void {
    if (member.part.kind === 'summoned' && member.lane.length === 0) this.#withdraw(member, now);
    if (member.part.kind === 'draining') this.#drainOn(member, member.part, now);
    const { part } = member;
    if (part.kind === 'leaving' && member.isAway(part.goal) && member.leases.size === 0) member.part = { kind: 'out' };
    this.#shutDoor(member);
    if (member.part.kind !== 'out') return;
    // In the pause after a failure whoever waits is told at once; whoever comes after it tries again.
    const failed = member.lane.length > 0 && !member.lane.hasLoad ? member.retryAt(now) : undefined;
    if (failed !== undefined)
      this.#rejectAll(member, 'engine_failed', failed.failure.reason, { retryAt: failed.at, failure: failed.failure });
    if (member.unloads.length > 0) this.#unloaded(member);
  }

  /** Those who asked for it are told. A failure that they have seen is over. */
  #unloaded(member: Member): void {
    if (member.gone) member.replicas = member.terms.replicas;
    for (const [engine, { kind }] of member.phases) {
      if (kind === 'failed') this.#effects.push({ kind: 'set-goal', engine, goal: { kind: 'off' }, atOnce: true });
    }
    for (const order of member.unloads.splice(0)) this.#done(order, member);
  }

  /** Nobody waits for a model that only an operator would bring back. */
  #shutDoor(member: Member): void {
    const { part, lane } = member;
    if ((part.kind !== 'out' && part.kind !== 'leaving') || lane.length === 0 || lane.hasLoad) return;
    const door = doorOf(member, this.mode);
    if (door !== undefined) this.#rejectAll(member, door.code, door.reason);
  }

  /** Serves the rest of its batch. It goes once its last lease is settled, or when it has nothing left to serve with. */
  #drainOn(member: Member, was: Draining, now: Millis): void {
    const part = !was.cut && now >= was.deadline ? this.#cutDrain(member, was) : was;
    if (member.anyAwake) this.#serve(member, part.batch, now);
    if (member.leases.size === 0 || !member.anyAwake) this.#sendOff(member, part.goal, now);
  }

  /** Those who make room for a swap that was withdrawn stay, unless others count on their room by now. True when somebody does. */
  #letStay(now: Millis): boolean {
    let stays = false;
    for (const member of this.#stirring) {
      const { part, unloads, terms } = member;
      if (part.kind !== 'draining' || part.for?.withdrawn !== true || part.cut || unloads.length > 0) continue;
      if (terms.cost > this.#room) continue;
      member.part = { ...part.was, idleSince: member.leases.size > 0 ? undefined : (part.was.idleSince ?? now) };
      stays = true;
    }
    return stays;
  }

  /** Opens the door to the summoned for whom there is room now, in the order in which they were called. */
  #letIn(now: Millis): void {
    if (this.#summoned.length === 0) return;
    let room = this.#options.capacity;
    for (const member of this.#stirring) if (member.occupies) room -= member.terms.cost;
    for (const member of [...this.#summoned]) {
      // Sleepers that are being ended are counted beyond the budget, which is nothing to those who need no room.
      if (member.terms.cost > Math.max(0, room) || !member.atRest) continue;
      room -= member.terms.cost;
      this.#summoned = this.#summoned.filter((other) => other !== member);
      this.#enter(member, now);
    }
  }

  /** Begins the turn of a model whose engines are awake, and serves whoever waits for one that is on. */
  #goOn(member: Member, now: Millis): void {
    if (member.part.kind === 'entering' && member.awake) {
      member.lane.resume(now);
      member.part = { kind: 'on', since: now, from: this.#seq, served: 0, idleSince: now };
      this.#finishSwap(member, 'done', now);
    }
    if (member.part.kind === 'on') this.#serve(member, Batch.all, now);
  }

  /** Answers those of a batch, in their order, as long as an engine may take one more. */
  #serve(member: Member, batch: Batch, now: Millis): void {
    const { lane, model } = member;
    for (;;) {
      const first = lane.firstOf(batch);
      const engine = member.freeEngine();
      if (first === undefined || (first.kind === 'request' && engine === undefined)) return;
      const next = lane.take(batch, now);
      if (next === undefined) return;
      if (next.kind === 'load' || engine === undefined) {
        this.#done(next.ticket, member);
        continue;
      }
      member.lend(next.ticket, engine, now);
      const waited = { waitedMs: now - next.since, enteringMs: next.pausedMs };
      this.#effects.push({ kind: 'grant', ticket: next.ticket, model, engine, ...waited });
    }
  }

  /** Asks the policy once; true when it changed something. */
  #decide(now: Millis): boolean {
    for (const member of this.#stirring) this.#candidates.update(member, now);
    const decision = this.#ask(now);
    this.#lookAgainAt = decision.kind === 'look-again' ? decision.at : undefined;
    if (decision.kind !== 'swap') return false;
    const member = this.#member(decision.to);
    const first = member.lane.first;
    invariant(member.part.kind === 'out' && first !== undefined, `${decision.to} cannot be summoned`);
    member.part = { kind: 'summoned' };
    member.swap = new Swap(++this.#swaps, member.model, decision.evict, now);
    this.#summoned.push(member);
    for (const model of decision.evict) {
      const leaver = this.#member(model);
      const { part } = leaver;
      invariant(part.kind === 'on', `${model} cannot be sent off while ${part.kind}`);
      const waitsForSome = this.#options.drains && decision.batch === 'earlier';
      const batch = waitsForSome ? Batch.endingBefore(first, part.from, this.#seq) : Batch.none;
      this.#drain(leaver, part, { goal: goalForLevel(leaver.sleepLevel), for: member.swap, batch, now });
    }
    invariant(this.#room >= 0, `${decision.to} was summoned beyond the budget`);
    const { id, to, from } = member.swap;
    this.#effects.push({
      kind: 'tell',
      fact: { kind: 'swap-planned', swap: id, to, from, level: member.depth, waiting: member.lane.length },
    });
    return true;
  }

  #ask(now: Millis): Decision {
    const { free, size } = this.#candidates;
    if (size === 0) return stay;
    // Whoever needs no room stands in nobody's way, and nobody in theirs.
    return free === undefined
      ? this.#options.policy(this.#sight(now))
      : { kind: 'swap', to: free, evict: [], batch: 'none' };
  }

  /** Shutting down: once nobody waits or is served, or the time is up, everything is put off. */
  #close(now: Millis): void {
    const closing = this.#closing;
    if (closing === undefined || closing.done) return;
    if (!closing.cut) {
      const isBusy = ({ lane, leases }: Member): boolean => lane.length > 0 || leases.size > 0;
      const busy = [...this.#stirring].some(isBusy) || [...this.#candidates].some(isBusy);
      if (busy && now < closing.deadline) return;
      closing.cut = true;
      for (const member of this.#members.values()) this.#curtain(member, now);
    }
    for (const member of closing.left) {
      if (member.leases.size > 0) continue;
      closing.left.delete(member);
      if (member.part.kind === 'out' && member.gone) continue;
      this.#finishSwap(member, 'failed', now);
      this.#sendOff(member, { kind: 'off' }, now);
      this.#stirring.add(member);
      this.#letGo(member, now);
    }
    closing.done = closing.left.size === 0 && [...this.#members.values()].every((member) => member.gone);
    if (closing.done) this.#effects.push({ kind: 'closed' });
  }

  #curtain(member: Member, now: Millis): void {
    if (member.lane.length > 0) this.#stirring.add(member);
    this.#rejectAll(member, 'shutting_down', 'catnap is shutting down');
    this.#cut(member, [...member.leases.keys()], 'shutting_down', 'catnap is shutting down');
    if (member.part.kind === 'summoned') this.#withdraw(member, now);
  }

  // --- changes of part

  #enter(member: Member, now: Millis): void {
    const level = member.depth;
    const atOnce = member.lane.hasLoad && member.retryAt(now) !== undefined;
    member.part = { kind: 'entering' };
    member.lane.pause(now);
    for (const engine of member.engines) {
      this.#effects.push({ kind: 'set-goal', engine, goal: { kind: 'awake' }, atOnce });
    }
    member.swap?.entering(level, now);
  }

  #drain(
    member: Member,
    was: Extract<Part, { readonly kind: 'on' }>,
    how: { readonly goal: EngineGoal; readonly for: Swap | undefined; readonly batch: Batch; readonly now: Millis },
  ): void {
    const { goal, batch, now: since } = how;
    const deadline = after(since, this.#options.drainMs);
    const wasBusy = member.leases.size > 0;
    const part = { kind: 'draining', was, batch, since, deadline, wasBusy, cut: false, for: how.for, goal } as const;
    member.part = part;
    if (!this.#options.drains) this.#cutDrain(member, part);
  }

  #cutDrain(member: Member, was: Draining): Draining {
    const part = { ...was, cut: true, batch: Batch.none };
    member.part = part;
    this.#cut(member, [...member.leases.keys()], 'drained', `${member.model} had to make room`);
    return part;
  }

  #sendOff(member: Member, goal: EngineGoal, now: Millis, atOnce = false): void {
    const { part } = member;
    const swap = part.kind === 'draining' || part.kind === 'leaving' ? part.for : undefined;
    if (part.kind === 'draining') swap?.drained(member.model, now);
    if (part.kind === 'draining' && part.wasBusy) member.costs.drained(now - part.since);
    // Who waits for a model that only operators bring is told by its door what has become of it.
    if (!onlyOperatorsBring(member) || member.lane.hasLoad)
      for (const { ticket } of member.lane.takeBound()) this.#refuseBound(ticket, member.model);
    member.lane.resume(now);
    member.part = { kind: 'leaving', for: swap, goal };
    for (const engine of member.phases.keys()) this.#effects.push({ kind: 'set-goal', engine, goal, atOnce });
  }

  /** It is no longer wanted and has not begun to come. */
  #withdraw(member: Member, now: Millis): void {
    this.#summoned = this.#summoned.filter((other) => other !== member);
    member.part = { kind: 'out' };
    this.#finishSwap(member, 'withdrawn', now);
  }

  #finishSwap(member: Member, result: SwapResult, now: Millis): void {
    const { swap } = member;
    if (swap === undefined) return;
    member.swap = undefined;
    this.#effects.push({ kind: 'tell', fact: { kind: 'swap-finished', record: swap.finish(result, now) } });
  }

  // --- answers

  #reject(ticket: TicketId, model: ModelId, code: RefusalCode, reason: string, more?: Hope): void {
    this.#effects.push({ kind: 'reject', ticket, model, code, reason, ...more });
    this.#steering.failed(ticket);
  }

  #done(order: TicketId, { model }: Member): void {
    this.#steering.done(order);
    this.#effects.push({ kind: 'order-done', order, model });
  }

  #refuseBound(ticket: TicketId, model: ModelId): void {
    this.#reject(ticket, model, 'model_not_loaded', `${model} is not awake, and nobody is put away for this request`);
  }

  #rejectAll(member: Member, code: RefusalCode, reason: string, more?: Hope): void {
    for (const { ticket } of member.lane.takeAll()) this.#reject(ticket, member.model, code, reason, more);
  }

  #cut(member: Member, tickets: readonly TicketId[], code: CutCode, reason: string): void {
    if (tickets.length === 0) return;
    this.#effects.push({ kind: 'cut', tickets, model: member.model, code, reason });
    this.#effects.push({
      kind: 'tell',
      fact: { kind: 'leases-cut', model: member.model, count: tickets.length, code },
    });
  }

  #sight(now: Millis): StageSight {
    const { capacity, minActiveMs, drains, drainMs } = this.#options;
    const candidates = this.#candidates;
    const cast = [];
    for (const member of this.#stirring) if (!candidates.has(member)) cast.push(member.sight(now));
    // Not every policy asks for what all candidates want together.
    const contention = (): Contention => candidates.contention;
    return { now, capacity, cast, candidates: candidates.sights, contention, minActiveMs, drains, drainMs };
  }

  /** Room that is neither taken nor promised. */
  get #room(): number {
    const cast = Array.from(this.#stirring, ({ part, terms }) => ({ part: part.kind, cost: terms.cost }));
    return uncommitted({ capacity: this.#options.capacity, cast });
  }
}
