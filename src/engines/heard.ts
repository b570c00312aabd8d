import { after } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { Child } from '../ports/process.ts';
import { DriverError } from './driver.ts';
import { reasonOf, unlessAborted } from './wait.ts';

type HeardRules = {
  /** How long it may take in all. */
  readonly forMs: number;
  /** Without a word for this long it has failed; 0: no such rule. */
  readonly stallMs: number;
  /** Begins what is told when it takes too long: who does what. */
  readonly what: string;
  readonly child: Pick<Child, 'printed'>;
};

export type Heard = { readonly heard: () => void; readonly signal: AbortSignal };

/** Has work done that tells of its progress, for as long as it does. What the process prints meanwhile counts as well. */
export async function whileHeard(
  { forMs, stallMs, what, child }: HeardRules,
  clock: Clock,
  signal: AbortSignal,
  work: (terms: Heard) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const both = AbortSignal.any([signal, over.signal]);
  const giveUp = (why: string): void => over.abort(new DriverError(why, 'too_late'));
  const cancelLimit = clock.at(after(clock.now(), forMs), () =>
    giveUp(`${what} for more than ${forMs / 1_000} s (startup_timeout_secs)`),
  );
  let heardAt = clock.now();
  let printed = child.printed;
  let cancelLook = (): void => undefined;
  const look = (): void => {
    const now = clock.now();
    if (child.printed !== printed) heardAt = now;
    printed = child.printed;
    if (now - heardAt >= stallMs) giveUp(`${what} and has told nothing for ${stallMs / 1_000} s (startup_stall_secs)`);
    else cancelLook = clock.at(after(heardAt, stallMs), look);
  };
  if (stallMs > 0) cancelLook = clock.at(after(heardAt, stallMs), look);
  try {
    await unlessAborted(work({ heard: () => void (heardAt = clock.now()), signal: both }), both);
    if (both.aborted) throw reasonOf(both);
  } finally {
    cancelLimit();
    cancelLook();
  }
}
