import type { HandedOver, RestartEnd } from '../../api/admin/restart.ts';
import { after, FOREVER, type Millis, type TicketId } from '../../core/kinds.ts';
import type { Cancel, Clock } from '../../ports/clock.ts';
import type { HandedCut, Handover } from '../../ports/handover.ts';
import type { Reporter } from '../../ports/reporter.ts';
import type { Given, Pass } from '../listeners.ts';
import type { HandOverTerms } from '../../runtime/supervisor.ts';
import { PROTOCOL, type Line, type Said, type Word } from './said.ts';

/** A catnap that can leave its engines to another. */
export interface Leaver {
  readonly accepting: boolean;
  readonly reporter: Reporter;
  /** Resolves when it has let go of its engines. Rejects, with why, when they do not come to rest within the time, and has changed nothing then. */
  handOver(terms: HandOverTerms): Promise<Handover>;
  /** Its ports. */
  give(): readonly Given[];
  /** Goes on with the engines and ports that it had let go of. */
  takeBack(left: LeftBehind): Promise<void>;
  /** Serves what is open, for so long at most, and passes connections on when they are idle. */
  leave(withinMs: number, pass: Pass): Promise<void>;
  cut(cut: HandedCut): void;
}

/** What nobody has taken. */
export type LeftBehind = {
  readonly handover: Handover;
  readonly ports: readonly Given[];
  /** Tells of each request that has ended since, and from now on. */
  readonly settled: (listener: (ticket: TicketId) => void) => void;
};

export type GivingMeans = {
  readonly line: Line;
  readonly clock: Clock;
  readonly leaver: Leaver;
  readonly limits: () => { readonly readyMs: number; readonly restMs: number; readonly drainMs: number };
  /** Another one serves. */
  readonly after: () => void;
  /** This one has ended: all that was open is over. */
  readonly left: () => void;
  /** Nobody has the engines, which must not be. */
  readonly fatal: (error: unknown) => void;
};

const CLOSING = 'catnap is shutting down';

/** Why a restart does not take place. Everything is as it was. */
class CalledOff extends Error {
  override readonly name = 'CalledOff';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.problems = problems;
  }
}

/** Which of the requests that were open at a handover have ended, for whoever is to know. */
class Settlements {
  readonly #all: TicketId[] = [];
  #listener: (ticket: TicketId) => void;

  constructor(listener: (ticket: TicketId) => void) {
    this.#listener = listener;
  }

  readonly tell = (ticket: TicketId): void => {
    this.#all.push(ticket);
    this.#listener(ticket);
  };

  /** Tells another one, of those before as well. */
  goTo(listener: (ticket: TicketId) => void): void {
    this.#listener = listener;
    for (const ticket of this.#all) listener(ticket);
  }
}

/** Leaves everything to a fresh catnap: the engines as they are, and the ports. What is open is served to its end. */
export class Giving {
  readonly #means: GivingMeans;
  /** What the one that comes has said and nobody has listened to, and who waits for more. */
  readonly #said: Said[] = [];
  #more: (() => void) | undefined;
  #current: Promise<unknown> | undefined;
  #running = false;
  /** Set while engines are to come to rest for the one that comes, which may be gone before. */
  #resting: AbortController | undefined;
  /** Whether the one that comes says that it serves. */
  #isTaken = false;
  #isAfter = false;
  /** Whether catnap is to stop. */
  #stops = false;

  constructor(means: GivingMeans) {
    this.#means = means;
  }

  /** Whether another one serves. */
  get isAfter(): boolean {
    return this.#isAfter;
  }

