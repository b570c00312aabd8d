import type { EngineGoal, EnginePhase } from '../core/engine.ts';
import type { EngineId, Millis, ModelId, SleepLevel } from '../core/kinds.ts';
import type { Mode } from '../core/steering.ts';
import type { LoadOverride } from '../ports/load-override.ts';

/** What every face shows: one reading of the whole state, taken between two events. Nobody decides by it. */
export type StageView = {
  readonly now: Millis;
  readonly accepting: boolean;
  readonly mode: Mode;
  readonly models: readonly ModelView[];
  readonly stages: readonly BoardView[];
  /** When a request for the model that came now would be answered, by what is known: 0 for one that is awake. Found out for all when one is asked for. */
  readonly readyInMs: (model: ModelId) => number;
  /** One that is under way; with several stages each has its own. */
  readonly swap: SwapView | undefined;
};

export type SwapView = {
  readonly id: number;
  readonly to: ModelId;
  readonly from: readonly ModelId[];
  readonly sinceMs: number;
};

/** One stage: what it has, and how much of it is taken. */
export type BoardView = {
  readonly name: string;
  readonly gpus: readonly string[];
  /** What its budget counts: `gpu_mib`, `host_mib` or `models`. */
  readonly counts: string;
  readonly capacity: number;
  /** By those who are awake, on their way, or not proven gone. */
  readonly taken: number;
  /** A pin holds for its stage alone. */
  readonly mode: Mode;
  readonly swap: SwapView | undefined;
};

export type ModelView = {
  readonly model: ModelId;
  readonly stage: string;
  /** How much of the budget of its stage it takes, or would. */
  readonly room: number;
  readonly kept: boolean;
  /** Whether it has room and waits only for others to have loaded. */
  readonly waitsForLoads: boolean;
  /** Its part on the stage: out, summoned, entering, on, draining, leaving. */
  readonly part: string;
  readonly waiting: number;
  /** Whether an operator waits for it to be loaded. */
  readonly loadWaits: boolean;
  /** Whether an operator waits for it to be put away. */
  readonly unloadWaits: boolean;
  /** Whether an operator has put it away for good. */
  readonly held: boolean;
  /** How many of its engines come with it. */
  readonly replicas: number;
  /** What its last load had different from the config. */
  readonly override: LoadOverride;
  readonly oldestWaitMs: number | undefined;
  readonly inFlight: number;
  /** How many of those stand still, since their engine was put away with them. */
  readonly frozen: number;
  readonly sleepLevel: SleepLevel;
  /** The same, where an operator has set it. */
  readonly levelSet: SleepLevel | undefined;
  /** Whether its engines are of an earlier config. */
  readonly stale: boolean;
  /** Whether the config has it no more: it is listed until it is gone. */
  readonly departs: boolean;
  readonly engines: readonly EngineView[];
  /** What starting or waking this model is expected to take, from what was seen. */
  readonly startEstimateMs: number | undefined;
};

/** Mebibytes a sleeper holds, as they were seen when it fell asleep; undefined: nobody could see. */
export type Holds = {
  readonly gpuMib: number | undefined;
  readonly hostMib: number | undefined;
  readonly diskMib: number | undefined;
};

export type EngineView = {
  readonly engine: EngineId;
  readonly phase: EnginePhase;
  readonly goal: EngineGoal;
  readonly pid: number | undefined;
  readonly port: number | undefined;
  /** What it holds while it sleeps; undefined while it does not. */
  readonly holds?: Holds | undefined;
  /** Whether it has put itself to sleep while it counts as awake. */
  readonly dozes?: boolean;
};

export interface StageReader {
  view(): StageView;
}
