import { Candidates } from './candidates.ts';
import { sharedRoom } from './cast.ts';
import { Closing } from './closing.ts';
import { Demotions } from './demotion.ts';
import { comesBack, doorOf, type Shut } from './doors.ts';
import { Entrance, type Leavers } from './entrance.ts';
import { isStill, settleIn, Standstill, takenOver } from './handover.ts';
import { Homing } from './homing.ts';
import { after, invariant, soonest, unreachable, FOREVER } from './kinds.ts';
import type { Millis, ModelId, TicketId } from './kinds.ts';
import type { Waiting } from './lane.ts';
import { Member } from './member.ts';
import { Moves } from './moves.ts';
import { Orders } from './orders.ts';
import { Patience } from './patience.ts';
import { Batch, rankOf } from './place.ts';
import { stay, type Decision } from './policy/policy.ts';
import { Replies } from './replies.ts';
import { noLonger, Revision } from './revision.ts';
import { Sights } from './sights.ts';
import type { LoadTerms, RevisedTerms, StageEffect, StageEvent, StageOptions, TicketTerms } from './stage-events.ts';
import type { Mode } from './steering.ts';
import { Turns, type Draining } from './turns.ts';

type HandedOver = Extract<StageEvent, { readonly kind: 'handed-over' }>;

/**
 * One set of GPUs and the models that share it. Deterministic: the same events give the same effects; there is no clock, promise or I/O here.
 * After every event `#advance` moves everything that can move, in one order: who goes, who comes, who is served, what the policy wants.
 */
export class Stage {
  #options: StageOptions;
  #members: Map<ModelId, Member>;
  /** Those that need a look: everybody else is out, and wanted by nobody or a candidate to which nothing has happened. */
  readonly #stirring = new Set<Member>();
  readonly #candidates = new Candidates();
  readonly #sights = new Sights(this.#stirring, this.#candidates);
  readonly #replies = new Replies();
  readonly #turns: Turns;
  readonly #orders: Orders;
  readonly #moves: Moves;
  readonly #revision: Revision;
  readonly #demotions: Demotions;
  readonly #entrance: Entrance;
  readonly #patience: Patience;
  /** The budget without what is set aside. */
  #shared: number;
  readonly #homing = new Homing();
  #seq = 0;
  #lookAgainAt: Millis | undefined;
  #closing: Closing | undefined;
  readonly #standstill: Standstill;

  constructor(options: StageOptions) {
    this.#options = options;
    this.#turns = new Turns(options, this, this.#stirring, this.#replies);
    this.#orders = new Orders(this.#turns, this.#replies);
    this.#moves = new Moves(this, this.#stirring, this.#turns, this.#replies);
    this.#revision = new Revision(this.#turns, this.#orders, this.#replies);
    this.#members = new Map(options.models.map((terms) => [terms.model, new Member(terms)]));
    this.#shared = sharedRoom(options);
    this.#standstill = new Standstill(this.#turns, this.#replies);
    this.#demotions = new Demotions(this, this.#stirring, this.#candidates, this.#turns);
    this.#entrance = new Entrance(this.#stirring, this.#turns, this.#replies);
    this.#patience = new Patience(this.#stirring, this.#turns, this.#replies);
  }

  get members(): ReadonlyMap<ModelId, Member> {
    return this.#members;
  }

  get mode(): Mode {
    return this.#replies.steering.mode;
  }

  /** Why a request for the model would not be let in line now; undefined where it is up to nobody but the queue. */
  barred(model: ModelId): Shut | undefined {
    const member = this.#members.get(model);
    return member === undefined ? undefined : doorOf(member, this.mode);
  }

  get accepting(): boolean {
    return this.#closing === undefined && !this.#standstill.hasLetGo;
  }

  /** Whether anything may begin for which nobody waits. */
  get begins(): boolean {
    return this.accepting && !this.#standstill.isAsked;
  }

  /** Whether no engine is on its way anywhere, and none will be until it is told to go on. */
  get isStill(): boolean {
    return this.#standstill.stands && [...this.#members.values()].every(isStill);
  }

  /** Whether a request for this model that came now would be granted at once: nobody is before it, and no swap is due. */
  hasPlaceFor(model: ModelId): boolean {
    const member = this.#members.get(model);
    if (member === undefined || !this.accepting || member.unloads.length > 0 || this.barred(model)) return false;
    return (
      !this.#isDue(member) && member.part.kind === 'on' && member.lane.length === 0 && member.freeEngine() !== undefined
    );
  }

  /** Whose memory is worth a look; undefined: nobody waits for theirs. */
  get leavers(): Leavers | undefined {
    return this.#entrance.leavers(this.#options.overlap);
  }

