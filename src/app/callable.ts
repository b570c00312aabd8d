import type { SystemProcesses } from '../adapters/processes.ts';
import { EXIT } from './exit.ts';
import { onSignals } from './signals.ts';

/** As a shell counts a process that a signal ended. */
const SIGNAL_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** Does something that Ctrl+C may call off; the exit code when it was. Whatever happens, no engine is left. */
export async function callable(
  processes: SystemProcesses,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const callOff = new AbortController();
  let by: string | undefined;
  const lastResort = (): void => processes.killAllNow();
  process.on('exit', lastResort);
  const stopListening = onSignals({
    stop: (signal) => {
      by = signal;
      callOff.abort(new Error(signal));
    },
    stopNow: (signal) => process.exit(SIGNAL_CODES[signal] ?? EXIT.failed),
    hangUp: () => {},
  });
  try {
    return await work(callOff.signal);
  } catch (error) {
    if (by === undefined) throw error;
    return SIGNAL_CODES[by] ?? EXIT.failed;
  } finally {
    stopListening();
    process.off('exit', lastResort);
  }
}
