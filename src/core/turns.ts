import { Commons } from './commons.ts';
import { onlyOperatorsBring } from './doors.ts';
import type { EngineGoal } from './engine.ts';
import { Holdings, type Scene } from './holdings.ts';
import { after, type Millis, type ModelId, type SleepLevel } from './kinds.ts';
import type { Member } from './member.ts';
import type { Part } from './part.ts';
import { Batch } from './place.ts';
import type { Replies } from './replies.ts';
import type { Failure } from './restart.ts';
import type { StageOptions } from './stage-events.ts';
import { Swap, type SwapResult } from './swap.ts';

type On = Extract<Part, { readonly kind: 'on' }>;
export type Draining = Extract<Part, { readonly kind: 'draining' }>;

type TurnOptions = Pick<
  StageOptions,
  'drains' | 'drainMs' | 'minActiveMs' | 'commons' | 'cancelsAbandoned' | 'hostLimitMib' | 'overlap'
>;

/** How the parts of members begin and end, with the swaps that they belong to. When, is for the stage to say. */
export class Turns {
  #options: TurnOptions;
  readonly #replies: Replies;
  readonly #commons: Commons;
  readonly #holdings: Holdings;
  /** In the order in which they were called. */
  #summoned: Member[] = [];

  constructor(options: TurnOptions, scene: Scene, stirring: Set<Member>, replies: Replies) {
    this.#options = options;
    this.#commons = options.commons ?? new Commons();
    this.#replies = replies;
    this.#holdings = new Holdings(options, this.#commons, { scene, stirring, replies });
  }

  /** For those that drain from now on. */
  revise(options: TurnOptions): void {
    this.#options = options;
    this.#holdings.revise(options);
  }

  /** How long one stays on at least. */
  get minActiveMs(): number {
    return this.#options.minActiveMs;
  }

  /** Whether one may come in while another still goes. */
  get overlaps(): boolean {
    return this.#options.overlap !== undefined;
  }

  get summoned(): readonly Member[] {
    return this.#summoned;
  }

