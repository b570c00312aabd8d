import { Hono } from 'hono';
import type { ModelConfig } from '../../config/schema.ts';
import { invariant, type Millis, type ModelId } from '../../core/kinds.ts';
import { unknownModel } from '../../core/unknown-model.ts';
import type { ModelView } from '../../runtime/view.ts';
import type { ControlDeps } from '../deps.ts';
import { refuse } from '../refusal.ts';
import { MODELS_PATH, type ModelList, type ModelRow } from './contract.ts';
import { modelRow, swapNow } from './rows.ts';

/** The models as an operator sees them. Reading wakes nothing. */
export function adminModels({ config, find, stage, lastFailure, verdicts, version }: ControlDeps): Hono {
  const app = new Hono();

  function configOf(model: ModelId): ModelConfig {
    const found = config.models[model];
    invariant(found !== undefined, `${model} is on the stage and not in the config`);
    return found;
  }

  function rowOf(view: ModelView, now: Millis): ModelRow {
    const { model } = view;
    return modelRow(view, configOf(model), { failure: lastFailure(model), verdicts: verdicts(model) }, now);
  }

  app.get(MODELS_PATH, (c) => {
    const view = stage.view();
    const models = view.models.map((model) => {
      return rowOf(model, view.now);
    });
    return c.json({ models, swap: swapNow(view), accepting: view.accepting, version } satisfies ModelList);
  });

  app.get(`${MODELS_PATH}/:name{.+}`, (c) => {
    const name = c.req.param('name');
    const model = find(name);
    const view = stage.view();
    const found = view.models.find((candidate) => candidate.model === model);
    if (found === undefined) {
      return refuse(c, 'unknown_model', unknownModel(name, MODELS_PATH), 'model');
    }
    return c.json(rowOf(found, view.now));
  });

  return app;
}
