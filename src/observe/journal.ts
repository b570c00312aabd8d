import type { Fact } from '../core/facts.ts';
import type { Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';

/** A fact with its place in the order of events and the time it was told. */
export type JournalEntry = {
  readonly seq: number;
  readonly at: Date;
  readonly fact: Fact;
};

/** So many swaps are kept, however many requests have ended since. */
const MOST_SWAPS = 1_000;

/** The last facts, in memory. Numbers only grow, so a reader knows what it has missed. */
export class Journal implements Reporter {
  /** Which catnap's numbers these are: another one begins at 1 again. */
  readonly run: string;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #ring: JournalEntry[] = [];
  readonly #swaps: JournalEntry[] = [];
  readonly #listeners = new Set<() => void>();
  #last = 0;

  constructor(limit: number, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.run = clock.wallTime().getTime().toString(36);
  }

  /** The number of the newest entry; 0 when there is none. */
  get last(): number {
    return this.#last;
  }

  report(fact: Fact): void {
    // The end of a request tells all of it; its steps would only push out what is rarer.
    if (fact.kind === 'request-arrived' || fact.kind === 'request-granted') return;
    this.#last += 1;
    const entry = { seq: this.#last, at: this.#clock.wallTime(), fact };
    this.#ring[this.#last % this.#limit] = entry;
    if (fact.kind === 'swap-finished' && this.#swaps.push(entry) > MOST_SWAPS) this.#swaps.shift();
    for (const listener of this.#listeners) listener();
  }

  /** Calls back after every new entry, until the returned function is called. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The ends of the last swaps, oldest first. */
  get swaps(): readonly JournalEntry[] {
    return this.#swaps;
  }

  /** What came after entry `seq`, oldest first and at most so many, and how many of those are no longer kept. */
  since(seq: number, most = this.#limit): { readonly entries: readonly JournalEntry[]; readonly missed: number } {
    const first = Math.max(seq, this.#last - this.#limit) + 1;
    const entries: JournalEntry[] = [];
    const end = Math.min(this.#last, first + most - 1);
    for (let next = first; next <= end; next += 1) {
      const entry = this.#ring[next % this.#limit];
      if (entry !== undefined) entries.push(entry);
    }
    return { entries, missed: Math.max(0, first - 1 - Math.max(0, seq)) };
  }
}
