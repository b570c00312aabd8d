import type { Loaded } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { InvariantBroken } from '../core/kinds.ts';
import type { Log } from '../observe/log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Predecessor } from '../ports/handover.ts';
import type { RestartEnd } from '../api/admin/restart.ts';
import type { HadBefore, Place } from './listeners.ts';

export type AppOptions = {
  readonly config: Config;
  /** Whether somebody asked for this `metrics_port`. If not, one that is taken is only worth a warning. */
  readonly metricsPortAsked: boolean;
  /** Whether there is no config that somebody could change, but only a command line. */
  readonly unconfigured: boolean;
  /** Reads the config again. */
  readonly read: () => Loaded;
  /** The files it is read from, also those that may come. */
  readonly files: readonly string[];
  readonly log: Log;
  readonly clock: Clock;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Told of a broken invariant, after which nothing can be trusted. */
  readonly fatal: (error: InvariantBroken) => void;
  /** Another catnap whose engines are taken over. */
  readonly predecessor?: Predecessor;
  /** Whether nobody goes on with those engines when this one cannot. */
  readonly isLast?: boolean;
  /** Where that one listens, for each port. */
  readonly before?: (place: Place) => HadBefore | undefined;
  /** Leaves everything to a fresh catnap. */
  readonly restart: (by: string) => Promise<RestartEnd>;
};
