import { Refused } from './admission.ts';
import type { RefusalCode } from '../core/errors.ts';
import type { ModelId } from '../core/kinds.ts';
import type { LevelOrder, LoadTerms, UnloadTerms } from '../core/stage-events.ts';
import type { Mode } from '../core/steering.ts';
import type { LoadOverride } from '../ports/load-override.ts';

/** How an operator's order ended. */
export type OrderEnd =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'refused';
      readonly code: RefusalCode;
      readonly message: string;
      readonly retryAfterMs: number | undefined;
    };

export type LoadWish = Pick<LoadTerms, 'as' | 'replicas' | 'evicts' | 'setsLevel'> & {
  /** What this load is to have different from the config; undefined leaves what the last one had. */
  readonly override: LoadOverride | undefined;
};

/** What an operator may do. Each order goes through the one queue of the stage; leaving does not take it back. */
export interface Operator {
  /** Ends when the model is awake. */
  load(model: ModelId, wish: LoadWish): Promise<OrderEnd>;
  /** Ends when the model is put away. */
  unload(model: ModelId, terms: UnloadTerms): Promise<OrderEnd>;
  /** False, as of `setMode`: nothing was set, since another catnap has taken over. */
  setLevel(model: ModelId, level: LevelOrder): boolean;
  setMode(mode: Mode['kind']): boolean;
}

/** A refusal is an answer; anything else is a bug of ours. */
export async function endOf(order: Promise<void>): Promise<OrderEnd> {
  try {
    await order;
    return { kind: 'done' };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { code, message, retryAfterMs } = error;
    return { kind: 'refused', code, message, retryAfterMs };
  }
}
