import { after, type Millis } from './kinds.ts';
import type { Why } from './trouble.ts';

/** What the engine was doing when it failed. */
export type FailedWhile = 'starting' | 'awake' | 'falling-asleep' | 'waking' | 'asleep';

export type Failure = Why & {
  readonly during: FailedWhile;
  /** How many times in a row, this one included. */
  readonly attempts: number;
  /** Whether those who wait for the model are told now, rather than kept for the next try. */
  readonly giveUp: boolean;
};

export type RestartRules = {
  /** An engine that was awake this long starts its count afresh. */
  readonly stableAfterMs: number;
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
  /** How many times in a row an engine may die awake before its waiters are told. */
  readonly crashesBeforeGivingUp: number;
};

export const defaultRestartRules: RestartRules = {
  stableAfterMs: 60_000,
  firstDelayMs: 1_000,
  longestDelayMs: 60_000,
  crashesBeforeGivingUp: 3,
};

/**
 * How often and how soon a failed engine is tried again. `before` is how many times it has failed in a row so far.
 * 1. It would not sleep, or died asleep: that says nothing about serving, so it does not count and it may start again at once.
 * 2. It died awake: start it again at once, since the next request deserves an answer; the second time in a row after a pause.
 * 3. It would not wake: one fresh start at once, since nothing it held is lost that way.
 * 4. It would not start: its waiters are told, and the next request after the pause tries again.
 */
export function judge(
  during: FailedWhile,
  why: Why,
  before: number,
  now: Millis,
  rules: RestartRules,
): { failure: Failure; retryAt: Millis } {
  if (during === 'falling-asleep' || during === 'asleep') {
    return { failure: { ...why, during, attempts: before, giveUp: false }, retryAt: now }; // 1
  }
  const attempts = before + 1;
  const giveUp = during === 'starting' || attempts >= rules.crashesBeforeGivingUp;
  const free = attempts === 1 && during !== 'starting'; // 2, 3
  const delay = free ? 0 : Math.min(rules.longestDelayMs, rules.firstDelayMs * 2 ** Math.min(before, 20)); // 4
  return { failure: { ...why, during, attempts, giveUp }, retryAt: after(now, delay) };
}
