/** What ends a running catnap, or tells it something. */
export type SignalHandlers = {
  /** The first wish to stop. */
  readonly stop: (by: string) => void;
  /** A second one, while it stops. */
  readonly stopNow: (signal: NodeJS.Signals) => void;
  /** Read the config again. */
  readonly hangUp: () => void;
  /** Leave everything to a fresh catnap. */
  readonly restart?: () => void;
};

/** As a shell counts a process that a signal ended. */
export const SIGNAL_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, SIGKILL: 137 };

const STOPPING = ['SIGTERM', 'SIGINT'] as const;

/** A supervisor tells every process of a group, and npm or a launcher among them passes on what it was told: that is one wish. */
const ECHO_MS = 250;

/** Listens until the returned function is called. A terminal that goes away takes catnap with it, as Ctrl+C would. */
export function onSignals({ stop, stopNow, hangUp, restart = () => {} }: SignalHandlers): () => void {
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  const ask = (signal: NodeJS.Signals): void => {
    const at = performance.now();
    if (first === undefined) {
      first = { signal, at };
      stop(signal);
    } else if (signal !== first.signal || at - first.at > ECHO_MS) {
      stopNow(signal);
    }
  };
  const hung = (signal: NodeJS.Signals): void => {
    if (process.stdin.isTTY) ask(signal);
    else hangUp();
  };
  for (const signal of STOPPING) process.on(signal, ask);
  process.on('SIGHUP', hung).on('SIGUSR2', restart);
  return () => {
    for (const signal of STOPPING) process.off(signal, ask);
    process.off('SIGHUP', hung).off('SIGUSR2', restart);
  };
}

const ALL = [...STOPPING, 'SIGHUP', 'SIGUSR2'] as const;

/** What is told this process is for another one. */
export function passSignalsOn(to: (signal: NodeJS.Signals) => void): void {
  for (const signal of ALL) process.on(signal, () => to(signal));
}
