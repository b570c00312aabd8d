import { Hono } from 'hono';
import { invariant, type ModelId } from '../../core/kinds.ts';
import { unknownModel } from '../../core/unknown-model.ts';
import type { ModelView, StageView } from '../../runtime/view.ts';
import type { ControlDeps } from '../deps.ts';
import { refuse } from '../refusal.ts';
import { visitorOf, type Visited } from '../visitor.ts';
import { MODELS_PATH, type ModelList, type ModelRow } from './contract.ts';
import { modelRow, stageRow, swapNow, type Known } from './rows.ts';

type RowDeps = Pick<ControlDeps, 'config' | 'stage' | 'lastFailure' | 'verdicts' | 'vram' | 'effectiveTarget'>;

/** The models as an operator sees them. Reading wakes nothing. */
export function adminModels(deps: ControlDeps): Hono<Visited> {
  const { find, stage, version } = deps;
  const app = new Hono<Visited>();

  app.get(MODELS_PATH, (c) => {
    const view = stage.view();
    const models = view.models.map((model) => rowOf(deps, model, view));
    const { accepting } = view;
    const mode = view.mode.kind;
    const stages = view.stages.map((board) => stageRow(board, view));
    return c.json({ models, stages, swap: swapNow(view.swap, view), mode, accepting, version } satisfies ModelList);
  });

  app.get(`${MODELS_PATH}/:name{.+}`, (c) => {
    const name = c.req.param('name');
    const model = find(name, visitorOf(c).mayUse);
    if (model === undefined) return refuse(c, 'unknown_model', unknown(name), 'model');
    return c.json(currentRow(deps, model) satisfies ModelRow);
  });

  return app;
}

export const unknown = (name: string): string => unknownModel(name, MODELS_PATH);

/** A model as it is now. */
export function currentRow(deps: RowDeps, model: ModelId): ModelRow {
  const view = deps.stage.view();
  return rowOf(deps, viewOf(view, model), view);
}

export function viewOf({ models }: StageView, model: ModelId): ModelView {
  const found = models.find((candidate) => candidate.model === model);
  invariant(found !== undefined, `${model} is not on the stage`);
  return found;
}

function rowOf(deps: RowDeps, view: ModelView, { now }: StageView): ModelRow {
  return modelRow(view, knownOf(deps, view), now);
}

export function knownOf(
  { config, lastFailure, verdicts, vram, effectiveTarget }: RowDeps,
  { model, replicas }: ModelView,
): Known {
  const found = config.models[model];
  invariant(found !== undefined, `${model} is on the stage and not in the config`);
  return {
    config: found,
    remembered: lastFailure(model),
    verdicts: verdicts(model),
    vram: vram(model, replicas),
    effectiveTarget: effectiveTarget(model),
  };
}
