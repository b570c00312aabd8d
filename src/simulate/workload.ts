import type { Millis } from '../core/kinds.ts';
import type { Priority } from '../core/place.ts';

/** One request as a trace or a generator tells of it. */
export type Arrival = {
  readonly at: Millis;
  readonly model: string;
  /** How long the engine works on it. */
  readonly serviceMs: number;
  /** After how long its client leaves when it has no turn; for ever where it is not told. */
  readonly leavesAfterMs?: number;
  /** How urgent it is; `normal` where it is not told. */
  readonly priority?: Priority;
  /** Who sends it, where that matters to the generator. */
  readonly session?: number;
};

/** Requests to come. Those of a closed loop depend on when earlier ones were done. */
export type Workload = {
  readonly name: string;
  readonly models: readonly string[];
  /** In the order of their times. */
  readonly arrivals: Iterable<Arrival>;
  /** What follows from a request that was served, or whose client has left. */
  readonly followUp?: (done: Arrival, now: Millis) => Arrival | undefined;
};
