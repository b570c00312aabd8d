import type { Footprints } from './footprints.ts';
import type { Config } from '../config/schema.ts';
import type { SleepLevel } from '../core/kinds.ts';
import type { CostFile, CostsByModel } from '../ports/cost-file.ts';
import type { Verdict } from '../ports/verdicts.ts';
import type { Learned, StagePlan } from './stages.ts';

/** What earlier days have told: what swaps cost, and where that is kept; and what validations found. And what this machine cannot do. */
export type Known = {
  readonly file: CostFile;
  readonly known: CostsByModel;
  readonly verdicts: ReadonlyMap<string, readonly Verdict[]>;
  readonly absent: ReadonlyMap<SleepLevel, string>;
  readonly plans: readonly StagePlan[];
  readonly footprints: Footprints;
  /** What models take that do not say it. */
  readonly learned: Learned;
  /** The config before that was taken into account. */
  readonly written: Config;
};
