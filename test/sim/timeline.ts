import { after, millis, type Millis } from '../../src/core/kinds.ts';

type Due = { readonly at: Millis; readonly order: number; readonly run: () => void; cancelled: boolean };

/** Time without promises: what is due runs in order of time, then of having been set, or as `tieBreak` says. */
export class Timeline {
  readonly #tieBreak: (order: number) => number;
  /** Sorted, the next one last. */
  readonly #due: Due[] = [];
  #now = millis(0);
  #set = 0;

  constructor(tieBreak: (order: number) => number = (order) => order) {
    this.#tieBreak = tieBreak;
  }

  get now(): Millis {
    return this.#now;
  }

  at(at: Millis, run: () => void): () => void {
    const due: Due = { at, order: this.#tieBreak(this.#set++), run, cancelled: false };
    let [low, high] = [0, this.#due.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#due[middle];
      if (other !== undefined && isBefore(due, other)) low = middle + 1;
      else high = middle;
    }
    this.#due.splice(low, 0, due);
    return () => {
      due.cancelled = true;
    };
  }

  /** The machine was suspended: all that was due meanwhile comes late and at once. */
  jump(ms: number): void {
    this.#now = after(this.#now, ms);
  }

  /** Runs all that is due until then, and leaves the time there. */
  runUntil(until: Millis): void {
    while (this.#runNext(until));
    if (this.#now < until) this.#now = until;
  }

  /** Runs until nothing is due any more; false when that takes more than `limit` steps. */
  runUntilIdle(limit: number): boolean {
    for (let steps = 0; steps < limit; steps++) if (!this.#runNext()) return true;
    return false;
  }

  #runNext(until?: Millis): boolean {
    for (;;) {
      const next = this.#due.at(-1);
      if (next === undefined || (until !== undefined && next.at > until)) return false;
      this.#due.pop();
      if (next.cancelled) continue;
      if (next.at > this.#now) this.#now = next.at;
      next.run();
      return true;
    }
  }
}

const isBefore = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
