import type { Config } from '../config/schema.ts';
import type { MayUse } from '../access/key.ts';
import type { SavedCosts } from '../core/costs.ts';
import type { ModelId, SleepLevel } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { Gpu } from '../ports/gpu.ts';
import type { OpenRequests } from '../ports/open-requests.ts';
import type { Verdict } from '../ports/verdicts.ts';
import type { Operator } from '../runtime/operator.ts';
import type { StageReader } from '../runtime/view.ts';
import type { History, Output } from './admin/history.ts';
import type { ReloadEnd, ReloadWish } from './admin/reload.ts';
import type { RestartEnd } from './admin/restart.ts';
import type { Remembered, Vram } from './admin/rows.ts';

/** All that the control planes need of the rest of catnap. */
export type ControlDeps = {
  readonly operator: Operator;
  readonly gpu: Gpu;
  readonly journal: History;
  readonly requests: OpenRequests;
  readonly output: Output;
  readonly clock: Clock;
  /** About how much GPU memory a model takes with so many replicas. */
  readonly vram: (model: ModelId, replicas: number) => Vram;
  /** How many requests each engine of a model is given at a time. */
  readonly effectiveTarget: (model: ModelId) => number;
  /** What a model was seen to take to drain, go and come. */
  readonly costs: (model: ModelId) => SavedCosts;
  /** The levels a model can be put to, 5 among them. */
  readonly levels: (model: ModelId) => readonly SleepLevel[];
  readonly config: Pick<Config, 'aliases' | 'models'>;
  /** Resolves a model id or an alias, for somebody who may use these models. */
  readonly find: (name: string, mayUse?: MayUse) => ModelId | undefined;
  readonly stage: StageReader;
  readonly reload: (wish: ReloadWish) => Promise<ReloadEnd>;
  readonly restart: (by: string) => Promise<RestartEnd>;
  /** Fires when another catnap serves: whoever listens on is to ask that one. */
  readonly leaving: AbortSignal;
  /** What validations found of its sleep levels, as far as it holds now. */
  readonly verdicts: (model: ModelId) => readonly Verdict[];
  readonly lastFailure: (model: ModelId) => Remembered | undefined;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly startedAt: Date;
  readonly version: string;
  /** Told of every error that is a bug of ours, after the request it hit has been answered. */
  readonly bug: (error: unknown) => void;
};
