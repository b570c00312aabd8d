import type { Fact } from '../core/facts.ts';
import type { ModelId } from '../core/kinds.ts';
import type { Failure } from '../core/restart.ts';
import type { Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';

export type PastFailure = {
  readonly failure: Failure;
  readonly at: Date;
  /** Whether the model has been started again since. */
  readonly triedAgain: boolean;
};

/** Remembers the last failure of each model, also after it has recovered. */
export class FailureBook implements Reporter {
  readonly #clock: Clock;
  readonly #last = new Map<ModelId, PastFailure>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  last(model: ModelId): PastFailure | undefined {
    return this.#last.get(model);
  }

  report(fact: Fact): void {
    if (fact.kind === 'engine-failed') {
      this.#last.set(fact.model, { failure: fact.failure, at: this.#clock.wallTime(), triedAgain: false });
    } else if (fact.kind === 'engine-moved' && fact.to === 'starting') {
      const last = this.#last.get(fact.model);
      if (last !== undefined) this.#last.set(fact.model, { ...last, triedAgain: true });
    }
  }
}
