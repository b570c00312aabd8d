import { unreachable, type EngineId, type Millis, type ModelId } from './kinds.ts';
import { Member } from './member.ts';
import type { Orders } from './orders.ts';
import type { Replies } from './replies.ts';
import type { RevisedTerms } from './stage-events.ts';
import type { Turns } from './turns.ts';

type Members = ReadonlyMap<ModelId, Member>;

const OFF = { kind: 'off' } as const;

/** What becomes of the models when another config is read: some come, some change, some leave for good. The others are not touched. */
export class Revision {
  readonly #turns: Turns;
  readonly #orders: Orders;
  readonly #replies: Replies;

  constructor(turns: Turns, orders: Orders, replies: Replies) {
    this.#turns = turns;
    this.#orders = orders;
    this.#replies = replies;
  }

  /** Gives the members as they are from now on, in the order of the config; those who leave for good come last. */
  apply(members: Members, { options, anew }: RevisedTerms, now: Millis): Map<ModelId, Member> {
    const next = new Map<ModelId, Member>();
    for (const terms of options.models) {
      const known = members.get(terms.model);
      const member = known ?? new Member(terms);
      next.set(terms.model, member);
      if (known === undefined) continue;
      // What it was when it left is not known any more.
      const changes = anew.includes(terms.model) || member.departs;
      member.departs = false;
      member.revise(terms, changes);
      if (changes) this.#change(member, now);
    }
    for (const [model, member] of members) {
      if (next.has(model)) continue;
      next.set(model, member);
      if (!member.departs) this.#depart(member, now);
    }
    return next;
  }

  /** What another config says of a model is taken up once nothing of it is in the way. */
  renew(member: Member): void {
    const neededRoom = member.cost > 0;
    this.#dismiss(member, member.renew());
    // Those who would have nobody put away were let in line as it needed no room.
    if (!neededRoom && member.cost > 0)
      for (const { ticket } of member.lane.takeBound()) this.#replies.refuseBound(ticket, member.model);
  }

  /** Whether it, being out, was to leave for good. */
  forget(member: Member): boolean {
    const { model, terms } = member;
    if (!member.departs) return false;
    this.#dismiss(member, terms.engines);
    this.#replies.push({ kind: 'tell', fact: { kind: 'model-forgotten', model } });
    return true;
  }

  #dismiss({ model }: Member, engines: readonly EngineId[]): void {
    if (engines.length > 0) this.#replies.push({ kind: 'dismissed', model, engines });
  }

  /** Those who wait for it are told at once; those whom it works on are let finish. */
  #depart(member: Member, now: Millis): void {
    member.departs = true;
    this.#replies.steering.forget(member.model);
    this.#replies.rejectAll(member, 'model_not_found', noLonger(member.model));
    this.#orders.putAway(member, OFF, now);
  }

  /** Nothing of what it was may come back. One that is on goes on until somebody asks for it again. */
  #change(member: Member, now: Millis): void {
    const { part } = member;
    switch (part.kind) {
      case 'on':
        return;
      case 'draining':
        member.part = { ...part, goal: OFF };
        return;
      case 'summoned':
        if (member.gone) return;
        this.#turns.withdraw(member, now);
        this.#turns.sendOff(member, OFF, now);
        return;
      case 'entering':
        this.#turns.finishSwap(member, 'withdrawn', now);
        this.#turns.sendOff(member, OFF, now);
        return;
      case 'out':
      case 'leaving':
        this.#turns.sendOff(member, OFF, now, true);
        return;
      default:
        unreachable(part);
    }
  }
}

/** What whoever asks for it is told. */
export const noLonger = (model: ModelId): string => `The config has no model ${JSON.stringify(model)} any more`;
