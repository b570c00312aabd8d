import type { EngineId, ModelId, NapLevel } from '../core/kinds.ts';
import type { Launched, Returning } from '../ports/checkpoints.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineAnswer, EngineCall } from '../ports/engine-http.ts';
import type { FamilyMemory, LevelsMemory } from '../ports/handover.ts';
import type { Child } from '../ports/process.ts';
import type { Done, Order } from './driver.ts';

/** What an engine's driver offers to a level: the engine, its process, and the means to hand it over. */
export interface Sleeper {
  readonly engine: EngineId;
  readonly model: ModelId;
  /** How its people call it; begins messages about it. */
  readonly name: string;
  readonly origin: string;
  readonly port: number;
  /** On how many GPUs processes of it work together. */
  readonly ranks: number;
  readonly clock: Clock;
  /** With what it was started. */
  readonly launched: Launched;
  /** The process that is the engine now: `pid` leads its group, `everyone()` is all that stems from it. */
  readonly child: Child;
  /** Asks the engine, with its key. The path begins with `/`. Never rejects. */
  call(path: string, terms: CallTerms): Promise<EngineAnswer>;
  /** Resolves when its readiness probe is answered; rejects at once when the process ends, and when the time is over. */
  untilReady(limitMs: number, signal: AbortSignal): Promise<void>;
  /** Whether it does the least of its work: one token. Bounded by the signal alone. */
  works(signal: AbortSignal): Promise<boolean>;
  /** What it says to one fixed question, in few words and without chance; undefined when it says nothing or writes no text. */
  sample(signal: AbortSignal): Promise<string | undefined>;
  /** From now on the end of the process is part of the sleep and no crash. */
  letGo(): void;
  /** This process is the engine from now on: one that was restored, or the one that was let go and goes on after all. */
  takeBack(child: Child): void;
  /** What it was to be woken from is gone. */
  lostSleep(): void;
}

export type CallTerms = Pick<EngineCall, 'method' | 'json' | 'limitMs' | 'headers' | 'onLine'> & {
  readonly signal: AbortSignal;
};

/** An engine that an earlier catnap has left on disk. */
export interface KeptEngine {
  readonly port: number;
  readonly savedAt: string;
  /** Whether it was made to be kept, and stays whatever becomes of this start. */
  readonly prepared: boolean;
  /** Why it would not be the engine that is started so; undefined: it is. */
  change(launched: Launched): Promise<string | undefined>;
  /** Begins to bring it back. */
  begin(signal: AbortSignal): Promise<Returning>;
  /** Sees it through, with its proofs, once what is on its way back is the engine's process. */
  finish(sleeper: Sleeper, returning: Returning, order: Order): Promise<Done>;
  /** Nothing will come of it now. */
  letBe(): Promise<void>;
  /** It is no good. */
  remove(): Promise<void>;
}

/** The sleep calls of a family of engines, in the steps they have in common. Each rejects with a line that says what went wrong. */
export interface OwnSleep {
  /** Whether it remembers things of the engine that it has to give it again after a wake. */
  readonly remembers?: boolean;
  /** What of that another catnap has to know, and what another one knew. */
  memory?(): FamilyMemory;
  recall?(memory: FamilyMemory): void;
  /** Why the running engine cannot do this level: its version, how it was started. */
  hindrance(level: 1 | 2, sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined>;
  /** Gives the GPU memory up. Level 1 keeps the weights in host memory, level 2 does not. */
  release(level: 1 | 2, sleeper: Sleeper, signal: AbortSignal): Promise<void>;
  /** Takes memory again: of one part, or of all of them. */
  resume(part: 'weights' | 'kv_cache' | 'all', sleeper: Sleeper, signal: AbortSignal): Promise<void>;
  /** Fills the weights again that level 2 has dropped. */
  reload(sleeper: Sleeper, signal: AbortSignal): Promise<void>;
  /** Whatever it remembers of earlier prompts is void. */
  forget(sleeper: Sleeper, signal: AbortSignal): Promise<void>;
  /** Why the communicators between its processes cannot be torn down; undefined: they can, or there are none. */
  partHindrance(sleeper: Sleeper): string | undefined;
  /** Tears them down, and sets them up again. */
  part(sleeper: Sleeper, signal: AbortSignal): Promise<void>;
  rejoin(sleeper: Sleeper, signal: AbortSignal): Promise<void>;
  /** What the engine says of itself; undefined when it cannot tell. */
  sleeps(sleeper: Sleeper, signal: AbortSignal): Promise<boolean | undefined>;
  /** Sees to it that whatever else was there is there again, such as adapters. */
  settle(level: 1 | 2, sleeper: Sleeper, signal: AbortSignal): Promise<void>;
}

/** All levels of one engine, each with the proofs that go with it. What a driver delegates to. */
export interface Sleeps {
  /** Why it cannot be put to this level now; undefined: it can. */
  hindrance(level: NapLevel, sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined>;
  /** It is about to be started, and takes memory until what this gives is called. A wake sees to that by itself. */
  comes(): () => void;
  /** It is awake, for the first time or again. Looks at what it holds, beside whatever else goes on. */
  roused(sleeper: Sleeper): void;
  sleep(level: NapLevel, sleeper: Sleeper, order: Order): Promise<Done>;
  /**
   * Looks at what it holds on the GPUs, before it is ended. What it gives is called after the end: it resolves once that is
   * free, or when that was waited for long enough. Neither rejects.
   */
  ending(sleeper: Sleeper, isAwake: boolean): Promise<(withinMs: number) => Promise<void>>;
  wake(level: NapLevel, sleeper: Sleeper, order: Order): Promise<Done>;
  /** What an earlier catnap has kept of this engine; undefined: nothing. */
  kept(engine: EngineId): Promise<KeptEngine | undefined>;
  /** What another catnap has to know of the engine as it is now. What was on disk is not looked after here any more. */
  memory(): LevelsMemory;
  /** What another catnap knew of it. Rejects where it can never come back with that. */
  recall(memory: LevelsMemory, sleeper: Sleeper): Promise<void>;
  /** Whether a process that sleeps so can act on SIGTERM. One that cannot is killed at once when it has to go. */
  hears(level: NapLevel): boolean;
  discard(level: NapLevel): Promise<void>;
}
