import type { Candidates } from './candidates.ts';
import { uncommitted, type Contention, type StageSight } from './cast.ts';
import type { Millis } from './kinds.ts';
import type { Member } from './member.ts';

type Rules = Pick<StageSight, 'capacity' | 'minActiveMs' | 'drains' | 'drainMs'>;

/** What can be seen of a stage by looking at those to whom something happens and at those who are waited for: everybody else is out. */
export class Sights {
  readonly #stirring: ReadonlySet<Member>;
  readonly #candidates: Candidates;

  constructor(stirring: ReadonlySet<Member>, candidates: Candidates) {
    this.#stirring = stirring;
    this.#candidates = candidates;
  }

  /** What a policy may look at. */
  of({ capacity, minActiveMs, drains, drainMs }: Rules, now: Millis): StageSight {
    const candidates = this.#candidates;
    const cast = [];
    for (const member of this.#stirring) if (!candidates.has(member)) cast.push(member.sight(now));
    // Not every policy asks for what all candidates want together.
    const contention = (): Contention => candidates.contention;
    return { now, capacity, cast, candidates: candidates.sights, contention, minActiveMs, drains, drainMs };
  }

  get anyoneWaits(): boolean {
    return this.#candidates.size > 0 || [...this.#stirring].some(({ lane }) => lane.length > 0);
  }

  /** Room that is neither taken nor promised. */
  room(capacity: number): number {
    const cast = Array.from(this.#stirring, ({ part, cost }) => ({ part: part.kind, cost }));
    return uncommitted({ capacity, cast });
  }
}
