import type { EngineId, ModelId } from '../core/kinds.ts';
import type { HandedProcess } from './handover.ts';

/** What is started: one engine's server, in a session and process group of its own, stdin from /dev/null, output to a file. */
export type SpawnSpec = {
  readonly engine: EngineId;
  readonly model: ModelId;
  /** The command line, program first. No shell. */
  readonly argv: readonly [string, ...string[]];
  /** The whole environment beyond the clean base that the adapter gives (PATH, HOME, locale, GPU variables; never ours). */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** The port the server will listen on; written to the registry on disk. */
  readonly port: number;
};

export type Exit = { readonly code: number | null; readonly signal: string | null };

export interface Child {
  readonly pid: number;
  /** Settles when the leader of the group has exited; never rejects. */
  readonly exited: Promise<Exit>;
  readonly hasExited: boolean;
  /** To the whole group; a group that is already gone is not an error. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
  /** Every living process that is provably of this child: its group, its session, and whatever carries its mark. Zombies do not count. */
  members(): Promise<readonly number[]>;
  /** The same after a full look at the process table, while `members` may name only those it knows already. */
  everyone(): Promise<readonly number[]>;
  /** The last lines it printed, ANSI stripped, both streams together. */
  tail(lines: number): readonly string[];
  /** How many bytes it has printed so far; growing means it lives. */
  readonly printed: number;
  /** Takes it off the registry on disk. Called once the group is proven empty. */
  forget(): Promise<void>;
}

/** A process of an earlier catnap that was found alive (or whose record was found) and has been ended. */
export type Leftover = {
  readonly engine: string;
  readonly model: string;
  readonly pid: number;
  readonly port: number;
  readonly gone: boolean;
};

export interface Processes {
  /** Rejects when the program cannot be started at all (missing, not executable), with a message that names it. */
  spawn(spec: SpawnSpec): Promise<Child>;
  /** Ends what an earlier catnap left running, and only that. */
  reapLeftovers(): Promise<readonly Leftover[]>;
  /** Lets go of a child without ending it: nothing of it is looked at any more, its record and its log stay. */
  release(child: Child): HandedProcess;
  /**
   * A child of another catnap that has let go of it is ours from now on, and so is its record. It need not be alive any more: then it has exited.
   * Nobody tells how it ended.
   */
  adopt(process: HandedProcess): Promise<Child>;
  /** A port on 127.0.0.1 that nobody listens on. */
  freePort(): Promise<number>;
  /** Whether somebody could listen on this port of 127.0.0.1 now. */
  portIsFree(port: number): Promise<boolean>;
  /** Runs a short command to its end and gives what it printed (`llama-server --help`). Bounded in time and size; never rejects. */
  ask(argv: readonly [string, ...string[]], limitMs: number, terms?: AskTerms): Promise<Answer>;
}

/** `why`, in words, where there is no code: it had no end of its own, or a signal ended it, or it could not be started. */
export type Answer =
  | { readonly code: number; readonly output: string }
  | { readonly code: null; readonly output: string; readonly why: string };

export type AskTerms = {
  /** Ends it as its time limit would. */
  readonly signal?: AbortSignal;
  /** Whose helper it is: it counts as one of that child's own, so that it ends with it, also after a crash of ours. */
  readonly of?: Child;
};
