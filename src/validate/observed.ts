import type { Done } from '../engines/driver.ts';
import type { Link } from '../ports/links.ts';
import type { ProcessMemory } from '../ports/process-memory.ts';
import type { TrialLevel } from '../ports/verdicts.ts';
import type { Comparison } from './compare.ts';

/** What an engine holds at one moment. */
export type Held = {
  readonly gpu: GpuHeld;
  readonly processes: ProcessMemory;
};

/** In MiB, by the GPU's UUID. */
type ByGpu = Readonly<Record<string, number>>;

export type GpuHeld =
  /** What its own processes hold, as the driver lists them. */
  | { readonly kind: 'own'; readonly mib: number; readonly processes: number; readonly byGpu: ByGpu }
  /** The driver names no process of ours: only the use of all GPUs together is known. */
  | { readonly kind: 'devices'; readonly mib: number; readonly byGpu: ByGpu }
  | { readonly kind: 'unseen'; readonly why: string };

/** What moved in a leg, over what, and how many times as long it took as the link alone would. */
type Limit = {
  readonly link: Link;
  readonly mib: number;
  readonly ratio: number;
  /** Of how many GPUs the links were used side by side. */
  readonly gpus?: number | undefined;
};
export type Limits = { readonly sleep: Limit | undefined; readonly wake: Limit | undefined };

/** One sleep and one wake, with what was seen before, between and after. What was not come to is undefined. */
export type Cycle = {
  readonly before: Held;
  readonly pidBefore: number | undefined;
  readonly sleep?: Done;
  readonly asleep?: Held;
  readonly wake?: Done;
  readonly pidAfter?: number | undefined;
  readonly answer?: Comparison;
  readonly answerMs?: number;
  readonly stream?: string | undefined;
  /** What was wrong with the stream that was open while it slept. */
  readonly open?: string | undefined;
  readonly awake?: Held;
  /** The size of the image it was on disk as. */
  readonly imageMib?: number | undefined;
  readonly limits?: Limits;
  /** What broke it off. */
  readonly broken?: { readonly during: 'sleep' | 'wake' | 'answer'; readonly why: string };
};

/** All that was seen of one level. */
export type Observed = {
  readonly level: TrialLevel;
  readonly startMs: number;
  /** How many tokens the answer to compare with has; undefined when it is no text or they were not counted. */
  readonly tokens: number | undefined;
  readonly cycles: readonly Cycle[];
  readonly cyclesWanted: number;
};

/** What came of one level. */
export type Result = {
  readonly level: TrialLevel;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Where the fault lies: in the level, in the engine as it is started, or in what this place has. */
  readonly fault: 'level' | 'engine' | 'place' | undefined;
  readonly reasons: readonly string[];
  readonly notes: readonly string[];
  readonly observed: Observed | undefined;
};
