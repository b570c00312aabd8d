import { setTimeout as pause } from 'node:timers/promises';
import { codeOf } from './system-error.ts';

/** How long an engine may take to read what lies in its sockets: a connection that it has not accepted cannot be written to disk. */
const READ_MS = 50;
/** The kernel puts an acknowledgement off for 200 ms at most. One that came once the sockets are gone would be answered with a reset. */
const QUIET_MS = 250;

/** Stops all of them, and waits until nothing of what they have sent is still to be acknowledged by us. */
export async function standStill(everyone: () => Promise<readonly number[]>): Promise<void> {
  await pause(READ_MS);
  signalAll(await everyone(), 'SIGSTOP');
  await pause(QUIET_MS);
}

export function goOn(pids: readonly number[]): void {
  signalAll(pids, 'SIGCONT');
}

function signalAll(pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if (codeOf(error) !== 'ESRCH') throw error;
    }
  }
}
