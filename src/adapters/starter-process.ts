/** The small process that starts programs for catnap; see `starter.ts`. It lives for as long as whoever has forked it. */
import { askProgram } from './ask-program.ts';
import type { FromStarter, ToStarter } from './starter.ts';

const underWay = new Map<number, AbortController>();

// It ends with its channel and by nothing else, so that a catnap that was told to stop can still stop its engines by their tools.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => {});

process.on('message', (asked: ToStarter) => {
  if (asked.kind === 'end') underWay.get(asked.id)?.abort();
  else void run(asked);
});

process.once('disconnect', () => {
  for (const ending of underWay.values()) ending.abort();
});

say({ kind: 'ready' });

async function run({ id, argv, limitMs, env }: Extract<ToStarter, { kind: 'ask' }>): Promise<void> {
  const ending = new AbortController();
  underWay.set(id, ending);
  const watch = (pid: number): void => say({ kind: 'started', id, pid });
  const answer = await askProgram(argv, limitMs, { env, signal: ending.signal, watch });
  underWay.delete(id);
  say({ kind: 'answer', id, answer });
}

/** Nobody hears it once catnap is gone. */
function say(told: FromStarter): void {
  if (process.connected) process.send?.(told, () => {});
}
