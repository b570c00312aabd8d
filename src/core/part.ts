import type { EngineGoal } from './engine.ts';
import type { Millis } from './kinds.ts';
import type { Batch } from './place.ts';
import type { Swap } from './swap.ts';

/** A model's part on the stage: see `PartKind`. Each variant carries only what is true in it. */
export type Part =
  | { readonly kind: 'out' }
  | { readonly kind: 'summoned' }
  | { readonly kind: 'entering' }
  | {
      readonly kind: 'on';
      readonly since: Millis;
      readonly from: number;
      readonly served: number;
      /** Since when it has had no lease; nobody waits for it then either. */
      readonly idleSince: Millis | undefined;
    }
  | {
      readonly kind: 'draining';
      /** What it was, should it be let back. */
      readonly was: Extract<Part, { readonly kind: 'on' }>;
      /** Who is still served. */
      readonly batch: Batch;
      readonly since: Millis;
      readonly deadline: Millis;
      /** Whether it had leases to wait for. */
      readonly wasBusy: boolean;
      readonly cut: boolean;
      /** The swap it makes room for; undefined when an operator sends it off. */
      readonly for: Swap | undefined;
      readonly goal: EngineGoal;
    }
  | { readonly kind: 'leaving'; readonly for: Swap | undefined; readonly goal: EngineGoal };
