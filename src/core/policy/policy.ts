import type { Millis, ModelId } from '../kinds.ts';
import type { StageSight } from '../cast.ts';

/** What to do now. A policy is pure: it is asked after every event, returns a decision and touches nothing. */
export type Decision =
  | { readonly kind: 'stay' }
  | { readonly kind: 'swap'; readonly to: ModelId; readonly evict: readonly ModelId[] }
  | { readonly kind: 'look-again'; readonly at: Millis };

export type Policy = (sight: StageSight) => Decision;

export const stay: Decision = { kind: 'stay' };
