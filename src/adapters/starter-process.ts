/** The small process that starts programs for catnap; see `starter.ts`. It lives for as long as whoever has forked it. */
import { askProgram } from './ask-program.ts';
import type { Errand, Told } from './starter.ts';

const underWay = new Map<number, AbortController>();

// It ends with its channel and by nothing else, so that a catnap that was told to stop can still stop its engines by their tools.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => {});

process.on('message', (errand: Errand) => {
  if (errand.kind === 'end') underWay.get(errand.id)?.abort();
  else void run(errand);
});

process.once('disconnect', () => {
  for (const ending of underWay.values()) ending.abort();
});

say({ kind: 'ready' });

async function run({ id, argv, limitMs, env }: Extract<Errand, { kind: 'ask' }>): Promise<void> {
  const ending = new AbortController();
  underWay.set(id, ending);
  const watch = (pid: number): void => say({ kind: 'started', id, pid });
  const answer = await askProgram(argv, limitMs, { env, signal: ending.signal, watch });
  underWay.delete(id);
  say({ kind: 'answer', id, answer });
}

/** Nobody hears it once catnap is gone. */
function say(told: Told): void {
  if (process.connected) process.send?.(told, () => {});
}
