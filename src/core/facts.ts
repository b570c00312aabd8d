import type { EnginePhase } from './engine.ts';
import type { ErrorCode } from './errors.ts';
import type { HookName, HookResult } from './hooks.ts';
import type { EngineId, ModelId, NapLevel, SleepLevel } from './kinds.ts';
import type { Outcome } from './outcome.ts';
import type { Failure } from './restart.ts';
import type { SwapRecord } from './swap.ts';

/** Everything worth telling: past tense, told once. The log, the metrics and the journal are renderings of it. */
export type Fact =
  | { readonly kind: 'listening'; readonly what: 'main' | 'admin' | 'metrics'; readonly url: string }
  | { readonly kind: 'stopped'; readonly uptimeMs: number }
  | { readonly kind: 'shutdown-asked'; readonly by: string; readonly inFlight: number; readonly waiting: number }
  | { readonly kind: 'warned'; readonly message: string }
  | {
      readonly kind: 'leftover-reaped';
      readonly engine: string;
      readonly model: string;
      readonly pid: number;
      readonly port: number;
      readonly gone: boolean;
    }
  | {
      readonly kind: 'engine-moved';
      readonly engine: EngineId;
      readonly model: ModelId;
      readonly from: EnginePhase['kind'];
      readonly to: EnginePhase['kind'];
    }
  | {
      readonly kind: 'engine-failed';
      readonly engine: EngineId;
      readonly model: ModelId;
      readonly failure: Failure;
      readonly retryInMs: number;
      readonly lastLines: readonly string[];
    }
  | {
      readonly kind: 'sleep-escalated';
      readonly engine: EngineId;
      readonly model: ModelId;
      readonly from: NapLevel;
      /** What is done in its place; 5 is the end of the process. */
      readonly to: SleepLevel;
      readonly reason: string;
      readonly lastLines: readonly string[];
    }
  | {
      readonly kind: 'engine-stuck';
      readonly engine: EngineId;
      readonly model: ModelId;
      readonly reason: string;
    }
  | {
      readonly kind: 'hook-ended';
      readonly engine: EngineId;
      readonly model: ModelId;
      readonly hook: HookName;
      /** The level it was run for, around a sleep or a wake. */
      readonly sleepLevel: NapLevel | undefined;
      readonly result: HookResult;
      /** Whether the engine was not let go on because of it. */
      readonly fatal: boolean;
      readonly ms: number;
      /** Why it failed; empty where it did not. */
      readonly reason: string;
    }
  | {
      readonly kind: 'engine-started';
      readonly engine: EngineId;
      readonly model: ModelId;
      readonly pid: number;
      readonly port: number;
      /** As a person would type it, secrets masked. */
      readonly commandLine: string;
      /** Of one that was brought back from an image that was kept: when that was written. */
      readonly savedAt?: string;
      /** Whether it was taken over from another catnap. */
      readonly adopted?: true;
    }
  | {
      readonly kind: 'swap-planned';
      readonly swap: number;
      readonly to: ModelId;
      readonly from: readonly ModelId[];
      /** What the wanted model comes back from; 5 is a fresh start. */
      readonly level: SleepLevel;
      readonly waiting: number;
    }
  | {
      /** The wanted model comes in while these still leave, into memory that was measured to be free. */
      readonly kind: 'swap-overlaps';
      readonly swap: number;
      readonly to: ModelId;
      readonly beside: readonly ModelId[];
      readonly freeMib: number;
    }
  | {
      /** A start ran out of memory, and is tried once more when these have made room. */
      readonly kind: 'start-short-of-memory';
      readonly model: ModelId;
      readonly reason: string;
      readonly from: readonly ModelId[];
    }
  | {
      /** A model had nothing to do, and is put away or deeper. */
      readonly kind: 'model-demoted';
      readonly model: ModelId;
      /** How deep it was; undefined when it was awake. */
      readonly from: SleepLevel | undefined;
      readonly to: SleepLevel;
      readonly idleMs: number;
    }
  | {
      /** Sleepers may not hold so much host memory: one is put deeper, or not put where it would hold it. */
      readonly kind: 'host-memory-short';
      readonly model: ModelId;
      readonly from: SleepLevel;
      readonly to: SleepLevel;
      /** What it holds, or would. */
      readonly mib: number;
      readonly limitMib: number;
      /** Who needs the room; itself when it would not fit; undefined when more is held than was thought. */
      readonly for: ModelId | undefined;
    }
  /** A model makes room with requests in flight, which stand still until it is back. */
  | {
      readonly kind: 'requests-frozen';
      readonly model: ModelId;
      readonly count: number;
      readonly level: NapLevel;
      /** Who needs the room; undefined for whoever may not know. */
      readonly for: ModelId | undefined;
    }
  | { readonly kind: 'requests-thawed'; readonly model: ModelId; readonly count: number; readonly frozenMs: number }
  | { readonly kind: 'swap-finished'; readonly record: SwapRecord }
  | {
      /** What was read ahead for a model, so that its engine finds it in memory. */
      readonly kind: 'prefetch-ended';
      readonly model: ModelId;
      readonly why: PrefetchReason;
      readonly end: 'whole' | 'bound' | 'memory' | 'disk' | 'stopped' | 'failed';
      readonly bytes: number;
      readonly ms: number;
      readonly reason: string | undefined;
    }
  /** A request announced a model with `x-catnap-next`, and nothing was done about it. */
  | { readonly kind: 'next-ignored'; readonly name: string; readonly reason: 'unknown' | 'busy' }
  | { readonly kind: 'leases-cut'; readonly model: ModelId; readonly count: number; readonly code: ErrorCode }
  | { readonly kind: 'request-arrived'; readonly model: ModelId }
  /** It was cut by the deadline of a drain before it had a byte, and waits at its place once more. */
  | { readonly kind: 'request-returned'; readonly model: ModelId }
  | { readonly kind: 'request-granted'; readonly model: ModelId; readonly waitedMs: number }
  | { readonly kind: 'request-ended'; readonly request: RequestRecord }
  | { readonly kind: 'certificate-renewed'; readonly file: string }
  /** The config was read again: what is different from now on. */
  | { readonly kind: 'config-reloaded'; readonly by: string; readonly changes: ConfigChanges }
  /** It was read and is not used: everything stays as it was. */
  | { readonly kind: 'config-refused'; readonly by: string; readonly problems: readonly string[] }
  /** A fresh catnap is to take over. */
  | { readonly kind: 'restart-asked'; readonly by: string }
  /** It does not, and everything stays as it was. */
  | { readonly kind: 'restart-called-off'; readonly by: string; readonly problems: readonly string[] }
  | {
      /** Another catnap has everything now; this one serves the requests that were open. */
      readonly kind: 'handed-over';
      readonly by: string;
      /** Of the other one. */
      readonly version: string;
      readonly engines: number;
      readonly requests: number;
      /** For how long nobody was let in. */
      readonly gapMs: number;
    }
  | {
      /** This catnap has everything now that another one had. */
      readonly kind: 'taken-over';
      readonly version: string;
      readonly engines: number;
      readonly requests: number;
    }
  /** What was open when another one took over has ended, and this one with it. */
  | { readonly kind: 'left'; readonly uptimeMs: number }
  /** A model that the config has no more is proven gone. */
  | { readonly kind: 'model-forgotten'; readonly model: ModelId }
  | {
      /** Somebody changed something by way of the control planes, or tried to. */
      readonly kind: 'admin-acted';
      readonly request: string;
      /** The name of his key; undefined when he needed none or had none. */
      readonly key: string | undefined;
      readonly peer: string;
      /** Method and path, without the query. */
      readonly action: string;
      /** Whom it was about, where that became known. */
      readonly model?: ModelId | undefined;
      /** What he asked for beside it, such as `hold` or `level=1`: no value that could be a secret. */
      readonly terms?: readonly string[] | undefined;
      /** What he was answered. */
      readonly status: number;
    }
  | { readonly kind: 'client-error'; readonly reason: string };

/** Names alone; a value might be a secret. */
export type ConfigChanges = {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly { readonly model: string; readonly keys: readonly ConfigChange[] }[];
  readonly settings: readonly ConfigChange[];
  /** How many models stay as they are. */
  readonly unchanged: number;
};

/** A key that has another value, and from when on it holds. */
export type ConfigChange = { readonly key: string; readonly holds: string };

/** Why a model is likely to be next: it is, somebody says so, or it mostly was. */
export type PrefetchReason = 'swap' | 'announced' | 'guessed';

/** One request, told once when it has ended. */
export type RequestRecord = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** The name of the key it came with; undefined without one. */
  readonly key?: string | undefined;
  /** Undefined when the request named no model we know. */
  readonly model: ModelId | undefined;
  readonly outcome: Outcome;
  /** What the client saw, or 499 when it had left before. */
  readonly status: number;
  /** Set when the answer was ours and not the engine's. */
  readonly code: ErrorCode | undefined;
  readonly queuedMs: number;
  /** From the grant to the engine's first byte. */
  readonly firstByteMs: number | undefined;
  readonly totalMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
};
