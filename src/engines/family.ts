import type { Trouble } from '../core/trouble.ts';
import type { Launched } from '../ports/checkpoints.ts';
import type { EngineAnswer } from '../ports/engine-http.ts';
import type { FamilyMemory } from '../ports/handover.ts';
import type { Argv } from './command-line.ts';
import type { Heard } from './heard.ts';
import type { OwnSleep, Sleeper } from './sleeper.ts';

/** What is particular to one family of servers that run as a process of ours. */
export interface Family {
  /** How its people call it; begins its error messages. */
  readonly name: string;
  /** Gets GET requests until `isReady` likes the answer. */
  readonly readinessPath: string;
  isReady(answer: EngineAnswer): boolean;
  /** The command line for this port. Rejects when it cannot work, with what to change. */
  launch(port: number): Promise<Launched>;
  /** Whether the engine works although nothing is heard from it. Bounded by the signal alone. */
  prove(engine: Questioned): Promise<boolean>;
  readonly servedName: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly stopCommand: ((pid: number, port: number) => Argv) | undefined;
  /** What it has read of conversations, where that is kept from its end to its next start. None rejects; both ways give what went wrong. */
  readonly conversations?: {
    save(sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined>;
    restore(sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined>;
    /** Once the process is gone: what it wrote on after it had been given up goes with it. */
    ended(): Promise<void>;
  };
  /** What is left to do once its server is up, before it can work: its model is loaded by a call. Rejects with what went wrong. */
  readonly load?: (sleeper: Sleeper, terms: Heard) => Promise<void>;
  /** Whether the server has put itself to sleep, by a rule of its own: how often to look, and the look, which wakes nobody and never rejects. */
  readonly doze?: {
    readonly everyMs: number;
    look(origin: string, signal: AbortSignal): Promise<boolean>;
  };
  /** On how many GPUs processes of it work together; 1 where nothing is said. */
  readonly ranks?: number;
  /** What to change where a start has failed so, if that is known, by what it printed. */
  remedy?(trouble: Trouble, printed: readonly string[]): string | undefined;
  /** Its own sleep calls, if it has any. */
  readonly ownSleep?: OwnSleep;
  /** What its start has decided beyond its settings, for another catnap, and from another one. */
  memory?(): FamilyMemory;
  recall?(memory: FamilyMemory): void;
}

/** A running engine that is asked for a sign of life. */
export type Questioned = {
  readonly origin: string;
  /** How many bytes it has printed so far. */
  printed(): number;
  readonly signal: AbortSignal;
};