  /** Ends a restart that is under way, since catnap is to stop. Resolves to whether this one serves. */
  async callOff(): Promise<boolean> {
    this.#stops = true;
    if (this.#running && !this.#isAfter) this.#means.line.callOff();
    await this.#current;
    return !this.#isAfter;
  }

  hear(said: Said): void {
    if (said.kind === 'cut') {
      this.#means.leaver.cut(said);
      return;
    }
    if (said.kind === 'taken') this.#isTaken = true;
    if (said.kind === 'gone') this.#resting?.abort(didNotStart(said.why));
    this.#said.push(said);
    this.#more?.();
  }

  restart(by: string, precluded: string | undefined): Promise<RestartEnd> {
    const refused = (code: Extract<RestartEnd, { kind: 'refused' }>['code'], problem: string): Promise<RestartEnd> =>
      Promise.resolve({ kind: 'refused', code, problems: [problem] });
    if (this.#running) return refused('restarting', 'a restart is under way already');
    if (this.#stops || !this.#means.leaver.accepting) return refused('shutting_down', CLOSING);
    this.#running = true;
    const end = this.#attempt(by, precluded);
    this.#current = end;
    return end;
  }

  async #attempt(by: string, precluded: string | undefined): Promise<RestartEnd> {
    const { leaver, fatal } = this.#means;
    try {
      if (precluded !== undefined) throw new CalledOff([precluded]);
      return { kind: 'done', handed: await this.#restart(by) };
    } catch (error) {
      if (!(error instanceof CalledOff)) fatal(error);
      const said = error instanceof CalledOff ? error.problems : [String(error)];
      // That the one that came was ended is nothing of its own doing then.
      const problems = this.#stops ? [CLOSING] : said;
      this.#running = false;
      leaver.reporter.report({ kind: 'restart-called-off', by, problems });
      return { kind: 'refused', code: this.#stops ? 'shutting_down' : 'restart_refused', problems };
    }
  }

  async #restart(by: string): Promise<HandedOver> {
    const { line, clock, leaver, limits, left } = this.#means;
    const { readyMs, restMs, drainMs } = limits();
    const { reporter } = leaver;
    reporter.report({ kind: 'restart-asked', by });
    this.#said.length = 0;
    this.#isTaken = false;
    line.begin();
    const { version, protocol } = await this.#next('ready', readyMs);
    if (protocol !== PROTOCOL) {
      throw await this.#dismiss(`catnap ${version} takes over in another way; stop this one, and start that one`);
    }
    const settled = new Settlements((ticket) => void line.send('after', { kind: 'settled', ticket }));
    const handover = await this.#letGo(restMs, settled);
    const from = clock.now();
    const ports = leaver.give();
    void this.#give(handover, ports);
    try {
      await this.#next('taken', readyMs);
    } catch (error) {
      if (!this.#isTaken) {
        await leaver.takeBack({ handover, ports, settled: (listener) => settled.goTo(listener) });
        throw error;
      }
    }
    this.#isAfter = true;
    this.#means.after();
    const models = handover.stages.flatMap((stage) => stage.models);
    const engines = models.flatMap(({ model, running }) =>
      running.map(({ engine, phase }) => ({ engine, model, level: phase.kind === 'asleep' ? phase.level : null })),
    );
    const requests = models.reduce((sum, { leases }) => sum + leases.length, 0);
    const gapMs = clock.now() - from;
    reporter.report({ kind: 'handed-over', by, version, engines: engines.length, requests, gapMs });
    const pass: Pass = (port, socket) => line.send('after', { kind: 'connection', port }, socket);
    void leaver.leave(drainMs, pass).then(left);
    return { version, engines, requests, gapMs };
  }

  async #letGo(withinMs: number, { tell: settled }: Settlements): Promise<Handover> {
    this.#resting = new AbortController();
    try {
      return await this.#means.leaver.handOver({ withinMs, settled, signal: this.#resting.signal });
    } catch (error) {
      throw await this.#dismiss(error instanceof Error ? error.message : String(error));
    } finally {
      this.#resting = undefined;
    }
  }

  /** The ports come after the engines, the one of clients first: each stops here once its socket is on its way, so that clients queue at it. */
  async #give(handover: Handover, ports: readonly Given[]): Promise<void> {
    const { line } = this.#means;
    const places = ports.map(({ place, number }) => ({ ...place, at: number }));
    const sent = [line.send('after', { kind: 'take', handover, places })];
    for (const { place, socket, stop } of ports) {
      sent.push(line.send('after', { kind: 'socket', port: place.port }, socket).then(stop));
    }
    await Promise.all(sent);
  }

  /** What it says next. Rejects when that is something else, and when nothing comes in time; it is gone then. */
  async #next<Kind extends 'ready' | 'taken'>(kind: Kind, withinMs: number): Promise<Word<Kind>> {
    const { clock } = this.#means;
    const said = await this.#one(after(clock.now(), withinMs));
    if (said !== undefined && isWord(said, kind)) return said;
    if (said?.kind === 'gone') throw new CalledOff([didNotStart(said.why)]);
    if (said?.kind === 'refused') throw await this.#dismiss(...said.why);
    throw await this.#dismiss(
      `the new catnap was not ${kind === 'ready' ? 'ready' : 'serving'} after ${Math.round(withinMs / 1_000)} s`,
    );
  }

  /** Undefined: nothing was said in time. */
  async #one(until: Millis): Promise<Said | undefined> {
    const [next] = this.#said.splice(0, 1);
    if (next !== undefined) return next;
    const more = Promise.withResolvers<void>();
    this.#more = more.resolve;
    const cancel: Cancel = this.#means.clock.at(until, more.resolve);
    await more.promise;
    cancel();
    this.#more = undefined;
    return this.#said.shift();
  }

  /** Resolves once the one that was to come is gone, so that nothing is in use twice; or has taken over before it could be ended. */
  async #dismiss(...why: readonly string[]): Promise<CalledOff> {
    this.#means.line.callOff();
    while ((await this.#one(FOREVER))?.kind !== 'gone' && !this.#isTaken);
    return new CalledOff(why);
  }
}

const isWord = <Kind extends Said['kind']>(said: Said, kind: Kind): said is Word<Kind> => said.kind === kind;

const didNotStart = (why: string): string => `the new catnap did not start: ${why}; its log says more`;
