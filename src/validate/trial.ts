import { after } from '../core/kinds.ts';
import { DriverError, type Backend, type Done, type Driver, type Order } from '../engines/driver.ts';
import { pause, unlessAborted } from '../engines/wait.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { Gpu } from '../ports/gpu.ts';
import type { MainMemory } from '../ports/process-memory.ts';
import type { TrialLevel } from '../ports/verdicts.ts';
import type { Answer } from './answers.ts';
import { compare, type Comparison } from './compare.ts';
import { look } from './held.ts';
import { isOpen, judge, levelOf, notBack, stillHeld, yardstickOf } from './judge.ts';
import type { Cycle, Held, Result } from './observed.ts';
import { Questioner, type Asking, type OpenStream } from './question.ts';

export type TrialMeans = {
  readonly clock: Clock;
  readonly http: EngineHttp;
  readonly gpu: Gpu;
  readonly memory: MainMemory;
  /** Told of each engine once it is ready. Never rejects. */
  readonly started: (backend: Backend, signal: AbortSignal) => Promise<void>;
  /** How much the engine that sleeps takes on disk now; undefined: nothing. */
  readonly imageMib: () => number | undefined;
  /** Told what goes on, for a person who waits. */
  readonly progress: (line: string) => void;
};

export type TrialLimits = {
  readonly startMs: number;
  readonly sleepMs: number;
  readonly wakeMs: number;
  readonly stopMs: number;
  readonly answerMs: number;
  /** How long memory may take to be as it should. */
  readonly settleMs: number;
};

export type TrialTerms = {
  readonly level: TrialLevel;
  readonly cycles: number;
  readonly limits: TrialLimits;
  readonly driver: Driver;
  /** Whether somebody asked for this level by its name. */
  readonly named: boolean;
};

const LOOK_EVERY_MS = 100;
/** An answer that takes this much longer than before does not come. */
const SLOWER = 20;
const LEAST_ANSWER_MS = 60_000;

/** Why a level could not be tried as it should be, which says nothing about the level. */
class Untried extends Error {
  override readonly name = 'Untried';
  readonly fault: 'engine' | 'place';
  constructor(fault: 'engine' | 'place', message: string) {
    super(message);
    this.fault = fault;
  }
}

/** Tries one level on a fresh engine, which is ended afterwards whatever came of it. Rejects only when the signal fires. */
export async function tryLevel(terms: TrialTerms, means: TrialMeans, signal: AbortSignal): Promise<Result> {
  const trial = new Trial(terms, means, signal);
  let result: Result;
  try {
    result = await trial.run();
  } catch (error) {
    if (signal.aborted || !(error instanceof Untried)) {
      await trial.end().catch(() => undefined); // what is told is why it came to this
      throw error;
    }
    result = untried(terms, error);
  }
  try {
    await trial.end();
    return result;
  } catch (error) {
    const reason = `its engine could not be ended: ${wordsOf(error)}`;
    return { ...result, outcome: 'failed', fault: result.fault ?? 'engine', reasons: [...result.reasons, reason] };
  }
}

function untried({ level, named }: TrialTerms, { fault, message }: Untried): Result {
  const outcome = fault === 'place' && !named ? 'skipped' : 'failed';
  return { level, outcome, fault, reasons: [message], notes: [], observed: undefined };
}

class Trial {
  readonly #terms: TrialTerms;
  readonly #means: TrialMeans;
  readonly #signal: AbortSignal;
  readonly #questioner = new Questioner();
  #epoch = 0;
  #answerMs: number;
  /** What the stream says that is open while it sleeps, when it is not put to sleep. */
  #said = '';

  constructor(terms: TrialTerms, means: TrialMeans, signal: AbortSignal) {
    this.#terms = terms;
    this.#means = means;
    this.#signal = signal;
    this.#answerMs = terms.limits.answerMs;
  }

