import type { SavedCosts } from '../core/costs.ts';
import type { ModelId } from '../core/kinds.ts';

export type CostsByModel = ReadonlyMap<ModelId, SavedCosts>;

/** Where what swaps cost is kept from one start to the next. */
export interface CostFile {
  /** What was written last. What cannot be read is told and counts as nothing. */
  read(): Promise<CostsByModel>;
  /** Replaces what was written. */
  write(costs: CostsByModel): Promise<void>;
}
