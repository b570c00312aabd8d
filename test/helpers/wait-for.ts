import { setTimeout as pause } from 'node:timers/promises';

type Wait = {
  /** Gives up after this long. It guards against hangs; it is no measure of speed. */
  readonly within?: number;
  readonly every?: number;
};

/** Looks until `look` gives something other than undefined or false, and returns it. Rejects with `what` at the deadline. */
export async function waitFor<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  { within = 30_000, every = 10 }: Wait = {},
): Promise<T> {
  const deadline = performance.now() + within;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (performance.now() >= deadline) throw new Error(`waited ${within} ms for ${what}`);
    await pause(every);
  }
}
