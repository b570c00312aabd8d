import type { systemClock } from '../adapters/system-clock.ts';
import { collectGarbage } from '../adapters/collect-garbage.ts';
import type { ForkedEnd } from '../adapters/ipc.ts';
import { reapIn } from '../adapters/reap-in.ts';
import type { Loaded } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { InvariantBroken } from '../core/kinds.ts';
import type { Log } from '../observe/log.ts';
import { App } from './app.ts';
import { EXIT } from './exit.ts';
import type { Lineage } from './restart/lineage.ts';
import { Serving } from './restart/serving.ts';
import { onSignals, passSignalsOn, SIGNAL_CODES } from './signals.ts';

export type Setting = {
  readonly version: string;
  readonly lineage: Lineage;
  readonly read: () => Loaded;
  readonly files: readonly string[];
  readonly metricsPortAsked: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  readonly clock: ReturnType<typeof systemClock>;
  readonly say: (line: string) => void;
  readonly welcome: ((port: number) => string) | undefined;
};

/** One process that serves, until it is told to stop or all that it had is another one's. Resolves to its exit code. */
export class Run {
  readonly #setting: Setting;
  readonly #ended = Promise.withResolvers<number>();
  readonly #stateDir: string;
  #opening: Promise<Serving> | undefined;
  #serving: Serving | undefined;
  #isOrphan = false;
  readonly #stopListening: () => void;

  constructor(config: Config, setting: Setting) {
    this.#setting = setting;
    this.#stateDir = config.state_dir;
    process.on('uncaughtException', this.#crash).on('unhandledRejection', this.#crash).on('exit', this.#lastResort);
    this.#opening = this.#open(config);
    // Whoever is told to stop while it starts, or to read its config again, must not just fall over.
    this.#stopListening = onSignals({
      stop: (by) => this.#then((serving) => this.#stop(serving, by)),
      stopNow: (signal) => this.#stopNow(signal),
      hangUp: () => this.#then(({ app }) => app.reload({ by: 'SIGHUP', now: false })),
      restart: () => this.#then((serving) => serving.restart('SIGUSR2')),
    });
    void setting.lineage.parent?.ended.then((end) => this.#childEnded(end)).catch(this.#crash);
  }

  async end(): Promise<number> {
    const { say, welcome, lineage } = this.#setting;
    try {
      this.#serving = await this.#opening;
    } catch (error) {
      this.#stopListening();
      say(`catnap cannot start: ${error instanceof Error ? error.message : String(error)}`);
      if (welcome !== undefined) {
        say('There is no config here; `-p PORT` gives this one a port and a state folder of its own.');
      }
      lineage.close();
      // A port or a folder that somebody else uses: what a start can meet here is for the config to solve.
      return EXIT.usage;
    }
    if (welcome !== undefined && this.#serving !== undefined) say(welcome(this.#serving.app.port));
    const code = await this.#ended.promise;
    this.#stopListening();
    process.off('uncaughtException', this.#crash).off('unhandledRejection', this.#crash).off('exit', this.#lastResort);
    lineage.close();
    return code;
  }

  /** The process that was started first is gone, and with it whoever would hear how this one ends. */
  readonly orphaned = (): void => {
    if (this.#serving?.isAfter === true) process.exit(EXIT.failed);
    this.#isOrphan = true;
    this.#then((serving) => this.#stop(serving, 'the end of its parent process'));
  };

  #open(config: Config): Promise<Serving> {
    const { lineage, clock } = this.#setting;
    return Serving.open({
      ...lineage,
      clock,
      after: () => this.#after(),
      stop: (by) => this.#then((serving) => this.#stop(serving, by)),
      left: () => this.#left(),
      // Nobody can say any more which of two has the engines: the one that has them ends them.
      fatal: (error) => (this.#isOrphan ? process.exit(EXIT.failed) : this.#crash(error)),
      open: (how) =>
        App.open({
          ...this.#setting,
          config,
          unconfigured: this.#setting.welcome !== undefined,
          fatal: (error: InvariantBroken) => this.#crash(error),
          ...how,
        }),
    });
  }

  #then(act: (serving: Serving) => Promise<unknown>): void {
    // One that cannot start ends by itself, and says why.
    void this.#opening?.then(
      (serving) => act(serving).catch(this.#crash),
      () => {},
    );
  }

  async #stop(serving: Serving, by: string): Promise<void> {
    if (!(await serving.callOff())) return serving.stopAfter(by);
    await serving.app.shutDown(serving.app.shutDownMs, by);
    this.#ended.resolve(EXIT.ok);
  }

  #stopNow(signal: NodeJS.Signals): void {
    // Nothing that is still under way may hold it up, so it does not wait for an empty event loop.
    const leave = (): never => process.exit(SIGNAL_CODES[signal] ?? EXIT.failed);
    if (this.#serving === undefined) leave();
    else void this.#serving.app.stopNow().then(leave, this.#crash);
  }

  /** Another one serves: what it is told, comes by way of the process that was started first. */
  #after(): void {
    this.#stopListening();
    const { parent } = this.#setting.lineage;
    passSignalsOn((signal) => parent?.child?.signal(signal));
  }

  /** The process that was started first stays, as small as it can be; any other one ends. */
  #left(): void {
    const { parent } = this.#setting.lineage;
    if (parent === undefined) {
      this.#ended.resolve(EXIT.ok);
      return;
    }
    this.#serving = undefined;
    this.#opening = undefined;
    parent.leave();
    setImmediate(collectGarbage);
  }

  /** The one that served has ended, and this one ends as it did. */
  async #childEnded({ code, signal }: ForkedEnd): Promise<void> {
    const { say, lineage } = this.#setting;
    await lineage.parent?.endComing();
    if (code === null) {
      say(`the catnap that served was ended by ${signal ?? 'something'}; what it has left is ended`);
      await reapIn(this.#stateDir, say);
    }
    process.exit(code ?? SIGNAL_CODES[signal ?? ''] ?? EXIT.failed);
  }

  /** Our own bug: whatever state is left cannot be trusted, so engines are killed and the process ends. */
  readonly #crash = (error: unknown): void => {
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#setting.say(`This is a bug in catnap; it ends. Please report it with these lines:\n${told}`);
    this.#lastResort();
    process.exit(EXIT.bug);
  };

  readonly #lastResort = (): void => {
    if (this.#serving?.isAfter === false) this.#serving.app.killAllNow();
  };
}
