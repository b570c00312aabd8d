import { systemClock } from '../adapters/system-clock.ts';
import { complaint, problemText } from '../config/diagnostics.ts';
import { configFiles, loadConfig, type Loaded } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { InvariantBroken } from '../core/kinds.ts';
import { createLog, type Log } from '../observe/log.ts';
import { stderrSink } from '../observe/log-sink.ts';
import { readLogSettings } from '../observe/levels.ts';
import { App } from './app.ts';
import { EXIT } from './exit.ts';
import { firstRun } from './first-run.ts';
import { onSignals } from './signals.ts';

export type ServeOptions = {
  readonly config: readonly string[];
  readonly port: number | undefined;
  readonly verbose: boolean;
  readonly version: string;
};

/** As a shell counts a process that a signal ended. */
const SIGNAL_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** Serves until it is told to stop. Resolves to the exit code. */
export async function serve(options: ServeOptions): Promise<number> {
  const { env, stderr } = process;
  const say = (line: string): void => void stderr.write(`${line}\n`);
  const logging = readLogSettings({ env, tty: stderr.isTTY === true, verbose: options.verbose });
  if (logging.kind === 'problems') {
    for (const problem of logging.problems) say(problem);
    return EXIT.usage;
  }
  let loaded = loadConfig(options.config, { port: options.port }, env);
  let welcome: ((port: number) => string) | undefined;
  if (loaded.kind === 'absent') {
    const first = await callable((signal) => firstRun(env, options.port, say, signal));
    if (typeof first === 'number') return first;
    ({ loaded, welcome } = first);
  }
  if (loaded.kind !== 'loaded') return complain(loaded, say);
  const clock = systemClock();
  const log = createLog(logging.settings, stderrSink(stderr.isTTY === true), clock);
  for (const warning of loaded.warnings) log.report({ kind: 'warned', message: problemText(warning) });
  return run(loaded.config, {
    ...options,
    read: () => loadConfig(options.config, { port: options.port }, env),
    files: configFiles(options.config),
    metricsPortAsked: loaded.wrote('metrics_port'),
    env,
    log,
    clock,
    say,
    welcome,
  });
}

type Setting = ServeOptions & {
  readonly read: () => Loaded;
  readonly files: readonly string[];
  readonly metricsPortAsked: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  readonly clock: ReturnType<typeof systemClock>;
  readonly say: (line: string) => void;
  readonly welcome: ((port: number) => string) | undefined;
};

async function run(
  config: Config,
  { version, metricsPortAsked, env, log, clock, say, welcome, read, files }: Setting,
): Promise<number> {
  const ended = Promise.withResolvers<number>();
  let app: App | undefined;
  // Our own bug: whatever state is left cannot be trusted, so engines are killed and the process ends.
  const crash = (error: unknown): void => {
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    say(`This is a bug in catnap; it ends. Please report it with these lines:\n${told}`);
    app?.killAllNow();
    process.exit(EXIT.bug);
  };
  const lastResort = (): void => app?.killAllNow();
  process.on('uncaughtException', crash).on('unhandledRejection', crash).on('exit', lastResort);
  const opening = App.open({
    config,
    metricsPortAsked,
    unconfigured: welcome !== undefined,
    read,
    files,
    log,
    clock,
    version,
    env,
    fatal: (error: InvariantBroken) => crash(error),
  });
  // Whoever is told to stop while it starts, or to read its config again, must not just fall over.
  const stopListening = onSignals({
    stop: (by) =>
      void opening.then(
        (opened) => opened.shutDown(opened.shutDownMs, by).then(() => ended.resolve(EXIT.ok), crash),
        () => {}, // it ends by itself, and says why
      ),
    stopNow: (signal) => {
      // Nothing that is still under way may hold it up, so it does not wait for an empty event loop.
      const leave = (): never => process.exit(SIGNAL_CODES[signal] ?? EXIT.failed);
      if (app === undefined) leave();
      else void app.stopNow().then(leave, crash);
    },
    hangUp: () =>
      void opening.then(
        (opened) => opened.reload({ by: 'SIGHUP', now: false }).then(() => {}, crash),
        () => {},
      ),
  });
  try {
    app = await opening;
  } catch (error) {
    stopListening();
    say(`catnap cannot start: ${error instanceof Error ? error.message : String(error)}`);
    if (welcome !== undefined) {
      say('There is no config here; `-p PORT` gives this one a port and a state folder of its own.');
    }
    // A port or a folder that somebody else uses: what a start can meet here is for the config to solve.
    return EXIT.usage;
  }
  if (welcome !== undefined) say(welcome(app.port));
  const code = await ended.promise;
  stopListening();
  process.off('uncaughtException', crash).off('unhandledRejection', crash).off('exit', lastResort);
  return code;
}

/** Does something that Ctrl+C may call off; the exit code when it was. */
async function callable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | number> {
  const callOff = new AbortController();
  let by: string | undefined;
  const stop = (signal: string): void => {
    by = signal;
    callOff.abort(new Error(signal));
  };
  const stopListening = onSignals({ stop, stopNow: stop, hangUp: () => {} });
  try {
    return await work(callOff.signal);
  } catch (error) {
    if (by === undefined) throw error;
    return SIGNAL_CODES[by] ?? EXIT.failed;
  } finally {
    stopListening();
  }
}

function complain(loaded: Exclude<Loaded, { readonly kind: 'loaded' }>, say: (line: string) => void): number {
  if (loaded.kind === 'bad') {
    for (const warning of loaded.warnings) say(`warning: ${problemText(warning)}`);
    say(`${complaint(loaded.problems)}Nothing was started.`);
  }
  return EXIT.usage;
}
