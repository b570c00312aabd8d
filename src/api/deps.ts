import type { Config } from '../config/schema.ts';
import type { MayUse } from '../access/key.ts';
import type { ModelId } from '../core/kinds.ts';
import type { Verdict } from '../ports/verdicts.ts';
import type { StageReader } from '../runtime/view.ts';
import type { Remembered } from './admin/rows.ts';

/** All that the control planes need of the rest of catnap. None of it changes anything. */
export type ControlDeps = {
  readonly config: Pick<Config, 'aliases' | 'models'>;
  /** Resolves a model id or an alias, for somebody who may use these models. */
  readonly find: (name: string, mayUse?: MayUse) => ModelId | undefined;
  readonly stage: StageReader;
  /** What validations found of its sleep levels, as far as it holds now. */
  readonly verdicts: (model: ModelId) => readonly Verdict[];
  readonly lastFailure: (model: ModelId) => Remembered | undefined;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly startedAt: Date;
  readonly version: string;
  /** Told of every error that is a bug of ours, after the request it hit has been answered. */
  readonly bug: (error: unknown) => void;
};
