import { after } from '../core/kinds.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { Answer } from './answer.ts';
import type { Limits } from './gate.ts';

type Terms = {
  readonly clock: Clock;
  readonly limits: Pick<Limits, 'commentAfterMs' | 'commentEveryMs'>;
  /** How long the client listens to nothing, where it says so. */
  readonly silence: number | undefined;
  /** Whether the engine has begun to answer and is away, so that comments stand between the lines of its answer. */
  readonly amid?: boolean;
  /** What is waited for, in words. */
  readonly says: () => string;
};

/**
 * Keeps a client company that waits for a stream: after a while it is told what it waits for, and again and again until
 * the engine answers. Comments are no content, so nothing in them reaches what the client makes of the answer.
 */
export class WaitComments {
  readonly #answer: Answer;
  readonly #terms: Terms;
  #cancel: Cancel;

  constructor(answer: Answer, terms: Terms) {
    this.#answer = answer;
    this.#terms = terms;
    this.#cancel = this.#in(terms.limits.commentAfterMs);
  }

  stop(): void {
    this.#cancel();
  }

  #in(ms: number): Cancel {
    const { clock, silence = Number.POSITIVE_INFINITY, amid = false } = this.#terms;
    return clock.at(after(clock.now(), Math.min(ms, silence / 2)), () => {
      if (this.#answer.begun && !amid) return;
      this.#answer.comment(`catnap: ${this.#terms.says()}`, amid);
      this.#cancel = this.#in(this.#terms.limits.commentEveryMs);
    });
  }
}
