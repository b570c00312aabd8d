import { Hono, type Context } from 'hono';
import type { ModelId } from '../../core/kinds.ts';
import { unknownModel } from '../../core/unknown-model.ts';
import type { ModelView, StageView } from '../../runtime/view.ts';
import type { ControlDeps } from '../deps.ts';
import { viewFor } from '../narrow.ts';
import { refuse } from '../refusal.ts';
import { visitorOf, type Visited } from '../visitor.ts';
import { MODELS_PATH, type ModelList, type ModelRow } from './contract.ts';
import { modelRow, stageRow, swapNow, type Known } from './rows.ts';

type RowDeps = Pick<
  ControlDeps,
  'config' | 'stage' | 'lastFailure' | 'verdicts' | 'vram' | 'effectiveTarget' | 'costs' | 'levels'
>;

/** The models as an operator sees them. Reading wakes nothing. */
export function adminModels(deps: ControlDeps): Hono<Visited> {
  const { find, version } = deps;
  const app = new Hono<Visited>();

  app.get(MODELS_PATH, (c) => {
    const view = viewFor(deps, visitorOf(c).mayUse);
    const models = view.models.flatMap((model) => rowOf(deps, model, view) ?? []);
    const { accepting } = view;
    const mode = view.mode.kind;
    const stages = view.stages.map((board) => stageRow(board, view));
    return c.json({ models, stages, swap: swapNow(view.swap, view), mode, accepting, version } satisfies ModelList);
  });

  app.get(`${MODELS_PATH}/:name{.+}`, (c) => {
    const name = c.req.param('name');
    const model = find(name, visitorOf(c).mayUse);
    if (model === undefined) return refuse(c, 'unknown_model', unknown(name), 'model');
    return tellRow(deps, c, model);
  });

  return app;
}

export const unknown = (name: string): string => unknownModel(name, MODELS_PATH);

/** A model as it is now; undefined when another config has been read since it was found, and has it no more. */
export function currentRow(deps: RowDeps, model: ModelId): ModelRow | undefined {
  const view = deps.stage.view();
  const own = viewOf(view, model);
  return own && rowOf(deps, own, view);
}

/** The model as it is now, or that there is none by now. */
export function tellRow(deps: RowDeps, c: Context, model: ModelId, status: 200 | 202 = 200): Response {
  const row = currentRow(deps, model);
  return row === undefined ? refuseGone(c, model) : c.json(row, status);
}

export const refuseGone = (c: Context, model: ModelId): Response => refuse(c, 'unknown_model', unknown(model), 'model');

export const viewOf = ({ models }: StageView, model: ModelId): ModelView | undefined =>
  models.find((candidate) => candidate.model === model);

function rowOf(deps: RowDeps, view: ModelView, { now }: StageView): ModelRow | undefined {
  const known = knownOf(deps, view);
  return known && modelRow(view, known, now);
}

/** Undefined of one that only a later config has: whoever asks is answered by the config that was there when he came. */
export function knownOf(
  { config, lastFailure, verdicts, vram, effectiveTarget, costs, levels }: RowDeps,
  { model, replicas }: ModelView,
): Known | undefined {
  const found = config.models[model];
  if (found === undefined) return undefined;
  return {
    config: found,
    remembered: lastFailure(model),
    verdicts: verdicts(model),
    vram: vram(model, replicas),
    effectiveTarget: effectiveTarget(model),
    costs: costs(model),
    levels: levels(model),
  };
}
