import { Heap } from './heap.ts';
import { after, FOREVER, soonest, type Millis, type TicketId } from './kinds.ts';
import { Batch, isBefore, type Place } from './place.ts';

/**
 * A ticket in line. A `load` is an operator's wish for the model: it waits its turn as a request does and takes no lease. `frozen` is a request that
 * has its lease and was put away with its engine: it waits for the next turn of the model, which goes on with it.
 */
export type Waiting = Place & {
  readonly ticket: TicketId;
  readonly kind: 'request' | 'load' | 'frozen';
  readonly since: Millis;
  /** How long it waits for a turn. The time in which its own model is on the way does not count. */
  readonly patienceMs: number;
  /** How long at the most, where its client says so: on a clock that never stands still. */
  readonly withinMs?: number | undefined;
  /** It waits only while its model is awake or on its way: nobody is put away for it. */
  readonly bound?: boolean;
};

type Held = Waiting & {
  readonly expiresAt: Millis;
  readonly deadline: Millis;
  readonly pausedBefore: number;
  gone: boolean;
};

const hasDeadline = ({ deadline }: Held): boolean => deadline < FOREVER;
const expires = ({ expiresAt }: Held): boolean => expiresAt < FOREVER;

/**
 * The line of waiting tickets of one model, in the order of their places, bounded.
 * Patience runs on the lane's own clock, which stands still between `pause` and `resume`.
 */
export class Lane {
  #limit: number;
  #waiting: Held[] = [];
  /** Who runs out of patience first. Those who have gone are dropped when they come up. */
  readonly #expiries = new Heap<Held>((a, b) => a.expiresAt < b.expiresAt);
  readonly #deadlines = new Heap<Held>((a, b) => a.deadline < b.deadline);
  readonly #leastMs: () => number;
  #sinceSum = 0;
  #bound = 0;
  #loads = 0;
  #frozen = 0;
  /** How far the lane's clock is behind, and since when it stands. */
  #behind = 0;
  #pausedAt: Millis | undefined;