  /** It is next, and comes in once those who are to go have made room. */
  summon(member: Member, evict: readonly ModelId[], now: Millis): Swap {
    const swap = new Swap(this.#commons.nextSwap(), member.model, evict, now, member.lane.length === 0);
    member.part = { kind: 'summoned' };
    member.roomAsked = false;
    member.roomFrom = [];
    member.overlap = 'may';
    member.swap = swap;
    this.#summoned.push(member);
    const { id, to, from } = swap;
    this.#replies.push({
      kind: 'tell',
      fact: { kind: 'swap-planned', swap: id, to, from, level: member.depth, waiting: member.lane.length },
    });
    return swap;
  }

  /** It is no longer wanted and has not begun to come. */
  withdraw(member: Member, now: Millis): void {
    this.#unsummon(member);
    member.part = { kind: 'out' };
    this.#loadOver(member);
    this.finishSwap(member, 'withdrawn', now);
  }

  /** Whether it may come in now: there is room, and no more load than may at a time. Who has nothing to load waits for nobody. */
  mayEnter(member: Member, hasRoom: boolean): boolean {
    const isFree = hasRoom && !member.roomIsComing;
    if (!isFree) this.#loadOver(member);
    return isFree && (member.terms.cost === 0 || this.#commons.mayLoad(member.model));
  }

  /** Whether it has room, and comes in once others have loaded. */
  waitsForLoads({ model }: Member): boolean {
    return this.#commons.waits(model);
  }

  /**
   * Whoever is to come and is waited for by nobody any more does not come, as far as that can be. One whom nobody asked for, since the stage had nothing
   * to do, gives way to those who are asked for.
   */
  letDrop(member: Member, anyoneWaits: () => boolean, now: Millis): void {
    const { part, lane, swap } = member;
    const comes = part.kind === 'summoned' || part.kind === 'entering';
    if (!comes || lane.length > 0 || (swap?.unasked === true && !anyoneWaits())) return;
    if (part.kind === 'summoned') this.withdraw(member, now);
    else if (this.#options.cancelsAbandoned === true) this.#callOff(member, now);
  }

  /** One that is being woken is put back as it was; any other start is ended. */
  #callOff(member: Member, now: Millis): void {
    this.finishSwap(member, 'withdrawn', now);
    const wakes = [...member.phases.values()].some(({ kind }) => kind === 'waking' || kind === 'awake');
    this.sendOff(member, member.awayTo(wakes ? member.sleepLevel : 5), now);
  }

  /** `beside`: while others still leave. */
  enter(member: Member, now: Millis, beside = false): void {
    this.#unsummon(member);
    if (member.terms.cost > 0) this.#commons.load(member.model);
    member.roomFrom = [];
    const level = member.depth;
    const atOnce = member.lane.hasLoad && member.retryAt(now) !== undefined;
    member.part = { kind: 'entering' };
    member.lane.pause(now);
    this.#replies.setGoal(member.engines, { kind: 'awake' }, atOnce);
    member.called(atOnce, now);
    if (beside) member.overlap = 'does';
    member.swap?.entering(level, now, beside);
  }

  /** Its start ran out of memory: it comes in again once these have gone, after the pause of its engines. */
  callAgain(member: Member, from: readonly Member[], now: Millis): void {
    this.#loadOver(member);
    member.roomFrom = from;
    member.lane.resume(now);
    member.part = { kind: 'summoned' };
    this.#summoned.push(member);
    this.#replies.setGoal(member.phases.keys(), { kind: 'off' }, false);
  }

  /** Its turn begins. `from` is the first request that did not come before it. */
  begin(member: Member, from: number, now: Millis): void {
    this.#loadOver(member);
    member.lane.resume(now);
    const { model, frozen, leases } = member;
    const frozenMs = Math.max(0, ...Array.from(frozen.values(), (since) => now - since));
    const tickets = member.thaw(now);
    member.part = { kind: 'on', since: now, from, served: 0, idleSince: leases.size > 0 ? undefined : now };
    if (tickets.length > 0) {
      this.#replies.push({ kind: 'thaw', tickets, model });
      this.#replies.push({ kind: 'tell', fact: { kind: 'requests-thawed', model, count: tickets.length, frozenMs } });
    }
    member.overlap = 'may';
    this.finishSwap(member, 'done', now);
  }

  /** Answers those of a batch, in their order, as long as an engine may take one more. */
  serve(member: Member, batch: Batch, now: Millis): void {
    const { lane, model } = member;
    for (;;) {
      const first = lane.firstOf(batch);
      const engine = member.freeEngine();
      if (first === undefined || (first.kind === 'request' && engine === undefined)) return;
      const next = lane.take(batch, now);
      if (next === undefined) return;
      if (next.kind !== 'request' || engine === undefined) {
        this.#replies.done(next.ticket, member);
        continue;
      }
      member.lend(next.ticket, engine, now);
      const waited = { waitedMs: now - next.since, enteringMs: next.pausedMs };
      const { rank, seq } = next;
      this.#replies.push({ kind: 'grant', ticket: next.ticket, model, engine, place: { rank, seq }, ...waited });
    }
  }

  drain(
    member: Member,
    was: On,
    how: { readonly goal: EngineGoal; readonly for: Swap | undefined; readonly batch: Batch; readonly now: Millis },
  ): void {
    const { goal, batch, now: since } = how;
    const deadline = after(since, this.#options.drainMs);
    const wasBusy = member.leases.size > 0;
    const part = { kind: 'draining', was, batch, since, deadline, wasBusy, cut: false, for: how.for, goal } as const;
    member.part = part;
    if (!this.#options.drains) this.cutDrain(member, part);
  }

  /**
   * Puts it away with what it works on rather than wait for that, where it may be and where waiting is expected to take longer. Nobody is put away so
   * before it has served for as long as that takes there and back. Those it works on have a place in line from now on. False: it has to drain.
   */
  freeze(member: Member, swap: Swap, nextSeq: () => number, now: Millis): boolean {
    const { terms, part, costs, demand, lane, model } = member;
    const { freezesAt: level, patienceMs } = terms;
    const { drains, drainMs } = this.#options;
    const tickets = member.uncut;
    if (level === undefined || !drains || part.kind !== 'on' || tickets.length === 0 || !member.awake) return false;
    const goal = { kind: 'asleep', level, frozen: true } as const;
    if (member.awayTo(level).kind === 'off' || !this.#holdings.takes(member, goal)) return false;
    const rest = Math.min(drainMs, Math.max(costs.drainMs, demand.serviceMs));
    if (rest <= member.freezeMs || now - part.since <= costs.thereAndBackMs(level)) return false;
    for (const ticket of tickets) {
      member.frozen.set(ticket, now);
      lane.push({ ticket, kind: 'frozen', rank: now, seq: nextSeq(), since: now, patienceMs }, now);
    }
    this.#replies.push({ kind: 'freeze', tickets, model });
    const fact = { kind: 'requests-frozen', model, count: tickets.length, level, for: swap.to } as const;
    this.#replies.push({ kind: 'tell', fact });
    this.sendOff(member, goal, now, false, swap);
    return true;
  }

  /** Those who were waited for in vain may come back. Where nobody is waited for, whoever is cut is told so. */
  cutDrain(member: Member, was: Draining): Draining {
    const part = { ...was, cut: true, batch: Batch.none };
    member.part = part;
    const mayReturn = this.#options.drains && was.for !== undefined;
    this.#replies.cut(member, [...member.leases.keys()], 'drained', `${member.model} had to make room`, mayReturn);
    return part;
  }

  /** It was to make room and need not any more. */
  stay(member: Member, { was }: Draining, now: Millis): void {
    member.part = { ...was, idleSince: member.leases.size > 0 ? undefined : (was.idleSince ?? now) };
  }

  /** Sends sleepers deeper where more host memory is held than may be. */
  keepHostMemory(now: Millis): void {
    this.#holdings.keep((member, goal) => this.sendOff(member, goal, now));
  }

  sendOff(member: Member, asked: EngineGoal, now: Millis, atOnce = false, forSwap?: Swap): void {
    const { part } = member;
    const goal = this.#holdings.fit(member, asked, (other, deeper) => this.sendOff(other, deeper, now));
    if (goal.kind !== 'asleep' || goal.frozen !== true)
      this.#replies.lose(member, 'drained', `${member.model} was put away for good while it was suspended`);
    this.#loadOver(member);
    const swap = part.kind === 'draining' || part.kind === 'leaving' ? part.for : forSwap;
    if (part.kind === 'draining' || forSwap !== undefined) swap?.drained(member.model, now);
    if (part.kind === 'draining' && part.wasBusy) member.costs.drained(now - part.since);
    // Who waits for a model that only operators bring is told by its door what has become of it, and for one that needs no room nobody is put away.
    if (member.cost > 0 && (!onlyOperatorsBring(member) || member.lane.hasLoad))
      for (const { ticket } of member.lane.takeBound()) this.#replies.refuseBound(ticket, member.model);
    member.lane.resume(now);
    if (part.kind === 'on' || part.kind === 'draining') member.leftAt = now;
    member.part = { kind: 'leaving', for: swap, goal };
    this.#replies.setGoal(member.phases.keys(), goal, atOnce);
  }

  /** Whether one that leaves has gone. It is out from now on. */
  goOut(member: Member): boolean {
    const { part, leases, frozen } = member;
    if (part.kind !== 'leaving' || !member.isAway(part.goal) || leases.size !== frozen.size) return false;
    member.part = { kind: 'out' };
    return true;
  }

  /** It has nothing to do. */
  demote(member: Member, level: SleepLevel, now: Millis): void {
    const { model, part, quietSince = now, lightest } = member;
    const from = part.kind === 'on' ? undefined : lightest;
    const fact = { kind: 'model-demoted', model, from, to: level, idleMs: now - quietSince } as const;
    this.#replies.push({ kind: 'tell', fact });
    this.sendOff(member, member.awayTo(level), now);
  }

  /** Nobody is kept waiting for an engine that will not come, and its own retry must not bring it back beside another. */
  giveUp(member: Member, failure: Failure, retryAt: Millis | undefined, now: Millis): void {
    this.#replies.rejectAll(member, 'engine_failed', failure.reason, { retryAt, failure });
    this.finishSwap(member, 'failed', now);
    this.sendOff(member, { kind: 'off' }, now);
  }

  finishSwap(member: Member, result: SwapResult, now: Millis): void {
    const { swap } = member;
    if (swap === undefined) return;
    member.swap = undefined;
    this.#replies.push({ kind: 'tell', fact: { kind: 'swap-finished', record: swap.finish(result, now) } });
  }

  #loadOver({ model }: Member): void {
    if (this.#commons.over(model)) this.#replies.push({ kind: 'load-over' });
  }

  #unsummon(member: Member): void {
    this.#summoned = this.#summoned.filter((other) => other !== member);
  }
}
