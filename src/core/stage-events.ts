import type { Commons } from './commons.ts';
import type { EngineGoal, EnginePhase } from './engine.ts';
import type { CutCode, RefusalCode } from './errors.ts';
import type { Fact } from './facts.ts';
import type { HandedMember } from './handover.ts';
import type { EngineId, Millis, ModelId, SleepLevel, TicketId } from './kinds.ts';
import type { ModelTerms } from './terms.ts';
import type { IdleTarget } from './homing.ts';
import type { MemoryReading, OverlapBy } from './overlap.ts';
import type { Place, Priority } from './place.ts';
import type { Policy } from './policy/policy.ts';
import type { Failure } from './restart.ts';
import type { Mode } from './steering.ts';
import type { Took } from './swap.ts';

/** What a request asks for beside its model. */
export type TicketTerms = {
  readonly priority?: Priority;
  /** How long it waits for its turn, where that is less than others do. */
  readonly withinMs?: number | undefined;
  /** Nobody is put away for it: it is refused unless its model is awake or on its way. */
  readonly bound?: boolean;
  /** It had a lease that was cut and it may return from that: it stands where it stood before. */
  readonly place?: Place | undefined;
};

/** What can happen to a stage. Requests, engines, clients, operators and the clock all come through here, one at a time. */
export type StageEvent =
  | {
      readonly kind: 'ticket-arrived';
      readonly ticket: TicketId;
      readonly model: ModelId;
      readonly terms?: TicketTerms;
    }
  | { readonly kind: 'ticket-abandoned'; readonly ticket: TicketId; readonly model: ModelId }
  | { readonly kind: 'lease-settled'; readonly ticket: TicketId; readonly model: ModelId }
  | {
      readonly kind: 'engine-moved';
      readonly engine: EngineId;
      readonly model: ModelId;
      readonly phase: EnginePhase;
      readonly took: Took | undefined;
    }
  /** What is free, and what those who leave still hold, was measured. */
  | { readonly kind: 'memory-read'; readonly reading: MemoryReading }
  | ({ readonly kind: 'load-asked'; readonly order: TicketId; readonly model: ModelId } & LoadTerms)
  | ({ readonly kind: 'unload-asked'; readonly order: TicketId; readonly model: ModelId } & UnloadTerms)
  | { readonly kind: 'level-set'; readonly model: ModelId; readonly level: LevelOrder }
  | { readonly kind: 'mode-set'; readonly mode: Mode['kind'] }
  | ({ readonly kind: 'models-set' } & RevisedTerms)
  | { readonly kind: 'shutdown-asked'; readonly withinMs: number }
  /** It is to let go of its engines: nothing new is begun until it does, or is told to go on after all. */
  | { readonly kind: 'standstill-asked' }
  | { readonly kind: 'standstill-over' }
  | { readonly kind: 'let-go' }
  /** The first event of a stage that takes engines over. `anew`: whose engines are to be others than they are. */
  | {
      readonly kind: 'handed-over';
      readonly mode: Mode;
      readonly models: readonly HandedMember[];
      readonly anew: readonly ModelId[];
    }
  | { readonly kind: 'time-passed' };

export type LoadTerms = {
  /** `switch` pins the model when swaps are in manual mode, `pin` puts them into it; either is taken back when the load fails. */
  readonly as: 'load' | 'switch' | 'pin';
  /** It must not come from its sleep: it is to start with other arguments. */
  readonly fresh: boolean;
  /** How many engines it is to come with from now on; undefined: as many as before. */
  readonly replicas: number | undefined;
  /** False: it is refused where somebody would have to go for it. */
  readonly evicts?: boolean | undefined;
  readonly setsLevel?: LevelOrder | undefined;
};

/** How deep a model is put away from now on; null: as the config says again. */
export type LevelOrder = SleepLevel | null;

/** Another config: who is there from now on, and by what rules. The budget stays. */
export type RevisedTerms = {
  readonly options: Omit<StageOptions, 'capacity'>;
  /** Whose engines are to be others than they are. */
  readonly anew: readonly ModelId[];
};

export type UnloadTerms = {
  readonly level: SleepLevel;
  /** Whether no request may bring it back. */
  readonly hold: boolean;
  readonly setsLevel?: LevelOrder | undefined;
};

/** What the stage wants done. Data only: the actor around it does the doing. */
export type StageEffect =
  /** From now on the ticket is a lease on this engine. */
  | {
      readonly kind: 'grant';
      readonly ticket: TicketId;
      readonly model: ModelId;
      readonly engine: EngineId;
      /** Where it stood in line. */
      readonly place: Place;
      /** How long it waited in all, and for how much of that its own model was on the way. */
      readonly waitedMs: number;
      readonly enteringMs: number;
    }
  | {
      readonly kind: 'reject';
      readonly ticket: TicketId;
      readonly model: ModelId;
      readonly code: RefusalCode;
      readonly reason: string;
      readonly retryAt?: Millis | undefined;
      /** For `engine_failed`: what is wrong with the engine. */
      readonly failure?: Failure;
    }
  /** An operator's order has been carried out. */
  | { readonly kind: 'order-done'; readonly order: TicketId; readonly model: ModelId }
  /** End these leases; each is settled by its holder as ever. */
  | {
      readonly kind: 'cut';
      readonly tickets: readonly TicketId[];
      readonly model: ModelId;
      readonly code: CutCode;
      readonly reason: string;
      /** Whether those who have had nothing of their answer may come back to their place. */
      readonly mayReturn: boolean;
    }
  /** These leases stand still while their engine is put away with them, and go on once it is back. They may be settled at any time. */
  | { readonly kind: 'freeze' | 'thaw'; readonly tickets: readonly TicketId[]; readonly model: ModelId }
  /** `atOnce`: an operator asks, who waits for no pause after a failure, or has seen it. */
  | { readonly kind: 'set-goal'; readonly engine: EngineId; readonly goal: EngineGoal; readonly atOnce: boolean }
  /** These engines of the model are off and never wanted again. */
  | { readonly kind: 'dismissed'; readonly model: ModelId; readonly engines: readonly EngineId[] }
  | { readonly kind: 'tell'; readonly fact: Fact }
  /** A model has loaded for which others wait, here or on another stage: each looks again. */
  | { readonly kind: 'load-over' }
  /** Everything is off; nothing more will come. */
  | { readonly kind: 'closed' };

export type StageOptions = {
  readonly models: readonly ModelTerms[];
  /** The budget, in the unit of the models' costs. By default each costs 1 and one fits. */
  readonly capacity: number;
  readonly policy: Policy;
  readonly drains: boolean;
  readonly drainMs: number;
  readonly minActiveMs: number;
  /** Whether the start of a model is called off when nobody waits for it any more. */
  readonly cancelsAbandoned?: boolean;
  /** Whether one may come in beside others who still leave, and how those count then; undefined: it waits until they have gone. */
  readonly overlap?: OverlapBy | undefined;
  readonly idleTarget?: IdleTarget | undefined;
  /** How much earlier than it came a request counts as having come, for each step of priority. */
  readonly priorityStepMs: number;
  /** How much host memory sleepers may hold, on all stages together; undefined: as much as they like. */
  readonly hostLimitMib?: number | undefined;
  /** What it has in common with other stages; undefined: it is alone. */
  readonly commons?: Commons;
};
