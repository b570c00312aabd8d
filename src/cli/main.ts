import { run } from './run.ts';
import { processTerminal } from './terminal.ts';

/** What a person typed, carried out. Resolves to the exit code; never ends the process itself. */
export function main(argv: readonly string[]): Promise<number> {
  return run(argv, processTerminal());
}
