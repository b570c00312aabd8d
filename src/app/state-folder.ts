import type { ProcessesOptions } from '../adapters/processes.ts';
import type { Config } from '../config/schema.ts';

/** Where processes are recorded and what they print is kept, as a config has it. */
export const stateFolderOf = (
  config: Config,
): Pick<ProcessesOptions, 'stateDir' | 'logMaxBytes' | 'logKeep' | 'logTailLines'> => ({
  stateDir: config.state_dir,
  logMaxBytes: config.log_max_mib * 1_048_576,
  logKeep: config.log_keep,
  logTailLines: config.log_tail_lines,
});
