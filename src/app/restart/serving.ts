import type { RestartEnd } from '../../api/admin/restart.ts';
import type { Config } from '../../config/schema.ts';
import type { TicketId } from '../../core/kinds.ts';
import type { Clock } from '../../ports/clock.ts';
import type { HandedCut, Handover } from '../../ports/handover.ts';
import type { Reporter } from '../../ports/reporter.ts';
import type { App } from '../app.ts';
import type { Given, Pass } from '../listeners.ts';
import type { HandOverTerms } from '../../runtime/supervisor.ts';
import type { AppOptions } from '../options.ts';
import { ms } from '../times.ts';
import { Giving, type GivingMeans, type Leaver, type LeftBehind } from './giving.ts';
import type { Line, Said } from './said.ts';
import type { Taking } from './taking.ts';

export type ServingMeans = {
  /** Undefined: nobody can come after this one, since it was not started by the launcher. */
  readonly line: Line | undefined;
  readonly taking: Taking | undefined;
  readonly clock: Clock;
  readonly open: (
    how: Pick<AppOptions, 'predecessor' | 'before' | 'isLast' | 'restart'> & Partial<Pick<AppOptions, 'config'>>,
  ) => Promise<App>;
  /** Another one serves; what is open here goes on. */
  readonly after: () => void;
  /** The catnap before was told to stop as this one took over. */
  readonly stop: (by: string) => void;
  /** All that was open here has ended. */
  readonly left: () => void;
  /** Nothing that is here can be trusted any more. */
  readonly fatal: (error: unknown) => void;
};

/** What this process serves with, from the catnap before to the catnap after. */
export class Serving implements Leaver {
  readonly #means: ServingMeans;
  readonly #giving: Giving | undefined;
  #app: App;
  /** Settles when all is over that was open in this process before it took its engines back. */
  #olds: Promise<unknown> = Promise.resolve();
  /** Whether the catnap before still serves what was open there. */
  #isBeforeThere: boolean;

  /** Rejects as `App.open` does; the catnap before has been told why then. */
  static async open(means: ServingMeans): Promise<Serving> {
    const { taking, line } = means;
    const own: { serving?: Serving } = {};
    const restart = (by: string): Promise<RestartEnd> => {
      const early = { kind: 'refused', code: 'restarting', problems: ['catnap is starting'] } as const;
      return own.serving?.restart(by) ?? Promise.resolve(early);
    };
    line?.hear((from, said, socket) => {
      if (said.kind === 'stop') means.stop(said.by);
      else if (from === 'before') taking?.hear(said, socket);
      else own.serving?.hear(said);
    });
    try {
      const app = await means.open({
        restart,
        ...(taking !== undefined && { predecessor: taking, before: taking.before }),
      });
      const serving = (own.serving = new Serving(means, app));
      taking?.done({
        settled: (ticket) => serving.#settled(ticket),
        accept: (port, socket) => serving.app.listeners.accept(port, socket),
      });
      if (taking !== undefined) app.reporter.report({ kind: 'taken-over', ...taking.taken });
      return serving;
    } catch (error) {
      await taking?.refuse([error instanceof Error ? error.message : String(error)]);
      throw error;
    }
  }

  private constructor(means: ServingMeans, app: App) {
    const { line, clock, taking } = means;
    this.#means = means;
    this.#app = app;
    this.#isBeforeThere = taking !== undefined;
    if (line === undefined) return;
    this.#giving = new Giving({ ...means, line, clock, leaver: this, limits: () => limitsOf(this.#app.written) });
  }

  get app(): App {
    return this.#app;
  }

  /** Whether another one serves. */
  get isAfter(): boolean {
    return this.#giving?.isAfter === true;
  }

  get accepting(): boolean {
    return this.#app.accepting;
  }

  get reporter(): Reporter {
    return this.#app.reporter;
  }

  async restart(by: string): Promise<RestartEnd> {
    if (this.#giving !== undefined) return this.#giving.restart(by, this.#precluded);
    const problems = ['this catnap was not started by its launcher, which would be needed to start another one'];
    this.reporter.report({ kind: 'restart-called-off', by, problems });
    return { kind: 'refused', code: 'restart_refused', problems };
  }

  get #precluded(): string | undefined {
    if (process.platform !== 'linux')
      return `engines can be handed over on Linux only, and this is ${process.platform}`;
    if (this.#isBeforeThere) return 'the catnap before still serves requests that were open at the last restart';
    return undefined;
  }

  /** What the one that comes says. */
  hear(said: Said): void {
    this.#giving?.hear(said);
  }

  /** Resolves to whether this one serves, once no restart is under way. */
  callOff(): Promise<boolean> {
    return this.#giving?.callOff() ?? Promise.resolve(true);
  }

  /** The one that serves now is to stop. */
  async stopAfter(by: string): Promise<void> {
    await this.#means.line?.send('after', { kind: 'stop', by });
  }

  handOver(terms: HandOverTerms): Promise<Handover> {
    return this.#app.handOver(terms);
  }

  give(): readonly Given[] {
    return this.#app.give();
  }

  cut(cut: HandedCut): void {
    this.#app.cut(cut);
  }

  async leave(withinMs: number, pass: Pass): Promise<void> {
    await Promise.all([this.#app.leave(withinMs, pass), this.#olds]);
    this.reporter.report({ kind: 'left', uptimeMs: this.#app.uptimeMs });
  }

  /** As another one would: what is open stays with the app that it came to. */
  async takeBack({ handover, ports, settled }: LeftBehind): Promise<void> {
    const old = this.#app;
    // Its sockets may never have been sent.
    for (const { stop } of ports) stop();
    const numbers = new Map(ports.map(({ place, number }) => [place.port, { number }]));
    this.#app = await this.#means.open({
      config: old.written,
      isLast: true,
      restart: (by) => this.restart(by),
      predecessor: { takeOver: () => Promise.resolve(handover), cut: (cut) => old.cut(cut) },
      before: ({ port }) => numbers.get(port),
    });
    settled((ticket) => this.#app.settledElsewhere(ticket));
    const next = this.#app;
    const pass: Pass = (port, socket) => Promise.resolve(next.listeners.accept(port, socket));
    this.#olds = Promise.all([this.#olds, old.leave(limitsOf(old.written).drainMs, pass)]);
  }

  #settled(ticket: TicketId | undefined): void {
    if (ticket === undefined) this.#isBeforeThere = false;
    this.#app.settledElsewhere(ticket);
  }
}

const limitsOf = (config: Config): ReturnType<GivingMeans['limits']> => ({
  readyMs: ms(config.handover_ready_secs),
  restMs: ms(config.handover_rest_secs),
  drainMs: ms(config.handover_drain_secs),
});
