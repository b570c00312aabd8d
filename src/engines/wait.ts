import { after } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import { DriverError } from './driver.ts';

/** Resolves after `ms` or as soon as the signal fires. Never rejects and leaves neither timer nor listener behind. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.at(after(clock.now(), ms), done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** The work's own end, or a rejection as soon as the signal fires; the work itself is then left to finish unheard. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = (): void => reject(reasonOf(signal));
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give));
  });
}

/** Does the work with a signal that fires when the given one does, and after so long. */
export async function within<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const cancel = clock.at(after(clock.now(), ms), () => limit.abort());
  try {
    return await work(AbortSignal.any([signal, limit.signal]));
  } finally {
    cancel();
  }
}

/** Why a signal fired, as an error whose message can be shown. */
export function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof DriverError ? signal.reason : new DriverError('the order was withdrawn');
}

/** True as soon as one of them is, false when all are not. */
export function anyTrue(claims: readonly Promise<boolean>[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const told = claims.map((claim) => claim.then((holds) => holds && resolve(true)));
    Promise.all(told).then(() => resolve(false), reject);
  });
}
