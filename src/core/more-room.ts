import { after, type Millis, type ModelId, type NapLevel } from './kinds.ts';
import type { Member } from './member.ts';
import { Batch } from './place.ts';
import type { Replies } from './replies.ts';
import type { Failure } from './restart.ts';
import type { Mode } from './steering.ts';
import type { Turns } from './turns.ts';

export type Scene = { readonly members: ReadonlyMap<ModelId, Member>; readonly mode: Mode };

/** At these a sleeper keeps a part of the GPU; at all deeper ones nothing. */
const ON_THE_GPU: readonly NapLevel[] = [1, 2];
const OFF_THE_GPU = 3;

/**
 * A start that ran out of memory, although there was room for it by the budget, is tried once more when others can make more room: sleepers that
 * keep something on the GPU go deeper, and those who are awake go, as they would for a swap: what they work on is let finish. The pinned model
 * stays, and so do those that are kept or have just come. A second failure is told as it is.
 */
export class MoreRoom {
  readonly #scene: Scene;
  readonly #stirring: Set<Member>;
  readonly #turns: Turns;
  readonly #replies: Replies;

  constructor(scene: Scene, stirring: Set<Member>, turns: Turns, replies: Replies) {
    this.#scene = scene;
    this.#stirring = stirring;
    this.#turns = turns;
    this.#replies = replies;
  }

  /** True when it is started once more, as soon as they have gone. */
  make(member: Member, failure: Failure, now: Millis): boolean {
    if (member.part.kind !== 'entering' || member.lane.length === 0) return false;
    const isShort = failure.trouble === 'out_of_memory';
    // One that did not wake is started afresh at once, and beside others who leave there may be too little room for that.
    if (member.overlap === 'does' && (isShort || failure.during === 'waking')) return this.#alone(member, failure, now);
    return isShort && this.#makeOthers(member, failure, now);
  }

  /** It came in while others still left, and what was measured did not hold: it comes again when they have gone, and that does not count. */
  #alone(member: Member, { trouble, reason }: Failure, now: Millis): boolean {
    const from = [...this.#scene.members.values()].filter(({ part }) => part.kind === 'leaving');
    member.overlap = 'failed';
    if (trouble === 'out_of_memory') this.#tell(member, reason, from);
    this.#turns.callAgain(member, from, now);
    return true;
  }

  #makeOthers(member: Member, { during, reason }: Failure, now: Millis): boolean {
    if (during !== 'starting' || member.roomAsked) return false;
    if (member.terms.cost === 0) return false;
    const others = [...this.#scene.members.values()].filter((other) => other !== member && !this.#stays(other));
    // In this order nobody goes deeper for one that was used earlier, where host memory is short as well.
    const sleepers = others.filter(keepsGpu).toSorted((a, b) => (a.quietSince ?? now) - (b.quietSince ?? now));
    const awake = others.filter((other) => mayGo(other, now, this.#turns.minActiveMs));
    const from = [...sleepers, ...awake];
    if (from.length === 0) return false;
    for (const other of from) this.#stirring.add(other);
    const { swap } = member;
    this.#tell(member, reason, from);
    for (const sleeper of sleepers) this.#turns.sendOff(sleeper, sleeper.awayTo(OFF_THE_GPU), now);
    for (const other of awake) {
      if (other.part.kind !== 'on') continue;
      const goal = other.awayTo(other.sleepLevel);
      this.#turns.drain(other, other.part, { goal, for: swap, batch: Batch.none, now });
    }
    member.roomAsked = true;
    this.#turns.callAgain(member, from, now);
    return true;
  }

  #tell({ model }: Member, reason: string, others: readonly Member[]): void {
    const from = others.map((other) => other.model);
    this.#replies.push({ kind: 'tell', fact: { kind: 'start-short-of-memory', model, reason, from } });
  }

  #stays({ model, terms }: Member): boolean {
    const { mode } = this.#scene;
    return terms.keep === true || terms.cost === 0 || (mode.kind === 'manual' && mode.pinned === model);
  }
}

const keepsGpu = ({ part, atRest, lightest }: Member): boolean =>
  part.kind === 'out' && atRest && ON_THE_GPU.some((level) => level === lightest);

const mayGo = ({ part }: Member, now: Millis, minActiveMs: number): boolean =>
  part.kind === 'on' && after(part.since, minActiveMs) <= now;
