import { openProcesses, type SystemProcesses } from '../adapters/processes.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { Config } from '../config/schema.ts';
import { createLog } from '../observe/log.ts';
import { stderrSink } from '../observe/log-sink.ts';
import { readLogSettings } from '../observe/levels.ts';
import type { Clock } from '../ports/clock.ts';
import { callable } from './callable.ts';
import { EXIT } from './exit.ts';
import { stateFolderOf } from './state-folder.ts';

type ErrandOptions = {
  readonly config: Config;
  readonly verbose: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
};

export type ErrandMeans = {
  readonly clock: Clock;
  readonly processes: SystemProcesses;
  readonly warned: (message: string) => void;
};

/** Does something with engines and serves nobody meanwhile; `refused` tells why it cannot have the state folder. Resolves to the exit code. */
export async function errand(
  { config, verbose, env, say }: ErrandOptions,
  refused: (reason: string) => void,
  work: (means: ErrandMeans, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const logging = readLogSettings({ env, tty: process.stderr.isTTY === true, verbose });
  if (logging.kind === 'problems') {
    for (const problem of logging.problems) say(problem);
    return EXIT.usage;
  }
  const clock = systemClock();
  const log = createLog(logging.settings, stderrSink(process.stderr.isTTY === true), clock);
  const warned = (message: string): void => log.report({ kind: 'warned', message });
  let processes: SystemProcesses;
  try {
    processes = await openProcesses({
      ...stateFolderOf(config),
      ...(log.showsOutput && { onLine: (model, line) => log.engineLine(model, line) }),
      onProblem: warned,
    });
  } catch (error) {
    refused(error instanceof Error ? error.message : String(error));
    return EXIT.usage;
  }
  try {
    return await callable(processes, (signal) => work({ clock, processes, warned }, signal));
  } finally {
    await processes.close();
  }
}
