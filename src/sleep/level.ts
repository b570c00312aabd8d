import type { EngineId, NapLevel } from '../core/kinds.ts';
import type { Done, Order } from '../engines/driver.ts';
import type { KeptEngine, Sleeper } from '../engines/sleeper.ts';
import type { LevelMemory } from '../ports/handover.ts';

/** One way to put an engine away and to get it back. One instance per engine; it may remember what it needs for the way back. */
export interface Level {
  readonly level: NapLevel;
  /**
   * Why this engine cannot be put to this level here, as something to change; undefined: it can.
   * Asked before every sleep, when nothing has been done yet, so it may look at the running engine and at the machine.
   */
  hindrance(sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Called when no request is open and connections to the engine are closed. Whether the memory is really back is
   * looked at afterwards, by others. When it rejects, the engine may be in any state: a deeper level or the end is next.
   */
  sleep(sleeper: Sleeper, order: Order): Promise<Done>;
  /** When it rejects the process is ended and started again. The engine is probed afterwards, by others. */
  wake(sleeper: Sleeper, order: Order): Promise<Done>;
  /** Whether it was ready in its last wake and has said something: then nobody needs to ask it once more. */
  readonly hasSpoken?: boolean;
  /** What an earlier catnap has kept of this engine; undefined: nothing. */
  kept?(engine: EngineId): Promise<KeptEngine | undefined>;
  /** The sleeper will not be woken any more: what was kept for it (an image on disk) can go. Its process is proven gone by then. */
  discard?(): Promise<void>;
  /** What another catnap has to know of an engine that is awake, or sleeps so. */
  memory?(): LevelMemory;
  /** What another catnap knew of it. Rejects when it cannot come back with that. */
  recall?(memory: LevelMemory, sleeper: Sleeper): Promise<void>;
}
