import type { SleepLevel } from '../core/kinds.ts';

/** What was seen of this machine, before anybody says what it means. */
export type Machine = {
  readonly version: string;
  readonly node: string;
  /** Name and release of the system. */
  readonly system: string;
  readonly isRoot: boolean;
  /** Whether sudo runs anything without a password; undefined where it was not needed. */
  readonly sudo: boolean | undefined;
  readonly engines: readonly EngineProgram[];
  readonly gpu: GpuSeen;
  /** The program for levels 3 and hybrid. `acts`: whether it knows actions, which old ones do not. `mayRun`: whether it may be run as root. */
  readonly cudaCheckpoint: { readonly path: string; readonly acts: boolean; readonly mayRun: boolean } | undefined;
  /** Why level 4 cannot work here; undefined: it can. */
  readonly criuHindrance: string | undefined;
  readonly memory: MemorySeen;
  readonly ports: readonly PortSeen[];
  readonly stateDir: { readonly path: string; readonly fault: string | undefined; readonly heldBy: string | undefined };
  readonly imagesDir: { readonly path: string; readonly freeMib: number | undefined };
};

export type EngineProgram = {
  readonly command: string;
  /** The key of the config that names it. */
  readonly key: string;
  /** The models it is to run; none where there is no config yet. */
  readonly models: readonly string[];
  readonly path: string | undefined;
  readonly version: string | undefined;
};

export type GpuSeen =
  | { readonly kind: 'absent'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }
  | {
      readonly kind: 'read';
      readonly driver: string | undefined;
      readonly devices: readonly { readonly name: string; readonly totalMib: number; readonly freeMib: number }[];
      /** Whether any of them forgets its driver between two uses, and whether any is split (MIG). */
      readonly forgets: boolean;
      readonly isSplit: boolean;
      /** What the config names and that is not there, in words. */
      readonly absent: readonly string[];
    };

export type MemorySeen = {
  readonly totalMib: number;
  readonly availableMib: number;
  /** What the control group allows; undefined: no limit, or none is known. */
  readonly groupLimitMib: number | undefined;
  readonly openFiles: number | undefined;
  /** How many there are before they come round again. */
  readonly processNumbers: number | undefined;
};

export type PortSeen = { readonly key: string; readonly port: number; readonly isFree: boolean };

/** One model, as far as its levels go. */
export type ModelSeen = {
  readonly model: string;
  readonly backend: string;
  readonly wanted: SleepLevel;
  readonly allowed: readonly SleepLevel[];
  /** Levels that make sense for its engine, whether or not this version carries them out. */
  readonly sensible: readonly SleepLevel[];
  readonly works: readonly SleepLevel[];
  /** The program its engine is; undefined when it needs none. */
  readonly program: EngineProgram | undefined;
  /** What is known against a level in the engine's version. */
  readonly knownBad: ReadonlyMap<SleepLevel, string>;
  /** Levels that failed a validation that holds, with the reason; and those that passed. */
  readonly failed: ReadonlyMap<SleepLevel, string>;
  readonly passed: readonly SleepLevel[];
};
