import type { Millis } from './kinds.ts';

/** How long the past counts: after this time a third of it is left. */
const MEMORY_MS = 120_000;
/** Without evidence nobody is held back: so much time without an arrival is taken as seen. */
const PRIOR_MS = 40_000;
const UNKNOWN_SERVICE_MS = 1_000;
/** How much the newest time moves the average. */
const WEIGHT = 0.3;

/** How much a model is asked for. Each number is brought up to date when something happens to the model, never by the clock. */
export class Demand {
  /** The logarithm of the work that arrived, weighed as of time zero, so that those of two models compare at any time. */
  #logWork = Number.NEGATIVE_INFINITY;
  #serviceMs: number | undefined;
  /** Arrivals while somebody else wanted its place, how long that was so, and since when it is so again. */
  #arrivals = 0;
  #contendedMs = 0;
  #since: Millis | undefined;

  arrived(now: Millis): void {
    this.#logWork = logSum(this.#logWork, Math.log(this.#serviceMs ?? UNKNOWN_SERVICE_MS) + now / MEMORY_MS);
    this.#catchUp(now);
    if (this.#since !== undefined) this.#arrivals++;
  }

  served(ms: number): void {
    this.#serviceMs = this.#serviceMs === undefined ? ms : this.#serviceMs + WEIGHT * (ms - this.#serviceMs);
  }

  /** Whether others want its place from now on. */
  contended(now: Millis, is: boolean): void {
    if (is === (this.#since !== undefined)) return;
    this.#catchUp(now);
    this.#since = is ? now : undefined;
  }

  /** How long it works on a request, on average. */
  get serviceMs(): number {
    return this.#serviceMs ?? 0;
  }

  /** To be compared with that of others: see `shareOf`. */
  get logWork(): number {
    return this.#logWork;
  }

  /** Arrivals per millisecond to be expected while others want its place. */
  contendedRate(now: Millis): number {
    const past = this.#since === undefined ? 0 : now - this.#since;
    const left = Math.exp(-past / MEMORY_MS);
    return (this.#arrivals * left) / (this.#contendedMs * left + past + PRIOR_MS);
  }

  #catchUp(now: Millis): void {
    if (this.#since === undefined) return;
    const past = now - this.#since;
    const left = Math.exp(-past / MEMORY_MS);
    this.#arrivals *= left;
    this.#contendedMs = this.#contendedMs * left + past;
    this.#since = now;
  }
}

/** The logarithm of the sum of two numbers, given theirs. */
export function logSum(a: number, b: number): number {
  const [low, high] = a < b ? [a, b] : [b, a];
  return low === Number.NEGATIVE_INFINITY ? high : high + Math.log1p(Math.exp(low - high));
}

/** Which part of all the work is one's own, from the logarithms of both. */
export function shareOf(own: number, all: number): number {
  return all === Number.NEGATIVE_INFINITY ? 1 : Math.exp(own - all);
}
