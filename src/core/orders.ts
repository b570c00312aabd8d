import type { EngineGoal } from './engine.ts';
import { unreachable, type Millis } from './kinds.ts';
import type { Member } from './member.ts';
import { Batch } from './place.ts';
import type { Replies } from './replies.ts';
import type { StageEvent } from './stage-events.ts';
import type { Turns } from './turns.ts';

type Unload = Extract<StageEvent, { readonly kind: 'unload-asked' }>;

/** What operators ask for that does not wait its turn: a model is to go, whatever part it has. */
export class Orders {
  readonly #turns: Turns;
  readonly #replies: Replies;

  constructor(turns: Turns, replies: Replies) {
    this.#turns = turns;
    this.#replies = replies;
  }

  unload(member: Member | undefined, { order, model, level, hold, setsLevel }: Unload, now: Millis): void {
    if (member === undefined) {
      this.#replies.done(order, { model });
      return;
    }
    member.unloads.push(order);
    member.held ||= hold;
    member.setLevel(setsLevel);
    this.#replies.rejectAll(member, 'model_unloading', `${member.model} is being unloaded`);
    this.putAway(member, member.awayTo(level), now);
  }

  /** It goes, and whom it works on is let finish. */
  putAway(member: Member, goal: EngineGoal, now: Millis): void {
    const { part } = member;
    switch (part.kind) {
      case 'summoned':
        this.#turns.withdraw(member, now);
        this.#turns.sendOff(member, goal, now);
        return;
      case 'on':
        this.#turns.drain(member, part, { goal, for: undefined, batch: Batch.none, now });
        return;
      case 'draining':
        member.part = { ...part, batch: Batch.none, goal };
        return;
      case 'entering':
        this.#turns.finishSwap(member, 'failed', now);
        this.#turns.sendOff(member, goal, now);
        return;
      case 'out':
      case 'leaving':
        this.#turns.sendOff(member, goal, now, true);
        return;
      default:
        unreachable(part);
    }
  }

  /** Those who asked for it are told. A failure that they have seen is over. */
  unloaded(member: Member): void {
    if (member.gone) member.replicas = member.terms.replicas;
    for (const [engine, { kind }] of member.phases) {
      if (kind === 'failed') this.#replies.setGoal([engine], { kind: 'off' }, true);
    }
    for (const order of member.unloads.splice(0)) this.#replies.done(order, member);
  }
}
