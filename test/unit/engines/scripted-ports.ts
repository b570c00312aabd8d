import { after } from '../../../src/core/kinds.ts';
import type { Cancel, Clock } from '../../../src/ports/clock.ts';
import type { EngineAnswer, EngineCall, EngineHttp } from '../../../src/ports/engine-http.ts';
import type { HandedProcess } from '../../../src/ports/handover.ts';
import type { Answer, Child, Exit, Leftover, Processes, SpawnSpec } from '../../../src/ports/process.ts';

/** A process that does what the test says, and by default nothing: it ignores every signal but SIGKILL. */
export class ScriptedChild implements Child {
  readonly pid: number;
  readonly signals: string[] = [];
  /** What it started and what does not end with it. */
  others: number[] = [];
  hasExited = false;
  printed = 0;
  forgotten = 0;
  onSignal: (name: 'SIGTERM' | 'SIGKILL') => void = () => undefined;
  readonly #exit = Promise.withResolvers<Exit>();
  readonly #lines: string[] = [];

  constructor(pid: number) {
    this.pid = pid;
  }

  get exited(): Promise<Exit> {
    return this.#exit.promise;
  }

  exit(code: number | null, signal: string | null = null): void {
    this.hasExited = true;
    this.#exit.resolve({ code, signal });
  }

  print(...lines: string[]): void {
    this.#lines.push(...lines);
    this.printed += lines.join('\n').length + 1;
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    this.signals.push(name);
    this.onSignal(name);
    if (name === 'SIGKILL' && !this.hasExited) this.exit(null, 'SIGKILL');
  }

  async members(): Promise<readonly number[]> {
    return this.hasExited ? [...this.others] : [this.pid, ...this.others];
  }

  everyone(): Promise<readonly number[]> {
    return this.members();
  }

  tail(lines: number): readonly string[] {
    return this.#lines.slice(-lines);
  }

  async forget(): Promise<void> {
    this.forgotten += 1;
  }
}

export class ScriptedProcesses implements Processes {
  readonly specs: SpawnSpec[] = [];
  readonly children: ScriptedChild[] = [];
  readonly asked: string[][] = [];
  readonly taken = new Set<number>();
  readonly released: Child[] = [];
  onAdopt: (child: ScriptedChild) => void = () => undefined;
  /** Spawns wait for it. */
  hold: Promise<void> | undefined;
  spawnError: Error | undefined;
  answer: (argv: readonly string[], limitMs: number) => Answer = () => ({ code: 0, output: '' });
  #nextPort = 40_001;

  /** The latest one. */
  get child(): ScriptedChild {
    const child = this.children.at(-1);
    if (child === undefined) throw new Error('nothing was spawned');
    return child;
  }

  async spawn(spec: SpawnSpec): Promise<Child> {
    this.specs.push(spec);
    await this.hold;
    if (this.spawnError !== undefined) throw this.spawnError;
    const child = new ScriptedChild(1_000 + this.children.length);
    this.children.push(child);
    return child;
  }

  release(child: Child): HandedProcess {
    this.released.push(child);
    const spec = this.specs.at(-1);
    if (spec === undefined) throw new Error('nothing was spawned');
    const log = { begin: 0, rotated: 0, followed: 0 };
    return { engine: spec.engine, model: spec.model, port: spec.port, mark: 'mark', pid: child.pid, started: 1, log };
  }

  async adopt({ pid }: HandedProcess): Promise<Child> {
    const child = new ScriptedChild(pid);
    this.children.push(child);
    this.onAdopt(child);
    return child;
  }

  async reapLeftovers(): Promise<readonly Leftover[]> {
    return [];
  }

  async freePort(): Promise<number> {
    return this.#nextPort++;
  }

  async portIsFree(port: number): Promise<boolean> {
    return !this.taken.has(port);
  }

  async ask(argv: readonly string[], limitMs: number): Promise<Answer> {
    this.asked.push([...argv]);
    return this.answer(argv, limitMs);
  }
}

/** What a scripted call does in place of an answer: nothing, until its limit or its signal. */
export const HANG = 'hang';

export const answered = (status: number, body = ''): EngineAnswer => ({ kind: 'answered', status, body });

export const REFUSED: EngineAnswer = { kind: 'refused', reason: 'ECONNREFUSED' };

/** Calls to engines over a virtual clock: limits and signals hold as for real ones. */
export class ScriptedHttp implements EngineHttp {
  readonly calls: EngineCall[] = [];
  readonly #clock: Clock;
  reply: (call: EngineCall) => EngineAnswer | typeof HANG = () => REFUSED;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  call(call: EngineCall): Promise<EngineAnswer> {
    this.calls.push(call);
    const reply = this.reply(call);
    if (reply !== HANG) return Promise.resolve(reply);
    return new Promise((resolve) => {
      let cancel: Cancel = () => undefined;
      const settle = (answer: EngineAnswer): void => {
        cancel();
        call.signal?.removeEventListener('abort', leave);
        resolve(answer);
      };
      const leave = (): void => settle({ kind: 'refused', reason: 'aborted' });
      cancel = this.#clock.at(after(this.#clock.now(), call.limitMs), () => settle({ kind: 'timeout' }));
      if (call.signal?.aborted === true) leave();
      else call.signal?.addEventListener('abort', leave, { once: true });
    });
  }
}
