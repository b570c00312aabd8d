import type { EngineId, Millis } from './kinds.ts';
import type { Member } from './member.ts';
import { couldOverlap, fitsBeside, leavingOf, type MemoryReading, type OverlapBy } from './overlap.ts';
import type { Replies } from './replies.ts';
import type { Turns } from './turns.ts';

/** Whose memory decides whether somebody may come in: by engine, of those who still serve and of those who leave. */
export type Leavers = { readonly draining: readonly EngineId[]; readonly leaving: readonly EngineId[] };

/** Opens the door to those who were summoned. */
export class Entrance {
  readonly #stirring: ReadonlySet<Member>;
  readonly #turns: Turns;
  readonly #replies: Replies;
  #reading: MemoryReading | undefined;

  constructor(stirring: ReadonlySet<Member>, turns: Turns, replies: Replies) {
    this.#stirring = stirring;
    this.#turns = turns;
    this.#replies = replies;
  }

  note(reading: MemoryReading): void {
    this.#reading = reading;
  }

  /** Undefined: nobody waits whom it would let in. */
  leavers(overlap: OverlapBy | undefined): Leavers | undefined {
    if (overlap === undefined || !this.#turns.summoned.some(couldOverlap)) return undefined;
    const of = (kind: 'draining' | 'leaving'): readonly EngineId[] =>
      [...this.#stirring].flatMap((member) => (member.part.kind === kind ? leavingOf(member) : []));
    return { draining: of('draining'), leaving: of('leaving') };
  }

  /** Those for whom there is room now, in the order in which they were called. `overlap`: also beside others who still leave. */
  letIn(shared: number, overlap: OverlapBy | undefined, now: Millis): void {
    const { summoned } = this.#turns;
    if (summoned.length === 0) return;
    let room = shared;
    for (const member of this.#stirring) if (member.occupies) room -= member.cost;
    for (const member of summoned) {
      // Sleepers that are being ended are counted beyond the budget, which is nothing to those who need no room.
      const hasRoom = member.cost <= Math.max(0, room) && member.atRest;
      const beside = !hasRoom && member.atRest ? this.#beside(member, shared, overlap, now) : [];
      const fits = hasRoom || beside.length > 0;
      if (fits) room -= member.cost;
      // Whoever waits for others to have loaded keeps its room.
      if (!this.#turns.mayEnter(member, fits)) continue;
      this.#turns.enter(member, now, beside.length > 0);
      if (beside.length > 0) this.#tell(member, beside);
    }
  }

  /** Who still leaves beside it, where there is proven room for it all the same. */
  #beside(comer: Member, shared: number, by: OverlapBy | undefined, now: Millis): readonly Member[] {
    const reading = this.#reading;
    if (by === undefined || reading === undefined) return [];
    if (!fitsBeside(comer, this.#stirring, { shared, by, reading, now })) return [];
    return [...this.#stirring].filter(({ part }) => part.kind === 'leaving');
  }

  #tell({ model, swap }: Member, beside: readonly Member[]): void {
    if (swap === undefined || this.#reading === undefined) return;
    const from = beside.map((other) => other.model);
    const { freeMib } = this.#reading;
    this.#replies.push({
      kind: 'tell',
      fact: { kind: 'swap-overlaps', swap: swap.id, to: model, beside: from, freeMib },
    });
  }
}