  async run(): Promise<Result> {
    const { level, cycles: cyclesWanted, driver, limits } = this.#terms;
    this.#tell('a fresh engine is started');
    const started = await this.#order(limits.startMs, 'the start', (order) => driver.start(order)).catch((error) => {
      throw new Untried('engine', `a fresh engine does not start: ${wordsOf(error)}`);
    });
    if (driver.backend !== undefined) await this.#means.started(driver.backend, this.#signal);
    await this.#mustBePossible();
    const sample = await this.#sample();
    let before = await this.#look();
    const yardstick = yardstickOf(level, before);
    if (typeof yardstick === 'object') throw new Untried('place', yardstick.cannot);
    const cycles: Cycle[] = [];
    while (cycles.length < cyclesWanted) {
      const cycle = await this.#cycle(cycles.length + 1, before, sample);
      cycles.push(cycle);
      if (cycle.broken !== undefined || cycle.awake === undefined) break;
      before = cycle.awake;
    }
    // Each cycle is held against the engine as it was when it was fresh: a loss must not hide in small steps.
    const fresh = cycles[0]?.before ?? before;
    return judge({
      level,
      startMs: started.actMs + started.proofMs,
      tokens: sample.kind === 'text' ? sample.count : undefined,
      cycles: cycles.map((cycle) => ({ ...cycle, before: fresh })),
      cyclesWanted,
    });
  }

  async end(): Promise<void> {
    const { driver, limits } = this.#terms;
    const never = new AbortController().signal;
    await this.#bounded(limits.stopMs, 'the stop', never, (signal) =>
      driver.stop({ epoch: (this.#epoch += 1), signal }),
    );
  }

  async #mustBePossible(): Promise<void> {
    const { driver, limits } = this.#terms;
    const level = levelOf(this.#terms.level);
    if (level === 5) return;
    const why = await this.#bounded(limits.answerMs, 'the question whether it can', this.#signal, (signal) =>
      driver.hindrance(level, signal),
    ).catch((error) => {
      this.#mayGoOn();
      return wordsOf(error);
    });
    if (why !== undefined) throw new Untried('place', why);
  }

  /** What it answers while it is as it should be: twice, since one that never answers the same cannot be compared. */
  async #sample(): Promise<Answer> {
    const { clock } = this.#means;
    this.#tell('it answers before the sleep');
    const from = clock.now();
    const first = await this.#questioner.answer(this.#asking());
    this.#answerMs = Math.min(this.#answerMs, Math.max(LEAST_ANSWER_MS, SLOWER * (clock.now() - from)));
    if (first.kind === 'none') throw this.#unsound(`a fresh engine does not answer: ${first.why}`);
    const second = await this.#questioner.answer(this.#asking());
    const same = compare(first, second);
    if (same.kind === 'empty') throw this.#unsound('the answer of a fresh engine is empty');
    if (same.kind !== 'match' && same.kind !== 'near')
      throw this.#unsound(
        `a fresh engine does not answer the same twice, so its answers cannot be compared: ${howOf(same)}`,
      );
    const stream = await this.#questioner.stream(this.#asking());
    if (stream !== undefined) throw this.#unsound(`before any sleep, ${stream}`);
    if (isOpen(this.#terms.level)) {
      const whole = await this.#open().end;
      if ('wrong' in whole) throw this.#unsound(`before any sleep, a long stream: ${whole.wrong}`);
      this.#said = whole.text;
    }
    return first;
  }

  #open(): OpenStream {
    const open = this.#questioner.open(this.#asking());
    if (open === undefined) throw new Untried('place', 'it writes no text, so no stream can be open');
    return open;
  }

  /** What is wrong with a stream that was open while it slept. */
  async #faultOf(open: OpenStream): Promise<string | undefined> {
    const end = await open.end;
    if ('wrong' in end) return `the stream that was open did not go on: ${end.wrong}`;
    return end.text === this.#said
      ? undefined
      : 'the stream that was open says something else than it does without a sleep';
  }

  async #cycle(number: number, before: Held, sample: Answer): Promise<Cycle> {
    const { level, cycles, driver, limits } = this.#terms;
    const { clock } = this.#means;
    const of = cycles > 1 ? `, cycle ${number} of ${cycles}` : '';
    const pidBefore = driver.running?.pid;
    let cycle: Cycle = { before, pidBefore };
    this.#tell(`it is put to sleep${of}`);
    const open = isOpen(level) ? this.#open() : undefined;
    await open?.begun;
    try {
      cycle = { ...cycle, sleep: await this.#sleep(), imageMib: this.#imageMib() };
    } catch (error) {
      this.#mayGoOn();
      const asleep = await this.#look();
      return { ...cycle, asleep, broken: { during: 'sleep', why: wordsOf(error) } };
    }
    const asleep = await this.#settled((held) => stillHeld(level, before, held));
    cycle = { ...cycle, asleep };
    if (open?.isOpen() === false)
      throw new Untried('place', 'the stream was over before it slept: it is too quick to be tried so');
    this.#tell(`it is woken${of}`);
    try {
      const wake = await this.#order(limits.wakeMs, 'the wake', (order) => this.#wake(order));
      cycle = { ...cycle, wake, pidAfter: driver.running?.pid };
    } catch (error) {
      this.#mayGoOn();
      return { ...cycle, broken: { during: 'wake', why: wordsOf(error) } };
    }
    this.#tell(`it answers after the wake${of}`);
    // Beside another one an answer is worked on in other steps, and may part from what it was.
    if (open !== undefined) cycle = { ...cycle, open: await this.#faultOf(open) };
    const from = clock.now();
    if (driver.backend === undefined)
      return { ...cycle, broken: { during: 'answer', why: 'it has ended as soon as it was awake' } };
    const answer = compare(sample, await this.#questioner.answer(this.#asking()));
    cycle = { ...cycle, answer, answerMs: clock.now() - from };
    if (answer.kind === 'none' || driver.backend === undefined) return cycle;
    const stream = await this.#questioner.stream(this.#asking());
    const awake = await this.#settled((held) => notBack(level, before, held));
    return { ...cycle, stream, awake };
  }

  #imageMib(): number | undefined {
    return levelOf(this.#terms.level) === 4 ? this.#means.imageMib() : undefined;
  }

  #sleep(): Promise<Done> {
    const { level, driver, limits } = this.#terms;
    const plain = levelOf(level);
    return plain === 5
      ? this.#order(limits.stopMs, 'the stop', (order) => driver.stop(order))
      : this.#order(limits.sleepMs, 'the sleep', (order) => driver.sleep(plain, { ...order, open: isOpen(level) }));
  }

  #wake(order: Order): Promise<Done> {
    const { level, driver } = this.#terms;
    const plain = levelOf(level);
    return plain === 5 ? driver.start(order) : driver.wake(plain, order);
  }

  async #look(): Promise<Held> {
    const { gpu, memory } = this.#means;
    return look(await this.#terms.driver.members(), gpu, memory);
  }

  /** Memory moves for a moment after the act; so it is looked at until all is well or the time is over. */
  async #settled(fault: (held: Held) => string | undefined): Promise<Held> {
    const { clock } = this.#means;
    const deadline = after(clock.now(), this.#terms.limits.settleMs);
    for (;;) {
      const held = await this.#look();
      this.#mayGoOn();
      if (fault(held) === undefined || clock.now() >= deadline) return held;
      await pause(clock, LOOK_EVERY_MS, this.#signal);
      this.#mayGoOn();
    }
  }

  #asking(): Asking {
    const { backend } = this.#terms.driver;
    this.#mayGoOn();
    if (backend === undefined) throw this.#unsound('the engine ended while it was asked');
    return { http: this.#means.http, backend, limitMs: this.#answerMs, signal: this.#signal };
  }

  #order(limitMs: number, what: string, act: (order: Order) => Promise<Done>): Promise<Done> {
    const epoch = (this.#epoch += 1);
    return this.#bounded(limitMs, what, this.#signal, (signal) => act({ epoch, signal }));
  }

  async #bounded<T>(
    limitMs: number,
    what: string,
    until: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#means;
    const limit = new AbortController();
    const late = new DriverError(`${what} took longer than ${Math.round(limitMs / 1_000)} s`);
    const cancel = clock.at(after(clock.now(), limitMs), () => limit.abort(late));
    const signal = AbortSignal.any([until, limit.signal]);
    try {
      return await unlessAborted(work(signal), signal);
    } finally {
      cancel();
    }
  }

  #unsound(why: string): Untried {
    return new Untried('engine', why);
  }

  /** Whoever called it off waits for nothing more. */
  #mayGoOn(): void {
    if (this.#signal.aborted) throw new DriverError('called off');
  }

  #tell(what: string): void {
    this.#means.progress(`level ${this.#terms.level}: ${what}`);
  }
}

function howOf(comparison: Exclude<Comparison, { kind: 'match' | 'near' | 'empty' }>): string {
  return comparison.kind === 'differs' ? comparison.how : comparison.why;
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
