import type { SavedCosts } from './costs.ts';
import type { Demotion } from './demotion.ts';
import type { EngineId, ModelId, NapLevel, SleepLevel } from './kinds.ts';
import type { MemoryKind } from './overlap.ts';

/** What the stage is told about a model when it is made. */
export type ModelTerms = {
  readonly model: ModelId;
  /** All engines it may have: more than one when it may have replicas. */
  readonly engines: readonly EngineId[];
  /** How many of them come and go together when nobody asks for another number. */
  readonly replicas: number;
  /** How much of the stage's budget it takes while it is awake, with as many engines as `replicas` says. */
  readonly cost: number;
  /** How much one engine takes; undefined: however many there are, it is `cost`. */
  readonly costEach?: number | undefined;
  /** Once awake it is put away for nobody. Room for all engines it may have is set aside for it. */
  readonly keep?: boolean;
  /** How many requests one engine is given at a time. */
  readonly targetInflight: number;
  /** How many may wait. */
  readonly maxWaiting: number;
  /** How long a request waits for its turn. */
  readonly patienceMs: number;
  /** How deep it is put away to make room. */
  readonly sleepLevel: SleepLevel;
  /** How deep it goes when it has nothing to do, step by step: later and deeper ones follow. */
  readonly demote?: readonly Demotion[];
  /** What it may be put to besides level 5. */
  readonly naps?: readonly NapLevel[];
  /** The level at which it may be put away with requests in flight; undefined: it is drained. */
  readonly freezesAt?: NapLevel | undefined;
  /** How much host memory one engine holds where a level keeps it there, until that is measured. */
  readonly hostMib?: number | undefined;
  /** How much memory one engine takes of either kind, in MiB, where that is known. */
  readonly needs?: { readonly [kind in MemoryKind]?: number | undefined } | undefined;
  /** What is known of what its swaps cost, from earlier days. */
  readonly costs?: SavedCosts;
  /** What a request is answered that would have to bring it in; undefined when requests do bring it in. */
  readonly shut?: 'model_not_loaded' | 'model_disabled' | undefined;
};
