/** A small seeded generator (mulberry32): the seed is the whole recipe. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.int(0, list.length - 1)] ?? list[0];
  }

  /** One of a list that may be empty. */
  anyOf<T>(list: readonly T[]): T | undefined {
    return list[this.int(0, list.length - 1)];
  }

  /** Mostly short, sometimes long. */
  around(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  /** As answers of language models are long: its logarithm is normal, with a coefficient of variation of one. */
  lognormal(mean: number): number {
    const sigma = Math.sqrt(Math.LN2);
    const normal = Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
    return Math.exp(Math.log(mean) - sigma ** 2 / 2 + sigma * normal);
  }
}
