import { constants } from 'node:os';
import { Refusal } from './refusal.mjs';

const STOPS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** We were told to stop before anything was launched. */
export class Interrupted extends Refusal {
  /** @param {keyof typeof constants.signals} name */
  constructor(name) {
    super(`stopped by ${name}`, 128 + constants.signals[name]);
  }
}

/**
 * Runs work that is given up cleanly when this process is told to stop: its signal aborts, its `finally` blocks run, then we go.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function interruptible(work) {
  const stop = new AbortController();
  /** @param {NodeJS.Signals} name */
  const give = (name) => stop.abort(new Interrupted(name));
  for (const name of STOPS) process.once(name, give);
  try {
    return await work(stop.signal);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    for (const name of STOPS) process.removeListener(name, give);
  }
}