  /** `leastMs`: what it takes at least from now on until somebody in it is served. */
  constructor(limit: number, leastMs: () => number = () => 0) {
    this.#limit = limit;
    this.#leastMs = leastMs;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Whoever is in line stays in it. */
  resize(limit: number): void {
    this.#limit = limit;
  }

  get full(): boolean {
    return this.#waiting.length - this.#frozen >= this.#limit;
  }

  /** Whether an operator's wish is among those who wait. */
  get hasLoad(): boolean {
    return this.#loads > 0;
  }

  get hasDeadlines(): boolean {
    return this.#deadlines.size > 0;
  }

  get first(): Waiting | undefined {
    return this.#waiting[0];
  }

  /** The sum of the moments at which those who wait came. */
  get sinceSum(): number {
    return this.#sinceSum;
  }

  push(waiting: Waiting, now: Millis): void {
    const expiresAt = after(this.#clock(now), waiting.patienceMs);
    const deadline = after(waiting.since, waiting.withinMs ?? FOREVER);
    const held: Held = { ...waiting, expiresAt, deadline, pausedBefore: this.#paused(now), gone: false };
    let at = this.#waiting.length;
    for (
      let before = this.#waiting[at - 1];
      before !== undefined && isBefore(held, before);
      before = this.#waiting[at - 1]
    )
      at--;
    this.#waiting.splice(at, 0, held);
    this.#sinceSum += held.since;
    if (held.bound === true) this.#bound++;
    if (held.kind === 'load') this.#loads++;
    if (held.kind === 'frozen') this.#frozen++;
    if (expires(held)) this.#expiries.push(held);
    if (hasDeadline(held)) this.#deadlines.push(held);
  }

  /** Takes one ticket out of the line; false when it is not in it. */
  remove(ticket: TicketId): boolean {
    const at = this.#waiting.findIndex((waiting) => waiting.ticket === ticket);
    return at !== -1 && this.#takeAt(at) !== undefined;
  }

  /** Takes the first ticket of a batch; `pausedMs` is how long the lane's clock stood while it waited. */
  take(batch: Batch, now: Millis): (Waiting & { readonly pausedMs: number }) | undefined {
    const at = this.#firstOf(batch);
    const first = at === -1 ? undefined : this.#takeAt(at);
    return first && { ...first, pausedMs: this.#paused(now) - first.pausedBefore };
  }

  /** The first ticket of a batch, which stays in line. */
  firstOf(batch: Batch): Waiting | undefined {
    return this.#waiting[this.#firstOf(batch)];
  }

  takeAll(): readonly Waiting[] {
    return this.#takeWhere(() => true);
  }

  takeFrozen(): readonly Waiting[] {
    return this.#frozen === 0 ? [] : this.#takeWhere(({ kind }) => kind === 'frozen');
  }

  takeLoads(): readonly Waiting[] {
    return this.hasLoad ? this.#takeWhere(({ kind }) => kind === 'load') : [];
  }

  /** Those for whom nobody is put away. */
  takeBound(): readonly Waiting[] {
    return this.#bound === 0 ? [] : this.#takeWhere(({ bound }) => bound === true);
  }

  pause(now: Millis): void {
    this.#pausedAt ??= now;
  }

  resume(now: Millis): void {
    if (this.#pausedAt === undefined) return;
    this.#behind += now - this.#pausedAt;
    this.#pausedAt = undefined;
  }

  /** Takes out whoever has run out of patience. It reckons as `dueAt` does, to the last digit: else it would be due again at once. */
  takeExpired(now: Millis): readonly Waiting[] {
    const until = this.#pausedAt ?? now;
    const isOver = ({ expiresAt }: Held): boolean => after(expiresAt, this.#behind) <= until;
    const next = this.#nextOf(this.#expiries);
    return next === undefined || !isOver(next) ? [] : this.#takeWhere(isOver);
  }

  /** Takes out whoever cannot be served by its deadline any more; `alsoMs` is what has to be done before its model can come. */
  takeLate(now: Millis, alsoMs = 0): readonly Waiting[] {
    const leastMs = this.#leastMs() + alsoMs;
    const isLate = ({ deadline }: Held): boolean => after(deadline, -leastMs) <= now;
    const next = this.#nextOf(this.#deadlines);
    return next === undefined || !isLate(next) ? [] : this.#takeWhere(isLate);
  }

  /** When the next ticket runs out of patience, if the clock runs, or of time. */
  get dueAt(): Millis | undefined {
    const late = this.#nextOf(this.#deadlines);
    const lateAt = late && after(late.deadline, -this.#leastMs());
    if (this.#pausedAt !== undefined) return lateAt;
    const next = this.#nextOf(this.#expiries);
    return soonest(lateAt, next && after(next.expiresAt, this.#behind));
  }

  #nextOf(heap: Heap<Held>): Held | undefined {
    while (heap.first?.gone === true) heap.take();
    // Those who wait long can keep many who have gone behind them.
    if (heap.size > 2 * this.#waiting.length + 64) {
      heap.clear();
      const limited = heap === this.#deadlines ? hasDeadline : expires;
      for (const held of this.#waiting) if (limited(held)) heap.push(held);
    }
    return heap.first;
  }

  #firstOf(batch: Batch): number {
    // A long line is not gone through for nobody.
    return batch === Batch.none ? -1 : this.#waiting.findIndex((waiting) => batch.has(waiting));
  }

  #takeAt(at: number): Held | undefined {
    const held = at === 0 ? this.#waiting.shift() : this.#waiting.splice(at, 1)[0];
    if (held !== undefined) this.#left(held);
    return held;
  }

  #takeWhere(goes: (held: Held) => boolean): readonly Held[] {
    const [going, staying]: [Held[], Held[]] = [[], []];
    for (const held of this.#waiting) (goes(held) ? going : staying).push(held);
    this.#waiting = staying;
    for (const held of going) this.#left(held);
    return going;
  }

  #left(held: Held): void {
    held.gone = true;
    if (held.bound === true) this.#bound--;
    if (held.kind === 'load') this.#loads--;
    if (held.kind === 'frozen') this.#frozen--;
    this.#sinceSum = this.#waiting.length === 0 ? 0 : this.#sinceSum - held.since;
  }

  #clock(now: Millis): Millis {
    return after(now, -this.#paused(now));
  }

  /** How long the clock has stood in all. */
  #paused(now: Millis): number {
    return this.#behind + (this.#pausedAt === undefined ? 0 : now - this.#pausedAt);
  }
}
