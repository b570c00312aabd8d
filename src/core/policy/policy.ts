import type { Millis, ModelId } from '../kinds.ts';
import type { StageSight } from '../cast.ts';

/** What to do now. A policy is pure: it is asked after every event, returns a decision and touches nothing. */
export type Decision =
  | { readonly kind: 'stay' }
  | {
      readonly kind: 'swap';
      readonly to: ModelId;
      readonly evict: readonly ModelId[];
      /** What is still served by those who go: who came before the first request for `to`, or nobody any more. */
      readonly batch: 'earlier' | 'none';
    }
  | { readonly kind: 'look-again'; readonly at: Millis };

export type Policy = (sight: StageSight) => Decision;

/** What the policies can be told. Each reads what it knows. */
export type PolicyTerms = {
  /** How long a request should wait for its turn at most. */
  readonly maxWaitMs: number;
  /** `cost_aware`: how long the first request waits for company, and how many requests per second of cost are company enough. */
  readonly coalesceMs: number;
  readonly amortization: number;
  /** `time_slice`: how often it looks, and how long a turn lasts at least. */
  readonly tickMs: number;
  readonly quantumMs: number;
  /** `slack`: the part of the time in which somebody is served at least, however many want a turn. */
  readonly servingShare: number;
  /** `slack`: whether an idle model is held as long as its next request is worth more than those who wait. */
  readonly holds: boolean;
};

export const stay: Decision = { kind: 'stay' };
