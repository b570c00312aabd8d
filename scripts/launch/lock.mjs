import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FAILED, Refusal, say } from './refusal.mjs';

const BEAT_MS = 1_000;
/** A holder that missed this many milliseconds of beats is gone, whatever its pid says. */
const STALE_MS = 15_000;
const WAIT_MS = 20 * 60_000;

/**
 * Runs `work` while no other launcher works on the same thing. The lock saves double work and no more: whatever is made under
 * it is moved into place whole, so a lock that was wrongly taken for dead does no harm.
 * @template T
 * @param {string} file
 * @param {AbortSignal} signal
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function underLock(file, signal, work) {
  mkdirSync(dirname(file), { recursive: true });
  const holder = JSON.stringify({ pid: process.pid, host: hostname() });
  await take(file, holder, signal);
  const beat = setInterval(() => touch(file), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    if (read(file) === holder) rmSync(file, { force: true });
  }
}

/**
 * @param {string} file
 * @param {string} holder
 * @param {AbortSignal} signal
 */
async function take(file, holder, signal) {
  const deadline = Date.now() + WAIT_MS;
  for (let told = false; !create(file, holder);) {
    if (isStale(file)) {
      rmSync(file, { force: true });
      continue;
    }
    if (!told) say('another catnap is setting up; waiting for it');
    told = true;
    if (Date.now() > deadline)
      throw new Refusal(`${file} has been held for 20 minutes; remove it if nothing is being set up.`, FAILED);
    await delay(100, undefined, { signal });
  }
}

/**
 * @param {string} file
 * @param {string} holder
 */
function create(file, holder) {
  try {
    writeFileSync(file, holder, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} file */
function isStale(file) {
  const seen = statSync(file, { throwIfNoEntry: false });
  if (seen === undefined) return false;
  return Date.now() - seen.mtimeMs > STALE_MS || isDead(read(file));
}

/**
 * Whether a holder of this machine has ended; of another machine (a shared folder) only its beats tell.
 * @param {string} holder
 */
function isDead(holder) {
  const [, pid, host] = /^\{"pid":(\d+),"host":"(.*)"\}$/.exec(holder) ?? [];
  if (pid === undefined || host !== hostname()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** @param {string} file */
function touch(file) {
  try {
    utimesSync(file, new Date(), new Date());
  } catch {
    // Somebody took the lock for dead and removed it; the work goes on, see underLock.
  }
}
