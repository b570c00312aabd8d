import { after, type EngineId, type ModelId, type NapLevel } from '../core/kinds.ts';
import type { Launched } from '../ports/checkpoints.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineAnswer, EngineHttp } from '../ports/engine-http.ts';
import type { HandedProcess } from '../ports/handover.ts';
import type { Child, Exit, Processes } from '../ports/process.ts';
import { DriverError, type Backend, type Done, type DriverEvents } from './driver.ts';
import { Ending, type EndingRules } from './ending.ts';
import { crashInWords, inWords, SEARCHED } from './explain.ts';
import { untilReady } from './readiness.ts';
import { sampleText } from './sign-of-life.ts';
import type { CallTerms, Sleeper } from './sleeper.ts';
import type { Family } from './family.ts';
import { reasonOf } from './wait.ts';

export type LifeMeans = {
  readonly clock: Clock;
  readonly processes: Processes;
  readonly http: EngineHttp;
  readonly events: DriverEvents;
};

type LifeTerms = {
  readonly engine: EngineId;
  readonly model: ModelId;
  readonly born: number;
  readonly port: number;
  readonly commandLine: string;
  readonly launched: Launched;
  readonly family: Family;
  readonly ending: EndingRules;
  readonly probeMs: number;
};

/** One engine from its spawn to its proven end, whatever process it is at the time: a restored one takes the place of the one that was let go. */
export class Life implements Sleeper {
  readonly #terms: LifeTerms;
  readonly #means: LifeMeans;
  #child: Child;
  #ending: Ending;
  #gone = new AbortController();
  #backend: Backend | undefined;
  /** Whether the end of the process is news: from its readiness to the first stop, but for the time in which it is let go. */
  #watched = false;
  #isLetGo = false;
  /** Whether it was put to sleep with requests in flight, so that connections to it outlive its process. */
  #open = false;
  /** How deep it sleeps, or was to sleep. */
  nap: NapLevel | undefined;
  /** Whether it has put itself to sleep while it counts as awake. */
  dozes = false;
  /** The stop that is under way. */
  stopping: Promise<Done> | undefined;

  constructor(terms: LifeTerms, child: Child, means: LifeMeans) {
    this.#terms = terms;
    this.#means = means;
    this.#child = child;
    this.#ending = this.#endingOf(child);
    this.#follow(child);
  }

  get engine(): EngineId {
    return this.#terms.engine;
  }

  get model(): ModelId {
    return this.#terms.model;
  }

  get name(): string {
    return this.#terms.family.name;
  }

  get port(): number {
    return this.#terms.port;
  }

  get origin(): string {
    return originOf(this.port);
  }

  get ranks(): number {
    return this.#terms.family.ranks ?? 1;
  }

  get clock(): Clock {
    return this.#means.clock;
  }

  get launched(): Launched {
    return this.#terms.launched;
  }

  get child(): Child {
    return this.#child;
  }

  get commandLine(): string {
    return this.#terms.commandLine;
  }

  /** Where requests go while it is awake. */
  get backend(): Backend | undefined {
    return this.#backend;
  }

  call(path: string, terms: CallTerms): Promise<EngineAnswer> {
    const { headers } = this.#terms.family;
    return this.#means.http.call({ ...terms, url: this.origin + path, headers: { ...headers, ...terms.headers } });
  }

  async untilReady(limitMs: number, signal: AbortSignal): Promise<void> {
    const { family, probeMs } = this.#terms;
    const child = this.#child;
    const readiness = await untilReady(
      child,
      (probeLimitMs, over) => this.call(family.readinessPath, { method: 'GET', limitMs: probeLimitMs, signal: over }),
      (answer) => family.isReady(answer),
      { deadline: after(this.clock.now(), limitMs), stallMs: 0, probeMs },
      this.clock,
      signal,
    );
    if (readiness.kind === 'ready') return;
    if (readiness.kind === 'aborted') throw reasonOf(signal);
    if (readiness.kind === 'exited')
      throw new DriverError(`${this.name} ${inWords(await child.exited, child.tail(SEARCHED.crash))}`);
    throw new DriverError(`${this.name} did not become ready within ${limitMs / 1_000} s; ${readiness.last}`);
  }

  works(signal: AbortSignal): Promise<boolean> {
    return this.#terms.family.prove({ origin: this.origin, printed: () => this.#child.printed, signal });
  }

  sample(signal: AbortSignal): Promise<string | undefined> {
    const { servedName, headers } = this.#terms.family;
    return sampleText({ http: this.#means.http, origin: this.origin, servedName, headers, signal });
  }

  letGo(): void {
    this.#watched = false;
    this.#isLetGo = true;
  }

  takeBack(child: Child): void {
    if (child !== this.#child) {
      this.#child = child;
      this.#ending = this.#endingOf(child);
      this.#follow(child);
    }
    this.#watched = true;
    this.#isLetGo = false;
    if (child.hasExited) void child.exited.then((exit) => this.#exited(child, exit));
  }

  /** Requests can go to it from now on. False where those that were in flight go on with the backend that they know. */
  rouse(): boolean {
    const { servedName, headers } = this.#terms.family;
    if (this.#gone.signal.aborted) this.#gone = new AbortController();
    this.nap = undefined;
    this.#watched = true;
    const goesOn = this.#open && this.#backend !== undefined;
    this.#open = false;
    if (goesOn) return false;
    this.#backend = { origin: this.origin, servedName, headers, gone: this.#gone.signal };
    return true;
  }

  /** One that another catnap has put to sleep. At level 4 it is on disk, and has no end to be heard of. */
  sleepOn(nap: NapLevel): void {
    this.nap = nap;
    if (nap === 4) this.letGo();
    else this.takeBack(this.#child);
  }

  lostSleep(): void {
    this.#means.events.lostSleep(this.#terms.born);
  }

  /** Another catnap looks after it from now on. Connections to it go on. */
  release(): HandedProcess {
    this.#watched = false;
    return this.#means.processes.release(this.#child);
  }

  /** It is put to sleep, `open` with requests in flight. */
  rest(open: boolean): void {
    if (open) this.#open = true;
    else this.hush('the engine is being put to sleep');
  }

  /** Connections to it are closed: some engines do not end while one is open, and none is of use once it sleeps. */
  hush(why: string): void {
    this.#open = false;
    this.#backend = undefined;
    this.#gone.abort(new DriverError(why));
  }

  /** Its end is no news any more. Resolves once nothing of it is left. */
  end(hears: boolean): Promise<Done> {
    this.#watched = false;
    return this.#ending.run({ hears, letGo: this.#isLetGo });
  }

  #endingOf(child: Child): Ending {
    const { clock, processes, events } = this.#means;
    const warned = (message: string): void => events.warned(message);
    return new Ending(child, this.port, this.#terms.ending, { clock, processes, warned });
  }

  #follow(child: Child): void {
    void child.exited.then((exit) => {
      if (child === this.#child) this.#exited(child, exit);
    });
  }

  #exited(child: Child, exit: Exit): void {
    if (this.#open && this.#isLetGo) return;
    this.hush('the engine has ended');
    if (!this.#watched) return;
    this.#watched = false;
    const { events } = this.#means;
    events.exited(this.#terms.born, `${this.name} ${crashInWords(exit, child.tail(SEARCHED.crash))}`);
  }
}

const originOf = (port: number): string => `http://127.0.0.1:${port}`;
