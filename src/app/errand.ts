import { openProcesses, type SystemProcesses } from '../adapters/processes.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import { createLog } from '../observe/log.ts';
import { stderrSink } from '../observe/log-sink.ts';
import { readLogSettings } from '../observe/levels.ts';
import type { Clock } from '../ports/clock.ts';
import { callable } from './callable.ts';
import { EXIT } from './exit.ts';
import { placed } from './placed.ts';
import { stateFolderOf } from './state-folder.ts';

type ErrandOptions = {
  readonly config: Config;
  readonly name: string;
  readonly model: ModelConfig;
  readonly verbose: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
};

export type ErrandMeans = {
  readonly clock: Clock;
  readonly processes: SystemProcesses;
  readonly warned: (message: string) => void;
  /** The model as its engines get it. */
  readonly placed: ModelConfig;
};

/** Does something with engines of one model and serves nobody meanwhile; `refused` tells why it cannot have the state folder. Resolves to the exit code. */
export async function errand(
  options: ErrandOptions,
  refused: (reason: string) => void,
  work: (means: ErrandMeans, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const { config, name, verbose, env, say } = options;
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
    return await callable(processes, async (signal) => {
      // Before the GPUs are looked at: what is left of an earlier catnap is not there to stay.
      await processes.reapLeftovers();
      const means = { clock, processes, warned };
      const model = await placed(options, means).catch(wordsOf);
      if (typeof model !== 'string') return work({ ...means, placed: model }, signal);
      say(`catnap cannot start ${name}: ${model}`);
      return EXIT.failed;
    });
  } finally {
    await processes.close();
  }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
