import type { Clock } from '../ports/clock.ts';
import type { Denial } from './denial.ts';

export type AllowanceTerms = {
  readonly name: string;
  readonly maxInFlight: number | undefined;
  readonly perSecond: number | undefined;
  readonly burst: number | undefined;
};

/** How soon to come back while others of one's requests are served: nobody knows when they end. */
const BUSY_RETRY_MS = 1_000;

/** How much one key may ask for: so many requests at a time, and so many per second over time. */
export class Allowance {
  #terms: AllowanceTerms;
  readonly #clock: Clock;
  #burst: number;
  #inFlight = 0;
  #tokens: number;
  #filledAt: number;

  constructor(terms: AllowanceTerms, clock: Clock) {
    this.#terms = terms;
    this.#clock = clock;
    this.#burst = burstOf(terms);
    this.#tokens = this.#burst;
    this.#filledAt = clock.now();
  }

  /** Other terms. What is open and what was used up counts on. */
  revise(terms: AllowanceTerms): void {
    if (this.#terms.perSecond !== undefined) this.#fill(this.#terms.perSecond);
    const grown = burstOf(terms) - this.#burst;
    this.#terms = terms;
    this.#burst = burstOf(terms);
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, grown));
    this.#filledAt = this.#clock.now();
  }

  /** Lets one more request in, until the function it gives is called; or says when to come back. */
  take(): (() => void) | Denial {
    const { name, maxInFlight = Number.POSITIVE_INFINITY, perSecond } = this.#terms;
    if (this.#inFlight >= maxInFlight) {
      const message = `The key ${name} has as many requests open as it may (\`max_in_flight\`: ${maxInFlight}).`;
      return { code: 'concurrency_limit_exceeded', message, retryAfterMs: BUSY_RETRY_MS };
    }
    if (perSecond !== undefined) {
      this.#fill(perSecond);
      if (this.#tokens < 1) {
        const message = `The key ${name} may make ${perSecond} requests per second (\`requests_per_second\`).`;
        const retryAfterMs = ((1 - this.#tokens) / perSecond) * 1_000;
        return { code: 'rate_limit_exceeded', message, retryAfterMs };
      }
      this.#tokens -= 1;
    }
    this.#inFlight += 1;
    let open = true;
    return () => {
      if (open) this.#inFlight -= 1;
      open = false;
    };
  }

  /** What is left, in the words of OpenAI; nothing where there is no rate. */
  headers(): Readonly<Record<string, string>> {
    const { perSecond } = this.#terms;
    if (perSecond === undefined) return {};
    this.#fill(perSecond);
    return {
      'x-ratelimit-limit-requests': String(this.#burst),
      'x-ratelimit-remaining-requests': String(Math.floor(this.#tokens)),
      'x-ratelimit-reset-requests': `${Math.ceil((this.#burst - this.#tokens) / perSecond)}s`,
    };
  }

  #fill(perSecond: number): void {
    const now = this.#clock.now();
    const gained = ((now - this.#filledAt) / 1_000) * perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#filledAt = now;
  }
}

const burstOf = ({ burst, perSecond }: AllowanceTerms): number => burst ?? Math.max(1, Math.ceil(perSecond ?? 1));
