import type { CutCode } from '../core/errors.ts';
import type { EngineId, ModelId, NapLevel, SleepLevel, TicketId } from '../core/kinds.ts';
import type { Mode } from '../core/steering.ts';
import type { Launched } from './checkpoints.ts';
import type { LoadOverride } from './load-override.ts';

/**
 * Everything one catnap leaves to the next, as JSON. It holds secrets, so it goes over a pipe between the two and is never
 * written down. No engine is on its way anywhere at the moment at which it is made.
 */
export type Handover = {
  /** The shape of this. Whoever does not know it must not take over. */
  readonly version: 1;
  /** The version of the catnap that made it. */
  readonly catnap: string;
  /** The state folder, which both have to share. */
  readonly stateDir: string;
  readonly stages: readonly HandedStage[];
};

/** One stage. Its capacity was measured when nothing ran on it yet, which cannot be done again. */
export type HandedStage = {
  readonly name: string;
  readonly gpus: readonly string[];
  readonly counts: string;
  readonly capacity: number;
  readonly mode: Mode;
  readonly models: readonly HandedModel[];
};

/** What a stage and its operators know of a model. Times are how long ago something was: the two have clocks of their own. */
export type HandedModel = {
  readonly model: ModelId;
  /** What it took of the budget, and the engines that it could have. */
  readonly cost: number;
  readonly costEach: number | null;
  readonly keep: boolean;
  readonly engines: readonly EngineId[];
  /** How many of them come with it by the config, and by the last order of an operator. */
  readonly replicasSet: number;
  readonly replicas: number;
  readonly held: boolean;
  /** What an operator has set, if one has. */
  readonly level: SleepLevel | null;
  /** Orders to unload it that are being carried out, and how deep it goes for them. */
  readonly unload: { readonly orders: readonly TicketId[]; readonly level: SleepLevel } | null;
  readonly override: LoadOverride;
  /** Whether its engines were of an earlier config already. */
  readonly stale: boolean;
  readonly onForMs: number | null;
  readonly quietForMs: number | null;
  readonly running: readonly HandedEngine[];
  /** Requests that are still open with the catnap that leaves. They count until it says that they have ended. */
  readonly leases: readonly HandedLease[];
};

export type HandedLease = { readonly ticket: TicketId; readonly engine: EngineId };

/** An engine that runs or sleeps. Those that are off or have failed are not handed over. */
export type HandedEngine = {
  readonly engine: EngineId;
  readonly phase: { readonly kind: 'awake' } | { readonly kind: 'asleep'; readonly level: NapLevel };
  /** The settings that it was started with, as whoever made its driver has written them. */
  readonly definition: string;
  /** Of one that sleeps: what it holds so. */
  readonly holds?: HandedHolds | undefined;
  /** Null: it has no process of its own. */
  readonly life: HandedLife | null;
};

/** In MiB, as it was seen when it fell asleep. What nobody could see is left out. */
export type HandedHolds = {
  readonly gpuMib?: number | undefined;
  readonly hostMib?: number | undefined;
  readonly diskMib?: number | undefined;
};

/** What a driver knows of its running engine. */
export type HandedLife = {
  readonly process: HandedProcess;
  readonly launched: Launched;
  readonly memory: HandedMemory;
  /** Whether it was brought back from an image that is there for every start, until an engine that came from it fails. */
  readonly prepared?: boolean | undefined;
};

/** What has to be remembered of a running engine beyond its settings. */
export type HandedMemory = {
  readonly levels: LevelsMemory;
  readonly family: FamilyMemory;
};

export type LevelsMemory = {
  /** What it held of the GPUs when it was last awake. */
  readonly held?: HandedMark | undefined;
  /** What it answered to the sample question when it was well. */
  readonly sample?: string | undefined;
  readonly each: Readonly<Record<string, LevelMemory>>;
};

export type LevelMemory = {
  readonly sample?: string | undefined;
  /** Why it did not come back once. */
  readonly spoiled?: string | undefined;
  /** Whose GPU state lies in host memory, and how many MiB of each device they need to come back. */
  readonly frozen?: { readonly pids: readonly number[]; readonly needs: Readonly<Record<string, number>> } | undefined;
  /** Where it lies on disk, and what was done to it before. */
  readonly disk?: { readonly image: HandedImage; readonly slept: boolean; readonly onGpu: boolean } | undefined;
};

export type HandedMark =
  | { readonly kind: 'own'; readonly mib: number; readonly processes: number }
  | { readonly kind: 'devices'; readonly usedMib: Readonly<Record<string, number>> }
  | { readonly kind: 'unseen'; readonly reason: string };

/** An engine on disk. */
export type HandedImage = {
  readonly path: string;
  readonly listing: string;
  readonly bytes: number;
  readonly connected: boolean;
  readonly kept: 'no' | 'once' | 'prepared';
};

/** What its start decided, and what was learned of it since. Each family reads what is its own. */
export type FamilyMemory = {
  readonly args?: readonly string[] | undefined;
  readonly adapters?: readonly { readonly name: string; readonly path: string }[] | undefined;
  readonly communicators?: { readonly part: string; readonly rejoin: string } | undefined;
  /** The process that was last told to give its memory up. */
  readonly released?: number | undefined;
  readonly keys?: { readonly user: string; readonly admin: string } | undefined;
  readonly ask?: Readonly<Record<string, unknown>> | undefined;
  /** What its conversations are kept under. */
  readonly conversations?: string | undefined;
};

/** A process that another catnap has started, and how far its log has been read. */
export type HandedProcess = {
  readonly engine: EngineId;
  readonly model: ModelId;
  readonly port: number;
  readonly mark: string;
  /** At level 4: the one that was written to disk. */
  readonly pid: number;
  /** In ticks since boot. */
  readonly started: number;
  readonly log: HandedLog;
};

export type HandedLog = { readonly begin: number; readonly rotated: number; readonly followed: number };

/** What the one that has taken over asks of the one that still serves what was open: to end these requests. */
export type HandedCut = {
  readonly tickets: readonly TicketId[];
  readonly code: CutCode;
  readonly reason: string;
  readonly mayReturn: boolean;
};

/** The catnap before, as the one that takes over sees it. */
export interface Predecessor {
  /**
   * Asked once, when everything that can go wrong before has gone well. It resolves with a `Handover`, unread, when the other has let go of its engines, its log files and its
   * state folder; from then on they are ours.
   */
  takeOver(): Promise<unknown>;
  /** Ends requests that are open there. Each is told as settled once it has ended. */
  cut(cut: HandedCut): void;
}
