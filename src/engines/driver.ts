import type { NapLevel } from '../core/kinds.ts';
import type { Left } from '../core/swap.ts';
import type { Trouble } from '../core/trouble.ts';
import type { HandedEngine, HandedLife } from '../ports/handover.ts';
import type { HookEnd } from './hooks.ts';

/** Where requests for an awake engine go. One object per start or wake: a restarted engine is another backend. */
export type Backend = {
  /** `http://127.0.0.1:8001`, or the base URL of a remote one, without a trailing slash. */
  readonly origin: string;
  /** The name this engine knows its model by; what clients wrote is replaced by it. Undefined: the body is passed as it is. */
  readonly servedName: string | undefined;
  /** Set on each request in place of what the client sent, e.g. the engine's own `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborted before the engine is stopped or put to sleep, and when its process is lost: connections to it are then useless. */
  readonly gone: AbortSignal;
};

/** One command's terms. When the signal fires the driver must give up at once; its answer is no longer wanted. */
export type Order = {
  readonly epoch: number;
  readonly signal: AbortSignal;
  /** Of a sleep: requests are in flight, and their connections have to be there when it is awake again. */
  readonly open?: boolean;
  /** Of a sleep: to be called once the engine takes no memory of the GPU again, whatever comes of the rest. */
  readonly onlyGives?: () => void;
};

/** What a driver tells about the time its command took: the act itself, and the proof that it worked. */
export type Done = {
  /** Milliseconds of the act: process spawned to first answer; SIGTERM to exit. */
  readonly actMs: number;
  /** Milliseconds of the proof: readiness after the first answer; group empty, port free, memory back. */
  readonly proofMs: number;
  /** After a sleep: what it still holds, as far as that was seen. */
  readonly left?: Left | undefined;
};

/**
 * How one engine of one model is started, put away, woken and stopped. One instance per engine (replica).
 * Methods reject with an Error whose message is one line an operator understands; `DriverError` adds what kind of trouble it is.
 */
export interface Driver {
  /** The backend of the running process; defined from a successful start until its end. */
  readonly backend: Backend | undefined;
  readonly running: Running | undefined;
  /** Whether the engine, awake as far as we are concerned, has put itself to sleep and will wake by itself; undefined where it has no such rule. */
  readonly dozes?: boolean;
  /** Every living process that is the engine's own; of one that sleeps those that were found when it fell asleep. None where it has no process of its own, and while it is on disk. */
  members(): Promise<readonly number[]>;
  /** Why the running engine cannot be put to this level here, as something to change; undefined: it can. */
  hindrance(level: NapLevel, signal: AbortSignal): Promise<string | undefined>;
  /** Rejects, too, when the process ends before it is ready; `exited` is then not told. */
  start(order: Order): Promise<Done>;
  sleep(level: NapLevel, order: Order): Promise<Done>;
  wake(level: NapLevel, order: Order): Promise<Done>;
  /**
   * Ends the process, whatever state it is in, and proves it gone. Resolves at once when there is none.
   * A second call joins the first; after one that failed it goes on where that one gave up.
   */
  stop(order: Order): Promise<Done>;
  /** Whether the engine still does work although nothing is heard from it: a one-token request, or progress of its own. */
  prove(signal: AbortSignal): Promise<boolean>;
  /** The last lines the engine printed. */
  tail(lines: number): readonly string[];
  /** Lets go of an engine at rest without stopping it, for `adopt` elsewhere. It is not looked at any more; null: it has no process of its own. */
  release(): HandedLife | null;
  /**
   * In place of a start: the engine runs already. Resolves once it is known how it does; rejects when it does not answer and never will.
   * That its process has ended is told as `exited`.
   */
  adopt(handed: Adopted, order: Order): Promise<void>;
}

/** An engine that another catnap has started, with the settings that this driver is made of. */
export type Adopted = Pick<HandedEngine, 'phase' | 'life'>;

/** What runs, for people. */
export type Running = {
  readonly pid: number;
  readonly port: number;
  /** As a person would type it, secrets masked. */
  readonly commandLine: string;
  /** Of one that was brought back from an image that was kept: when that was written. */
  readonly savedAt?: string;
  /** Whether it was taken over from another catnap. */
  readonly adopted?: true;
};

/** What a driver tells its owner without being asked. */
export interface DriverEvents {
  /** There is a process; whether it will ever be ready is another matter. */
  spawned(running: Running): void;
  /** The process with this epoch of birth, once ready, ended without a stop of ours. */
  exited(born: number, reason: string): void;
  /** It sleeps, and there is no way back but a fresh start: what it was to be woken from is gone. Who took that has told why. */
  lostSleep(born: number): void;
  /** Something an operator should know that fails nothing: an own stop command that failed. */
  warned(message: string): void;
  /** A hook of the operator's has been run. */
  hooked(end: HookEnd): void;
}

export class DriverError extends Error {
  override readonly name = 'DriverError';
  /** What kind of trouble it is, where that is known. */
  readonly trouble: Trouble | undefined;
  constructor(message: string, trouble?: Trouble) {
    super(message);
    this.trouble = trouble;
  }
}
