import { after, FOREVER, millis, type Millis } from './kinds.ts';

/** How urgent a request is. */
export const PRIORITIES = ['low', 'normal', 'high'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A place in the one order in which requests of a stage are served. */
export type Place = {
  /** When the request counts as having come. */
  readonly rank: Millis;
  /** How many came before it. */
  readonly seq: number;
};

export const isBefore = (a: Place, b: Place): boolean => a.rank < b.rank || (a.rank === b.rank && a.seq < b.seq);

const STEPS: Readonly<Record<Priority, number>> = { low: 1, normal: 0, high: -1 };

/** The more urgent of two is in front as if it had come `stepMs` earlier: so whoever waits is only ever late by that, and never lost. */
export const rankOf = (since: Millis, priority: Priority, stepMs: number): Millis =>
  after(since, STEPS[priority] * stepMs);

/** Which of those in line are still served in a turn. */
export class Batch {
  /** Whoever waits. */
  static readonly all = new Batch(Number.POSITIVE_INFINITY, { rank: FOREVER, seq: 0 }, 0);
  static readonly none = new Batch(0, { rank: millis(Number.NEGATIVE_INFINITY), seq: 0 }, 0);
  readonly #from: number;
  readonly #before: Place;
  readonly #until: number;

  private constructor(from: number, before: Place, until: number) {
    this.#from = from;
    this.#before = before;
    this.#until = until;
  }

  /**
   * The batch of a turn that ends because somebody else is next: those who were there when it began, which were the first `from` of all,
   * and those with a place before the other's who have come by now, as the first `until`.
   */
  static endingBefore(before: Place, from: number, until: number): Batch {
    return new Batch(from, before, until);
  }

  has(place: Place): boolean {
    return place.seq < this.#from || (place.seq < this.#until && isBefore(place, this.#before));
  }
}
