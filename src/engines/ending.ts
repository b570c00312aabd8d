import { after, type Millis } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { Child, Processes } from '../ports/process.ts';
import { shown, type Argv } from './command-line.ts';
import { DriverError, type Done } from './driver.ts';
import { pause } from './wait.ts';

export type EndingRules = {
  /** How long the process may take after a polite request, and again after the second. */
  readonly graceMs: number;
  /** How long the whole may take, the proof included. */
  readonly boundMs: number;
  /** Run in place of the first SIGTERM. */
  readonly command: Argv | undefined;
};

type Means = {
  readonly clock: Clock;
  readonly processes: Pick<Processes, 'ask' | 'portIsFree'>;
  readonly warned: (message: string) => void;
};

/** What is still there. The port is only looked at once the processes are gone: until then it is theirs. */
type Left = { readonly pids: readonly number[]; readonly portTaken: boolean };

type Step = {
  /** Whether there is now something to wait for. */
  readonly act: (left: Left) => Promise<boolean>;
  readonly waitMs: number;
};

const LOOK_MS = 10;
const LOOK_LATER_MS = 25;
const LOOK_SOON_FOR_MS = 2_000;

/**
 * The end of one process: asked politely, asked again, killed, and proven gone with everything it started, its port included.
 * This is the only way an engine is stopped, whatever it was doing. After a try that could not prove it, the next one kills at once.
 */
export class Ending {
  readonly #child: Child;
  readonly #port: number;
  readonly #rules: EndingRules;
  readonly #means: Means;
  readonly #exit = new AbortController();
  #exitedAt: Millis | undefined;
  #polite = true;
  #holdsPort = true;

  constructor(child: Child, port: number, rules: EndingRules, means: Means) {
    this.#child = child;
    this.#port = port;
    this.#rules = rules;
    this.#means = means;
    void child.exited.then(() => {
      this.#exitedAt = means.clock.now();
      this.#exit.abort();
    });
  }

  /**
   * Resolves once nothing is left; rejects with who is left when the bound has passed. One that cannot hear is not asked.
   * One that was let go has given up its port with its processes: whoever has it now is somebody else.
   */
  async run({ hears = true, letGo = false }: { hears?: boolean; letGo?: boolean } = {}): Promise<Done> {
    if (!hears) this.#polite = false;
    this.#holdsPort = !letGo;
    const { clock } = this.#means;
    const from = clock.now();
    await this.#clear(from, after(from, this.#rules.boundMs));
    await this.#forget();
    const now = clock.now();
    const actedUntil = Math.max(from, this.#exitedAt ?? now);
    return { actMs: actedUntil - from, proofMs: now - actedUntil };
  }

  async #clear(from: Millis, bound: Millis): Promise<void> {
    let left = await this.#left();
    for (const { act, waitMs } of this.#steps()) {
      if (isClear(left)) return;
      if (!(await act(left))) continue;
      left = await this.#watch(from, earlier(after(this.#means.clock.now(), waitMs), bound));
    }
    if (left.pids.length > 0) throw new DriverError(`still alive after SIGKILL: process ${left.pids.join(', ')}`);
    if (left.portTaken)
      throw new DriverError(`port ${this.#port} is still in use, though nothing known of the engine is left`);
  }

  /** The polite requests together take at most two thirds of the bound, so that killing and proving have the rest. */
  *#steps(): Generator<Step> {
    const { graceMs, boundMs, command } = this.#rules;
    const waitMs = Math.min(graceMs, boundMs / 3);
    if (this.#polite) {
      yield { act: command === undefined ? this.#signals('SIGTERM') : () => this.#ask(command), waitMs };
      yield { act: this.#signals('SIGTERM'), waitMs };
    }
    this.#polite = false;
    yield { act: this.#signals('SIGKILL'), waitMs: boundMs };
  }

  #signals(name: 'SIGTERM' | 'SIGKILL'): Step['act'] {
    return async ({ pids }) => {
      if (pids.length > 0) this.#child.signal(name);
      return true;
    };
  }

  /** Also asked when only the port is left: what the command speaks to may hold it without being ours, as a container does. */
  async #ask(command: Argv): Promise<boolean> {
    const { graceMs, boundMs } = this.#rules;
    const { code, output } = await this.#means.processes.ask(command, Math.min(Math.max(graceMs, 1_000), boundMs / 3));
    if (code === 0) return true;
    const how = code === null ? 'did not end in time' : `ended with code ${code}`;
    const said = output.trim().split('\n').at(-1) ?? '';
    this.#means.warned(`the stop command ${shown(command)} ${how}${said === '' ? '' : `: ${said}`}`);
    return false;
  }

  /** Looks until nothing is left or the time is over, closely at first. What is born while we kill is killed too. */
  async #watch(from: Millis, until: Millis): Promise<Left> {
    const { clock } = this.#means;
    for (;;) {
      const left = await this.#left();
      const now = clock.now();
      if (isClear(left) || now >= until) return left;
      if (!this.#polite && left.pids.length > 0) this.#child.signal('SIGKILL');
      const apart = now - from < LOOK_SOON_FOR_MS ? LOOK_MS : LOOK_LATER_MS;
      await pause(clock, Math.min(apart, until - now), this.#exit.signal.aborted ? undefined : this.#exit.signal);
    }
  }

  async #left(): Promise<Left> {
    const pids = await this.#child.members();
    return {
      pids,
      portTaken: pids.length === 0 && this.#holdsPort && !(await this.#means.processes.portIsFree(this.#port)),
    };
  }

  /** A record that stays behind names a process that is gone; the next start sees that for itself. */
  async #forget(): Promise<void> {
    try {
      await this.#child.forget();
    } catch (error) {
      this.#means.warned(`the record of process ${this.#child.pid} could not be removed: ${String(error)}`);
    }
  }
}

const isClear = (left: Left): boolean => left.pids.length === 0 && !left.portTaken;

const earlier = (a: Millis, b: Millis): Millis => (a < b ? a : b);
