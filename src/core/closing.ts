import { millis, type Millis } from './kinds.ts';
import type { Member } from './member.ts';
import type { Replies } from './replies.ts';
import type { Turns } from './turns.ts';

const WHY = 'catnap is shutting down';

/** The end of a stage: once nobody waits or is served any more, or the time is up, everything is put off. */
export class Closing {
  readonly #members: ReadonlySet<Member>;
  readonly #turns: Turns;
  readonly #replies: Replies;
  #deadline: Millis;
  #cut = false;
  #done = false;
  /** Those whose engines have not been told to go yet. */
  readonly #left: Set<Member>;

  constructor(members: ReadonlySet<Member>, deadline: Millis, turns: Turns, replies: Replies) {
    this.#members = members;
    this.#left = new Set(members);
    this.#deadline = deadline;
    this.#turns = turns;
    this.#replies = replies;
    // Operators wait for as long as it takes: they are told at once.
    for (const { lane, model } of members) {
      for (const load of lane.takeLoads()) replies.reject(load.ticket, model, 'shutting_down', WHY);
    }
  }

  /** Asked again, it can only become more urgent. */
  hasten(deadline: Millis): void {
    this.#deadline = millis(Math.min(this.#deadline, deadline));
  }

  get dueAt(): Millis | undefined {
    return this.#cut ? undefined : this.#deadline;
  }

  /** Gives those who were told to go in this step. */
  advance(isBusy: () => boolean, stir: (member: Member) => void, now: Millis): readonly Member[] {
    if (this.#done) return [];
    if (!this.#cut) {
      if (now < this.#deadline && isBusy()) return [];
      this.#cut = true;
      for (const member of this.#members) {
        if (member.lane.length > 0) stir(member);
        this.#curtain(member, now);
      }
    }
    const sent = [...this.#left].filter((member) => this.#putOff(member, now));
    for (const member of sent) stir(member);
    return sent;
  }

  /** True, once, when all are gone. */
  get ends(): boolean {
    if (this.#done || this.#left.size > 0) return false;
    this.#done = [...this.#members].every((member) => member.gone);
    return this.#done;
  }

  #curtain(member: Member, now: Millis): void {
    this.#replies.rejectAll(member, 'shutting_down', WHY);
    this.#replies.cut(member, [...member.leases.keys()], 'shutting_down', WHY);
    if (member.part.kind === 'summoned') this.#turns.withdraw(member, now);
  }

  #putOff(member: Member, now: Millis): boolean {
    // The engine of one that died in its turn is not started again for leases that nobody has settled yet.
    if (member.leases.size > 0 && member.part.kind !== 'entering') return false;
    this.#left.delete(member);
    if (member.part.kind === 'out' && member.gone) return false;
    this.#turns.finishSwap(member, 'failed', now);
    this.#turns.sendOff(member, { kind: 'off' }, now);
    return true;
  }
}
