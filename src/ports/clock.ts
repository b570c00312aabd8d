import type { Millis } from '../core/kinds.ts';

/** Time, as the shells see it. Tests give a virtual one. */
export interface Clock {
  /** Monotonic; its zero means nothing. */
  now(): Millis;
  /** For logs and records only. */
  wallTime(): Date;
  /** Runs `run` once, at `when` or as soon after it as can be. Never runs it synchronously. */
  at(when: Millis, run: () => void): Cancel;
}

export type Cancel = () => void;
