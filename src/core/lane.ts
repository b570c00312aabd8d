import { after, FOREVER, type Millis, type TicketId } from './kinds.ts';

/** A ticket in line. A `load` is an operator's wish for the model: it waits its turn as a request does and takes no lease. */
export type Waiting = {
  readonly ticket: TicketId;
  readonly kind: 'request' | 'load';
  /** Its place in the order of all arrivals of the stage. */
  readonly seq: number;
  readonly since: Millis;
  /** How long it waits for a turn. The time in which its own model is on the way does not count. */
  readonly patienceMs: number;
};

type Held = Waiting & { readonly expiresAt: Millis; readonly pausedBefore: number };

/**
 * The line of waiting tickets of one model, in order of arrival, bounded.
 * Patience runs on the lane's own clock, which stands still between `pause` and `resume`.
 */
export class Lane {
  readonly #limit: number;
  #waiting: Held[] = [];
  /** How far the lane's clock is behind, and since when it stands. */
  #behind = 0;
  #pausedAt: Millis | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get length(): number {
    return this.#waiting.length;
  }

  get full(): boolean {
    return this.#waiting.length >= this.#limit;
  }

  get first(): Waiting | undefined {
    return this.#waiting[0];
  }

  push(waiting: Waiting, now: Millis): void {
    const expiresAt = after(this.#clock(now), waiting.patienceMs);
    this.#waiting.push({ ...waiting, expiresAt, pausedBefore: this.#paused(now) });
  }

  /** Takes one ticket out of the line; false when it is not in it. */
  remove(ticket: TicketId): boolean {
    const at = this.#waiting.findIndex((waiting) => waiting.ticket === ticket);
    if (at === -1) return false;
    this.#waiting.splice(at, 1);
    return true;
  }

  /** Takes the first ticket that arrived before `seq`; `pausedMs` is how long the lane's clock stood while it waited. */
  take(seq: number, now: Millis): (Waiting & { readonly pausedMs: number }) | undefined {
    const first = this.#waiting[0];
    if (first === undefined || first.seq >= seq) return undefined;
    this.#waiting.shift();
    return { ...first, pausedMs: this.#paused(now) - first.pausedBefore };
  }

  takeAll(): readonly Waiting[] {
    return this.#waiting.splice(0);
  }

  takeLoads(): readonly Waiting[] {
    const loads = this.#waiting.filter(({ kind }) => kind === 'load');
    this.#waiting = this.#waiting.filter(({ kind }) => kind !== 'load');
    return loads;
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
    const expired = this.#waiting.filter(isOver);
    if (expired.length > 0) this.#waiting = this.#waiting.filter((waiting) => !isOver(waiting));
    return expired;
  }

  /** When the next ticket runs out of patience, if the clock runs. */
  get dueAt(): Millis | undefined {
    if (this.#pausedAt !== undefined || this.#waiting.length === 0) return undefined;
    let due = FOREVER;
    for (const { expiresAt } of this.#waiting) if (expiresAt < due) due = expiresAt;
    return due === FOREVER ? undefined : after(due, this.#behind);
  }

  #clock(now: Millis): Millis {
    return after(now, -this.#paused(now));
  }

  /** How long the clock has stood in all. */
  #paused(now: Millis): number {
    return this.#behind + (this.#pausedAt === undefined ? 0 : now - this.#pausedAt);
  }
}
