import { fork, type ChildProcess } from 'node:child_process';
import { extname, join } from 'node:path';
import { after, millis, type Millis } from '../core/kinds.ts';
import type { Answer } from '../ports/process.ts';
import { askProgram, type AskingTerms } from './ask-program.ts';
import { inheritedFrom } from './engine-env.ts';
import { signalGroup } from './signal-group.ts';
import { systemClock } from './system-clock.ts';

/** What the small process is asked. */
export type ToStarter =
  | {
      readonly kind: 'ask';
      readonly id: number;
      readonly argv: readonly [string, ...string[]];
      readonly limitMs: number;
      readonly env: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'end'; readonly id: number };

/** What it says. */
export type FromStarter =
  | { readonly kind: 'ready' }
  | { readonly kind: 'started'; readonly id: number; readonly pid: number }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer };

type Asked = {
  readonly watch: (pid: number, ended: Promise<unknown>) => void;
  readonly answered: PromiseWithResolvers<Answer>;
  pid: number | undefined;
};

/** So long after a limit it must have told how it ended; after that it is stuck itself. */
const ANSWER_MS = 2_000;
/** One that did not come to be ready is not tried again sooner. */
const AGAIN_MS = 10_000;

const SCRIPT = join(import.meta.dirname, `starter-process${extname(import.meta.filename)}`);
const clock = systemClock();

/**
 * Starts short programs by way of a small process of its own. To start one, the system copies the page tables of whoever does: that takes a catnap of
 * 600 MB more than 8 ms, in which it does nothing else, and the small process half a millisecond, on another core. Where that is not there, yet or any
 * more, programs are started from here.
 */
export class Starter {
  readonly #onProblem: (message: string) => void;
  readonly #asked = new Map<number, Asked>();
  #process: ChildProcess | undefined;
  #isReady = false;
  /** Until it is begun, and once it is closed, programs are started from here. */
  #isOpen = false;
  #begunAt: Millis = millis(Number.NEGATIVE_INFINITY);
  #last = 0;

  constructor(onProblem: (message: string) => void) {
    this.#onProblem = onProblem;
  }

  /** The small process is to be there from now on; whoever asks before it is does not wait for it. */
  begin(): void {
    this.#isOpen = true;
    this.#beThere();
  }

  #beThere(): void {
    if (!this.#isOpen || this.#process !== undefined || clock.now() < after(this.#begunAt, AGAIN_MS)) return;
    this.#begunAt = clock.now();
    try {
      this.#process = this.#fork();
    } catch (error) {
      this.#onProblem(`the process that starts programs for catnap could not be started: ${String(error)}`);
    }
  }

  /** As `askProgram`. */
  async ask(argv: readonly [string, ...string[]], limitMs: number, terms: AskingTerms = {}): Promise<Answer> {
    this.#beThere();
    const { env = inheritedFrom(process.env), signal, watch = () => {} } = terms;
    if (!this.#isReady || this.#process?.connected !== true || signal?.aborted === true)
      return askProgram(argv, limitMs, terms);
    this.#last += 1;
    const id = this.#last;
    const asked: Asked = { watch, answered: Promise.withResolvers(), pid: undefined };
    this.#asked.set(id, asked);
    this.#say({ kind: 'ask', id, argv, limitMs, env });
    const soon = (): void => {
      cancel();
      cancel = clock.at(after(clock.now(), ANSWER_MS), () => this.#stuck());
    };
    // Counted from when this process hears of its own limit: after a standstill the other one has it still before it.
    let cancel = clock.at(after(clock.now(), limitMs), soon);
    const end = (): void => {
      soon();
      this.#say({ kind: 'end', id });
    };
    signal?.addEventListener('abort', end, { once: true });
    try {
      return await asked.answered.promise;
    } finally {
      cancel();
      signal?.removeEventListener('abort', end);
    }
  }

  /** What it was asked meanwhile is ended, and the small process with it. */
  close(): void {
    this.#isOpen = false;
    const small = this.#process;
    if (small?.connected !== true) return;
    small.disconnect();
    // One that is halted has to go on to see that. One that is not ready may be stuck, as Node is where the system has no room for its threads, and has started nothing yet.
    small.kill(this.#isReady ? 'SIGCONT' : 'SIGKILL');
    // Whoever ends before it leaves it to the first process of the system, which in a container may be a catnap that does not hear of it.
    small.ref();
    small.once(
      'exit',
      clock.at(after(clock.now(), ANSWER_MS), () => small.unref()),
    );
  }

  #fork(): ChildProcess {
    // In a session of its own, so that what is said to the terminal or to our group is not said to it: it ends when we do.
    const small = fork(SCRIPT, [], {
      env: inheritedFrom(process.env),
      execArgv: [],
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    small.on('message', (told: FromStarter) => this.#hear(told));
    small.on('error', (error) => {
      if (small.pid === undefined) this.#over(small, String(error));
      else small.kill('SIGKILL');
    });
    small.once('exit', (code, signal) => this.#over(small, signal ?? `code ${code}`));
    // Whoever cannot be heard any more is of no use; one that was closed ends by itself, once it has ended what it started.
    small.once('disconnect', () => void (this.#isOpen && small.kill('SIGKILL')));
    small.unref();
    small.channel?.unref();
    return small;
  }

  #say(asked: ToStarter): void {
    // What cannot be sent is told by its end.
    this.#process?.send(asked, () => {});
  }

  #hear(told: FromStarter): void {
    if (told.kind === 'ready') {
      this.#isReady = true;
      return;
    }
    const asked = this.#asked.get(told.id);
    if (asked === undefined) return;
    if (told.kind === 'started') {
      asked.pid = told.pid;
      asked.watch(told.pid, asked.answered.promise);
      return;
    }
    this.#asked.delete(told.id);
    asked.answered.resolve(told.answer);
  }

  /** It hears nothing and says nothing: halted, or worse. */
  #stuck(): void {
    this.#process?.kill('SIGKILL');
  }

  /** Whatever it had started is ended as well, since nobody would hear how it ends. */
  #over(small: ChildProcess, why: string): void {
    if (this.#process !== small) return;
    this.#process = undefined;
    if (this.#isReady) this.#begunAt = millis(Number.NEGATIVE_INFINITY);
    this.#isReady = false;
    const lost = [...this.#asked.values()];
    this.#asked.clear();
    for (const { pid, answered } of lost) {
      if (pid !== undefined) signalGroup(pid, 'SIGKILL');
      answered.resolve({ code: null, output: '', why: 'the process that had started it for catnap has ended' });
    }
    if (this.#isOpen)
      this.#onProblem(
        `the process that starts programs for catnap has ended (${why}); catnap starts another one, and programs itself until that is there`,
      );
  }
}
