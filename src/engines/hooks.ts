import { HOOKS, type HookName, type HookResult } from '../core/hooks.ts';
import { engineId, modelId, type ModelId, type NapLevel } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { Child, Exit, Processes } from '../ports/process.ts';
import type { Argv } from './command-line.ts';
import { DriverError, type Running } from './driver.ts';
import { Ending } from './ending.ts';
import { inWords } from './explain.ts';
import { failedCall } from './own-calls.ts';
import { pause, reasonOf } from './wait.ts';

/** What an operator wants done at one moment: a command or a call. */
export type Hook = {
  readonly command?: Argv | undefined;
  readonly url?: string | undefined;
  readonly timeout_secs: number;
  readonly fatal: boolean;
};

export type HookTable = { readonly [Name in HookName]?: Hook | undefined };

/** One hook that has been run, or was to be. */
export type HookEnd = {
  readonly hook: HookName;
  readonly sleepLevel: NapLevel | undefined;
  readonly result: HookResult;
  /** Whether the engine was not let go on. */
  readonly fatal: boolean;
  readonly ms: number;
  /** Why it failed; empty where it did not. */
  readonly reason: string;
};

/** What the hook is told. */
export type About = { readonly level?: NapLevel; readonly running?: Running | undefined };

export type HookMeans = {
  readonly clock: Clock;
  readonly processes: Processes;
  readonly http: EngineHttp;
  readonly ended: (end: HookEnd) => void;
  readonly warned: (message: string) => void;
};

/** A command that is to end is asked to, and killed soon after. */
const GRACE_MS = 1_000;
const END_MS = 5_000;
const SEARCHED = 40;

/** How long a hook may take at most, with its end. */
export const longestMs = (hook: Hook | undefined): number =>
  hook === undefined ? 0 : hook.timeout_secs * 1_000 + END_MS;

/**
 * Runs the hooks of one engine. A command is run as an engine is: in a session of its own, with an environment that is built, its output in a
 * log of its own. Whatever it has started is proven gone before the engine goes on, and also when the time is up or the order is withdrawn.
 */
export class Hooks {
  readonly #model: ModelId;
  readonly #replica: number;
  readonly #table: HookTable;
  readonly #means: HookMeans;

  constructor(of: { readonly model: ModelId; readonly replica: number }, table: HookTable, means: HookMeans) {
    this.#model = of.model;
    this.#replica = of.replica;
    this.#table = table;
    this.#means = means;
  }

  /** Resolves to the milliseconds it took. Rejects when the order is withdrawn, or when it fails and that is fatal. */
  async run(name: HookName, about: About, signal: AbortSignal): Promise<number> {
    const hook = this.#table[name];
    if (signal.aborted) throw reasonOf(signal);
    if (hook === undefined) return 0;
    const { clock } = this.#means;
    const from = clock.now();
    const trouble = await this.#troubleOf(name, hook, about, signal);
    const ms = clock.now() - from;
    const fatal = hook.fatal && HOOKS[name].fatal !== undefined;
    const told = { hook: name, sleepLevel: about.level, ms };
    if (signal.aborted) {
      this.#means.ended({ ...told, result: 'withdrawn', fatal: false, reason: '' });
      throw reasonOf(signal);
    }
    if (trouble === undefined) this.#means.ended({ ...told, result: 'done', fatal: false, reason: '' });
    else this.#means.ended({ ...told, result: 'failed', fatal, reason: trouble });
    if (trouble !== undefined && fatal) throw new DriverError(`the hook ${name} ${trouble}`);
    return ms;
  }

  #troubleOf(name: HookName, hook: Hook, about: About, signal: AbortSignal): Promise<string | undefined> {
    const limitMs = hook.timeout_secs * 1_000;
    if (hook.command !== undefined) return this.#command(name, hook.command, limitMs, about, signal);
    return this.#call(name, hook.url ?? '', limitMs, about, signal);
  }

  async #call(
    hook: HookName,
    url: string,
    limitMs: number,
    { level, running }: About,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const json = { hook, model: this.#model, replica: this.#replica, level, port: running?.port, pid: running?.pid };
    const answer = await this.#means.http.call({ method: 'POST', url, json, limitMs, signal });
    if (answer.kind === 'answered' && answer.status >= 200 && answer.status < 300) return undefined;
    return `was not carried out: ${failedCall(answer, limitMs)}`;
  }

  async #command(
    name: HookName,
    argv: Argv,
    limitMs: number,
    about: About,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { processes } = this.#means;
    // A name that no engine can have: what it prints and its record are its own.
    const engine = engineId(modelId(`${this.#model} ${name}`), this.#replica);
    const env = this.#environment(name, about);
    let child: Child;
    try {
      child = await processes.spawn({ engine, model: this.#model, argv, env, cwd: undefined, port: 0 });
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
    const exit = await this.#endOf(child, limitMs, signal);
    const left = await this.#clear(child);
    if (left !== undefined) return left;
    if (exit === undefined) return `did not end within ${limitMs / 1_000} s`;
    return exit.code === 0 ? undefined : inWords(exit, child.tail(SEARCHED));
  }

  /** Undefined when it was not over in time, or is not wanted any more. */
  async #endOf(child: Child, limitMs: number, signal: AbortSignal): Promise<Exit | undefined> {
    const over = new AbortController();
    const limit = pause(this.#means.clock, limitMs, AbortSignal.any([signal, over.signal])).then(() => undefined);
    const exit = await Promise.race([child.exited, limit]);
    over.abort();
    return exit;
  }

  /** Also after its own end: it may have left something behind. */
  async #clear(child: Child): Promise<string | undefined> {
    const { clock, processes, warned } = this.#means;
    const rules = { graceMs: GRACE_MS, boundMs: END_MS, command: undefined };
    try {
      await new Ending(child, 0, rules, { clock, processes, warned }).run();
      return undefined;
    } catch (error) {
      return `could not be ended: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  #environment(name: HookName, { level, running }: About): Record<string, string> {
    return {
      CATNAP_HOOK: name,
      CATNAP_MODEL: this.#model,
      CATNAP_REPLICA: String(this.#replica),
      ...(level !== undefined && { CATNAP_LEVEL: String(level) }),
      ...(running !== undefined && { CATNAP_PORT: String(running.port), CATNAP_PID: String(running.pid) }),
    };
  }
}
