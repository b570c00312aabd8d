import type { Random } from '../../src/simulate/random.ts';

/** So many steps it takes to give all of it back. */
const MOST_STEPS = 3;

type Means = {
  /** What it holds once it is awake. */
  readonly full: number;
  readonly random: Random;
  readonly in: (ms: number, run: () => void) => void;
};

/** How much memory the process of an engine really holds. It is taken at some moment of a start or a wake, and given back in steps, late or never. */
export class Hold {
  readonly #means: Means;
  #mib = 0;
  /** What is to be taken or given later counts only in its own turn. */
  #taking = 0;
  #giving = 0;
  #before = 0;
  #settled = 0;

  constructor(means: Means) {
    this.#means = means;
  }

  get mib(): number {
    return this.#mib;
  }

  /** Another number as soon as what was begun has come to its end. */
  get settled(): number {
    return this.#settled;
  }

  /** A start or a wake has begun. It goes on taking when it is told to end, until it has ended. */
  takes(ms: number): void {
    const { random, full, in: later } = this.#means;
    const turn = ++this.#taking;
    this.#giving++;
    const take = (): void => {
      if (this.#taking === turn) this.#mib = full;
    };
    if (random.chance(0.3)) take();
    else later(ms * random.next(), take);
  }

  /** It has begun to go. */
  gives(ms: number): void {
    const { random, in: later } = this.#means;
    const turn = ++this.#giving;
    this.#before = this.#mib;
    if (random.chance(0.2)) return;
    for (let left = random.int(1, MOST_STEPS); left > 0; left--) {
      const share = left === 1 && random.chance(0.7) ? 0 : random.next();
      later(ms * random.next(), () => {
        if (this.#giving === turn) this.#mib = Math.min(this.#mib, this.#before * share);
      });
    }
  }

  /** A suspension that failed is undone. */
  takesBack(): void {
    this.#giving++;
    this.#mib = Math.max(this.#mib, this.#before);
  }

  /** It is awake. */
  hasAll(): void {
    this.#taking++;
    this.#settled++;
    this.#mib = this.#means.full;
  }

  /** It sleeps, or is gone. */
  hasNothing(): void {
    this.#taking++;
    this.#giving++;
    this.#settled++;
    this.#mib = 0;
  }
}
