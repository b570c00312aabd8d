import type { Candidate, Contention } from './cast.ts';
import { Heap } from './heap.ts';
import type { Millis, ModelId } from './kinds.ts';
import type { Member } from './member.ts';
import { isBefore } from './place.ts';

type Entry = {
  readonly member: Member;
  sight: Candidate;
  /** The moment at which it will be asked whether somebody has run out of patience. */
  watchedAt: Millis | undefined;
};
type Watch = { readonly at: Millis; readonly entry: Entry };

/**
 * Those who are out, at rest and waited for, kept in order. Nothing happens to them between two events of their own, so that an event costs the
 * same whether ten or a thousand models are waited for; only a change of who is among them is followed by a look at all.
 */
export class Candidates {
  readonly #entries = new Map<Member, Entry>();
  /** The same, in the order of their places. */
  readonly #sights: Candidate[] = [];
  readonly #free = new Set<Member>();
  /** Who may run out of patience first. What is no longer true is found out when it comes up. */
  readonly #watches = new Heap<Watch>((a, b) => a.at < b.at);
  readonly #sums = new Sums();

  get size(): number {
    return this.#entries.size;
  }

  get sights(): readonly Candidate[] {
    return this.#sights;
  }

  /** The first of those who need no room. */
  get free(): ModelId | undefined {
    for (const { model } of this.#free) return model;
    return undefined;
  }

  get contention(): Contention {
    return this.#sums.of(this.#sights);
  }

  /** Whether others want the place of one who is on, or for whom somebody has to go. */
  wantPlaceOf({ part }: Member): boolean {
    if (part.kind === 'on') return this.size > 0;
    return (part.kind === 'draining' || part.kind === 'leaving') && part.for !== undefined;
  }

  /** Whether somebody else is waited for who needs room. */
  wantRoomBeside({ model }: Member): boolean {
    return this.#sights.some((other) => other.model !== model && other.cost > 0);
  }

  *[Symbol.iterator](): Generator<Member> {
    yield* this.#entries.keys();
  }

  has(member: Member): boolean {
    return this.#entries.has(member);
  }

  /** When the first of them runs out of patience. */
  get dueAt(): Millis | undefined {
    for (let next = this.#watches.first; next !== undefined; next = this.#watches.first) {
      const { at, entry } = next;
      const isWatch = entry.watchedAt === at && this.#entries.get(entry.member) === entry;
      if (isWatch && entry.member.lane.dueAt === at) return at;
      this.#watches.take();
      if (!isWatch) continue;
      entry.watchedAt = undefined;
      this.#watch(entry);
    }
    return undefined;
  }

  /** Those of whom somebody has run out of patience by now. */
  overdue(now: Millis): readonly Member[] {
    const overdue: Member[] = [];
    for (let at = this.dueAt; at !== undefined && at <= now; at = this.dueAt) {
      const entry = this.#watches.take()?.entry;
      if (entry === undefined) break;
      entry.watchedAt = undefined;
      overdue.push(entry.member);
    }
    return overdue;
  }

  /** Something may have happened to the member: whether it is a candidate is seen anew. */
  update(member: Member, now: Millis): void {
    const before = this.#entries.get(member);
    const sight = member.part.kind === 'out' && member.atRest ? member.sight(now) : undefined;
    if (sight?.first === undefined) {
      if (before !== undefined) this.#remove(before);
      return;
    }
    const candidate: Candidate = { ...sight, first: sight.first };
    const entry = before ?? { member, sight: candidate, watchedAt: undefined };
    if (before !== undefined && before.sight.first.seq === candidate.first.seq) {
      this.#sights[this.#at(candidate)] = candidate;
    } else {
      if (before !== undefined) this.#sights.splice(this.#at(before.sight), 1);
      this.#sights.splice(this.#at(candidate), 0, candidate);
    }
    if (candidate.cost === 0) this.#free.add(member);
    if (candidate.cost > 0) this.#free.delete(member);
    if (before !== undefined) this.#sums.less(before.sight);
    this.#sums.more(candidate);
    entry.sight = candidate;
    this.#entries.set(member, entry);
    this.#watch(entry);
  }

  #remove({ member, sight }: Entry): void {
    this.#entries.delete(member);
    this.#sights.splice(this.#at(sight), 1);
    this.#free.delete(member);
    this.#sums.less(sight);
  }

  #watch(entry: Entry): void {
    const { dueAt } = entry.member.lane;
    if (dueAt === undefined || (entry.watchedAt !== undefined && entry.watchedAt <= dueAt)) return;
    entry.watchedAt = dueAt;
    this.#watches.push({ at: dueAt, entry });
  }

  /** Where it is, or belongs. */
  #at(sight: Candidate): number {
    let [low, high] = [0, this.#sights.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#sights[middle];
      if (other !== undefined && isBefore(other.first, sight.first)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** After so many changes the sums are made anew, so that what is lost in rounding does not add up. */
const CHANGES = 512;
/** So far may the logarithms lie apart that are summed as plain numbers. */
const SPAN = 50;

/** What all candidates want together, kept up with each change. */
class Sums {
  #cycleMs = 0;
  /** The work of all, as multiples of the one whose logarithm is `base`. */
  #work = 0;
  #base = 0;
  #changes = CHANGES;

  more(sight: Candidate): void {
    this.#change(sight, 1);
  }

  less(sight: Candidate): void {
    this.#change(sight, -1);
  }

  of(sights: readonly Candidate[]): Contention {
    if (this.#changes >= CHANGES || this.#work < Math.exp(-SPAN)) this.#sumUp(sights);
    return { cycleMs: this.#cycleMs, logWork: this.#base + Math.log(this.#work) };
  }

  #change(sight: Candidate, sign: number): void {
    const height = sight.logWork - this.#base;
    this.#changes = height > SPAN ? CHANGES : this.#changes + 1;
    this.#cycleMs += sign * cycleOf(sight);
    this.#work += sign * Math.exp(Math.min(height, SPAN));
  }

  #sumUp(sights: readonly Candidate[]): void {
    this.#changes = 0;
    this.#cycleMs = 0;
    this.#work = 0;
    const highest = sights.reduce((most, { logWork }) => Math.max(most, logWork), Number.NEGATIVE_INFINITY);
    // What took no time at all is no work to tell them apart by.
    this.#base = Number.isFinite(highest) ? highest : 0;
    for (const sight of sights) this.#change(sight, 1);
    this.#changes = 0;
  }
}

const cycleOf = ({ comeMs, drainMs, goMs }: Candidate): number => comeMs + drainMs + goMs;
