import { run } from './run.ts';
import { processTerminal } from './terminal.ts';

/**
 * What a person typed, carried out. Resolves to the exit code. `launcher` is the script that has started this process, with which another one like it
 * could be started.
 */
export function main(argv: readonly string[], launcher?: string): Promise<number> {
  return run(argv, { ...processTerminal(), launcher });
}
