import type { Fact } from '../core/facts.ts';

/** Where facts go: the log, the metrics and the journal each have one exhaustive switch over them. */
export interface Reporter {
  report(fact: Fact): void;
}
