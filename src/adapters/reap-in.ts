import { openProcesses } from './processes.ts';

/** Ends what a catnap has left that is dead, as the next start would. */
export async function reapIn(stateDir: string, onProblem: (message: string) => void): Promise<void> {
  try {
    const processes = await openProcesses({ stateDir, onProblem });
    await processes.reapLeftovers();
    await processes.close();
  } catch (error) {
    onProblem(`what it has left stays until the next start: ${error instanceof Error ? error.message : String(error)}`);
  }
}
