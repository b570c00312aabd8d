import type { SleepLevel } from '../core/kinds.ts';

/** What a validation can try: a level, level 4 without a sleep before it, or levels 3 and 4 with a stream open. */
export type TrialLevel = SleepLevel | '4full' | '3f' | '4f';

/** What an engine and its surroundings were when a level was tried. A verdict holds only where all of it is the same. */
export type Identity = {
  readonly backend: string;
  /** What of the model's settings decides which engine is started: a hash. */
  readonly settings: string;
  /** A mark that is another one as soon as the engine's program is; undefined where there is no program. */
  readonly program: string | undefined;
  /** As the engine tells it; undefined when it does not. */
  readonly version: string | undefined;
  /** The driver of the GPU; undefined when there is none, or none can be asked. */
  readonly driver: string | undefined;
};

/** What one engine was seen to hold, in MiB; undefined where that could not be seen. */
export type SeenMib = { readonly gpu: number | undefined; readonly host: number | undefined };

/** What came of trying one level of one model. */
export type Verdict = {
  readonly model: string;
  readonly level: TrialLevel;
  readonly passed: boolean;
  /** Why it failed, in one line; empty when it passed. */
  readonly reason: string;
  readonly at: Date;
  /** What it held awake, and at this level, where it passed. */
  readonly held?: { readonly awake: SeenMib; readonly asleep: SeenMib } | undefined;
  readonly identity: Identity;
};

/** The verdicts of earlier validations, on disk. */
export interface VerdictBook {
  /** What can be read; what cannot is set aside and told. */
  read(): Promise<readonly Verdict[]>;
  /** Adds them; each takes the place of an older one on the same model, level and identity. */
  add(verdicts: readonly Verdict[]): Promise<void>;
}
