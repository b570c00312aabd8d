import { systemClock } from '../adapters/system-clock.ts';
import { complaint, problemText } from '../config/diagnostics.ts';
import { configFiles, loadConfig, type Loaded } from '../config/load.ts';
import { createLog } from '../observe/log.ts';
import { stderrSink } from '../observe/log-sink.ts';
import { readLogSettings } from '../observe/levels.ts';
import { EXIT } from './exit.ts';
import { firstRun } from './first-run.ts';
import { lineageOf } from './restart/lineage.ts';
import { Run } from './run.ts';
import { onSignals, SIGNAL_CODES } from './signals.ts';

export type ServeOptions = {
  readonly config: readonly string[];
  readonly port: number | undefined;
  readonly verbose: boolean;
  readonly version: string;
  /** What has started this process and could start another one like it. */
  readonly launcher: string | undefined;
};

/** Serves until it is told to stop. Resolves to the exit code. */
export async function serve(options: ServeOptions): Promise<number> {
  const own: { run?: Run } = {};
  const lineage = lineageOf(options.launcher, options.version, () => own.run?.orphaned());
  const refuse = async (code: number, why: readonly string[]): Promise<number> => {
    await lineage.taking?.refuse(why);
    lineage.close();
    return code;
  };
  const { env, stderr } = process;
  const say = (line: string): void => void stderr.write(`${line}\n`);
  const logging = readLogSettings({ env, tty: stderr.isTTY === true, verbose: options.verbose });
  if (logging.kind === 'problems') {
    for (const problem of logging.problems) say(problem);
    return refuse(EXIT.usage, logging.problems);
  }
  let loaded = loadConfig(options.config, { port: options.port }, env);
  let welcome: ((port: number) => string) | undefined;
  if (loaded.kind === 'absent') {
    const first = await callable((signal) => firstRun(env, options.port, say, signal));
    if (typeof first === 'number') return refuse(first, ['there is no config']);
    ({ loaded, welcome } = first);
  }
  if (loaded.kind !== 'loaded') {
    const code = complain(loaded, say);
    return refuse(code, loaded.kind === 'bad' ? loaded.problems.map(problemText) : ['there is no config']);
  }
  const clock = systemClock();
  const log = createLog(logging.settings, stderrSink(stderr.isTTY === true), clock);
  for (const warning of loaded.warnings) log.report({ kind: 'warned', message: problemText(warning) });
  const { version } = options;
  const read = (): Loaded => loadConfig(options.config, { port: options.port }, env);
  const files = configFiles(options.config);
  const metricsPortAsked = loaded.wrote('metrics_port');
  const setting = { version, lineage, read, files, metricsPortAsked, env, log, clock, say };
  own.run = new Run(loaded.config, { ...setting, welcome: lineage.taking === undefined ? welcome : undefined });
  return own.run.end();
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