  /** When to send `time-passed` if nothing happens before. */
  get dueAt(): Millis | undefined {
    if (this.#standstill.hasLetGo) return undefined;
    let due = soonest(soonest(this.#lookAgainAt, this.#closing?.dueAt), this.#candidates.dueAt);
    for (const { lane, part } of this.#stirring) {
      due = soonest(due, lane.dueAt);
      if (part.kind === 'draining' && !part.cut) due = soonest(due, part.deadline);
    }
    return soonest(due, this.#demotions.dueAt);
  }

  handle(event: StageEvent, now: Millis): readonly StageEffect[] {
    this.#replies.begin();
    if (this.#standstill.takes(event, this.#members, now)) return this.#replies.effects;
    switch (event.kind) {
      case 'ticket-arrived':
        this.#ask(event.model, event.ticket, (to) => this.#arrive(event.ticket, 'request', to, event.terms ?? {}, now));
        break;
      case 'load-asked':
        this.#ask(event.model, event.order, (member) => this.#load(member, event.order, event, now));
        break;
      case 'ticket-abandoned':
        this.#find(event.model)?.lane.remove(event.ticket);
        break;
      case 'lease-settled':
        this.#member(event.model).settle(event.ticket, now);
        break;
      case 'engine-moved':
        this.#moves.moved(this.#find(event.model), event, now);
        break;
      case 'unload-asked':
        this.#orders.unload(this.#find(event.model), event, now);
        break;
      case 'memory-read':
        this.#entrance.note(event.reading);
        break;
      case 'level-set':
        this.#find(event.model)?.setLevel(event.level);
        break;
      case 'mode-set':
        this.#replies.steering.set(event.mode);
        this.#lookAtAll();
        break;
      case 'models-set':
        if (this.#closing === undefined) this.#revise(event, now);
        break;
      case 'shutdown-asked':
        this.#shutDown(after(now, event.withinMs));
        break;
      case 'standstill-over':
        this.#lookAtAll();
        break;
      case 'handed-over':
        this.#takeOver(event, now);
        break;
      case 'standstill-asked':
      case 'let-go':
      case 'time-passed':
        break;
      default:
        unreachable(event);
    }
    this.#advance(now);
    return this.#replies.effects;
  }

  #member(model: ModelId): Member {
    const member = this.#find(model);
    invariant(member !== undefined, `${model} is not on this stage`);
    return member;
  }

  /** Undefined for one that the config has had no more for so long that it is gone. */
  #find(model: ModelId): Member | undefined {
    const member = this.#members.get(model);
    if (member !== undefined) this.#stirring.add(member);
    return member;
  }

  // --- what events do

  /** Somebody wants a model, which the config may have no more by now. */
  #ask(model: ModelId, ticket: TicketId, then: (member: Member) => void): void {
    const member = this.#find(model);
    if (member === undefined || member.departs) this.#replies.reject(ticket, model, 'model_not_found', noLonger(model));
    else then(member);
  }

  #arrive(ticket: TicketId, kind: Waiting['kind'], member: Member, asked: TicketTerms, now: Millis): void {
    const { lane, model, terms, part, cost } = member;
    const { priority = 'normal', bound = false, withinMs, place } = asked;
    const isThere = part.kind === 'on' || part.kind === 'entering' || cost === 0;
    const door = kind === 'request' ? doorOf(member, this.mode) : undefined;
    if (this.#closing !== undefined) this.#replies.reject(ticket, model, 'shutting_down', 'catnap is shutting down');
    else if (member.unloads.length > 0)
      this.#replies.reject(ticket, model, 'model_unloading', `${model} is being unloaded`);
    else if (door !== undefined) this.#replies.reject(ticket, model, door.code, door.reason);
    // Whoever comes back was let in before, and is one of few.
    else if (lane.full && place === undefined)
      this.#replies.reject(ticket, model, 'lane_full', `${lane.length} requests already wait for ${model}`);
    else if (bound && !isThere) this.#replies.refuseBound(ticket, model);
    else {
      const patienceMs = kind === 'load' ? FOREVER : terms.patienceMs;
      const { rank, seq } = place ?? { rank: rankOf(now, priority, this.#options.priorityStepMs), seq: this.#seq++ };
      lane.push({ ticket, kind, rank, seq, since: now, patienceMs, withinMs, bound }, now);
      if (place !== undefined) return;
      member.arrived(now);
      if (part.kind !== 'on' || bound || !(kind === 'load' ? member.stale : this.#isDue(member))) return;
      // Its engines are of an earlier config. Those who came before are served by them, and nobody after that.
      const batch = Batch.endingBefore({ rank, seq }, seq, seq);
      this.#turns.drain(member, part, { goal: member.awayTo(5), for: undefined, batch, now });
    }
  }

  /** An operator's wish waits its turn as a request does. Whoever else waits for a model that he brings in comes along. */
  #load(member: Member, order: TicketId, { as, fresh, replicas, evicts, setsLevel }: LoadTerms, now: Millis): void {
    const { part, lane } = member;
    const before = lane.length;
    const fits =
      member.costWith(replicas) <= this.#sights.room(this.#shared) && !this.#candidates.wantRoomBeside(member);
    const bound = evicts === false && part.kind !== 'summoned' && !(part.kind === 'out' && fits);
    this.#arrive(order, 'load', member, { bound }, now);
    if (lane.length === before) return;
    member.wanted(setsLevel);
    if (as === 'pin' || (as === 'switch' && this.mode.kind === 'manual')) {
      this.#replies.steering.pin(order, member.model);
      this.#lookAtAll();
    }
    if (part.kind !== 'out' && part.kind !== 'leaving') return;
    if (replicas !== undefined) member.comeWith(replicas);
    if (fresh && !member.gone) this.#turns.sendOff(member, { kind: 'off' }, now);
  }

  /** Who waits may have to be told of another mode. */
  #lookAtAll(): void {
    for (const member of this.#candidates) this.#stirring.add(member);
  }

  #revise(terms: RevisedTerms, now: Millis): void {
    this.#options = { ...terms.options, capacity: this.#options.capacity };
    this.#turns.revise(terms.options);
    this.#members = this.#revision.apply(this.#members, terms, now);
    for (const member of this.#members.values()) this.#stirring.add(member);
    this.#shared = sharedRoom(this.#options);
  }

  #takeOver({ mode, models, anew }: HandedOver, now: Millis): void {
    invariant(this.#stirring.size === 0 && this.#seq === 0, 'a stage takes over that has begun');
    this.#replies.steering.takeOver(mode);
    const handed = new Map(models.map((one) => [one.terms.model, takenOver(one, now)]));
    this.#members = this.#revision.apply(handed, { options: this.#options, anew }, now);
    for (const member of this.#members.values()) this.#stirring.add(member);
    settleIn(this.#members.values(), models, { room: this.#shared, turns: this.#turns, replies: this.#replies }, now);
  }

  /** Whether it is to start anew before the next request is served. */
  #isDue(member: Member): boolean {
    return member.stale && comesBack(member, this.mode);
  }

  #shutDown(deadline: Millis): void {
    this.#closing ??= new Closing(new Set(this.#members.values()), deadline, this.#turns, this.#replies);
    this.#closing.hasten(deadline);
    for (const member of this.#candidates) this.#stirring.add(member);
  }

  // --- moving forward

  /** The only place that moves the stage. Each round lets go, lets in, serves and then asks the policy, until it wants no more. */
  #advance(now: Millis): void {
    this.#standstill.begin(this.#members, now);
    for (let rounds = 0; ; rounds++) {
      invariant(rounds <= 3 * this.#members.size + 3, 'the stage does not come to rest');
      for (const member of this.#candidates.overdue(now)) this.#stirring.add(member);
      for (const member of this.#stirring) this.#patience.expire(member, now);
      for (const member of this.#stirring) this.#turns.letDrop(member, () => this.#sights.anyoneWaits, now);
      // Who stays after all serves on when the policy has been asked: somebody else may have been waiting for longer.
      const asksFirst = this.#letStay(now);
      for (const member of this.#stirring) this.#letGo(member, now);
      this.#turns.keepHostMemory(now);
      this.#close(now);
      if (!this.#standstill.stands) this.#entrance.letIn(this.#shared, this.#options.overlap, now);
      if (!asksFirst) for (const member of this.#stirring) this.#goOn(member, now);
      const hasStood = this.#standstill.begin(this.#members, now);
      for (const member of this.#stirring) this.#candidates.update(member, now);
      this.#demotions.advance(now);
      for (const member of this.#stirring) this.#candidates.update(member, now);
      if (!this.#decide(now) && !asksFirst && !hasStood) break;
    }
    for (const member of this.#stirring) {
      this.#demotions.note(member, now);
      member.demand.contended(now, this.#candidates.wantPlaceOf(member));
      if (!member.stirs || this.#candidates.has(member)) this.#stirring.delete(member);
    }
  }

  /** Sends off who has drained, and notes who has gone. */
  #letGo(member: Member, now: Millis): void {
    if (member.part.kind === 'draining') this.#drainOn(member, member.part, now);
    // Only now it is known from where it has to come back.
    if (this.#turns.goOut(member)) this.#patience.expire(member, now);
    this.#revision.renew(member);
    this.#replies.shutDoor(member);
    if (member.part.kind !== 'out') return;
    this.#replies.tellOfFailure(member, now);
    if (member.unloads.length > 0) this.#orders.unloaded(member);
    if (!this.accepting || !this.#revision.forget(member)) return;
    this.#members.delete(member.model);
    this.#candidates.update(member, now);
    this.#stirring.delete(member);
  }

  /** Serves the rest of its batch. It goes once its last lease is settled, or when it has nothing left to serve with. */
  #drainOn(member: Member, was: Draining, now: Millis): void {
    const part = !was.cut && now >= was.deadline ? this.#turns.cutDrain(member, was) : was;
    if (member.anyAwake) this.#turns.serve(member, part.batch, now);
    if (member.leases.size === 0 || !member.anyAwake) this.#turns.sendOff(member, part.goal, now);
  }

  /** Those who make room for a swap that was withdrawn stay, unless others count on their room by now. True when somebody does. */
  #letStay(now: Millis): boolean {
    let stays = false;
    for (const member of this.#stirring) {
      const { part, unloads, cost } = member;
      if (part.kind !== 'draining' || part.for?.withdrawn !== true || unloads.length > 0) continue;
      if (cost > this.#sights.room(this.#shared) || member.departs || member.stale || !member.anyAwake) continue;
      this.#turns.stay(member, part, now);
      stays = true;
    }
    return stays;
  }

  /** Begins the turn of a model whose engines are awake, and serves whoever waits for one that is on. */
  #goOn(member: Member, now: Millis): void {
    if (member.part.kind === 'entering' && member.awake) this.#turns.begin(member, this.#seq, now);
    if (member.part.kind === 'on') this.#turns.serve(member, Batch.all, now);
  }

  /** Asks the policy once; true when it changed something. */
  #decide(now: Millis): boolean {
    const decision = this.#choose(now);
    this.#lookAgainAt = decision.kind === 'look-again' ? decision.at : undefined;
    if (decision.kind !== 'swap') return false;
    const member = this.#member(decision.to);
    const leavers = decision.evict.map((model) => this.#member(model));
    if (this.#patience.refuseLate(member, leavers, now)) return true;
    const first = member.lane.first;
    invariant(member.part.kind === 'out', `${decision.to} cannot be summoned`);
    const swap = this.#turns.summon(member, decision.evict, now);
    for (const leaver of leavers) {
      const { part, model } = leaver;
      invariant(part.kind === 'on', `${model} cannot be sent off while ${part.kind}`);
      const mayFreeze = comesBack(leaver, this.mode) && !this.#standstill.isAsked;
      if (mayFreeze && this.#turns.freeze(leaver, swap, () => this.#seq++, now)) continue;
      const waitsForSome = this.#options.drains && decision.batch === 'earlier';
      const batch = waitsForSome && first !== undefined ? Batch.endingBefore(first, part.from, this.#seq) : Batch.none;
      this.#turns.drain(leaver, part, { goal: leaver.awayTo(leaver.sleepLevel), for: swap, batch, now });
    }
    invariant(this.#sights.room(this.#shared) >= 0, `${decision.to} was summoned beyond the budget`);
    return true;
  }

  #goHome(now: Millis): Decision {
    const { mode, begins } = this;
    const scene = { target: this.#options.idleTarget, members: this.#members, mode, begins, now };
    return this.#homing.ask(scene, this.#stirring, () =>
      this.#sights.of({ ...this.#options, capacity: this.#shared }, now),
    );
  }

  #choose(now: Millis): Decision {
    const { free, size } = this.#candidates;
    if (size === 0) return this.accepting ? this.#goHome(now) : stay;
    this.#homing.disturb();
    if (this.#standstill.stands) return stay;
    // Whoever needs no room stands in nobody's way, and nobody in theirs.
    return free === undefined
      ? this.#options.policy(this.#sights.of({ ...this.#options, capacity: this.#shared }, now))
      : { kind: 'swap', to: free, evict: [], batch: 'none' };
  }

  #close(now: Millis): void {
    const isBusy = ({ lane, leases }: Member): boolean => lane.length > 0 || leases.size > 0;
    const anyBusy = (): boolean => [...this.#stirring].some(isBusy) || [...this.#candidates].some(isBusy);
    const sent = this.#closing?.advance(anyBusy, (member) => this.#stirring.add(member), now) ?? [];
    for (const member of sent) this.#letGo(member, now);
    if (this.#closing?.ends === true) this.#replies.push({ kind: 'closed' });
  }
}
