import { Hono } from 'hono';
import type { ModelId } from '../core/kinds.ts';
import { unknownModel } from '../core/unknown-model.ts';
import type { ModelView } from '../runtime/view.ts';
import { runtimeState } from './admin/state.ts';
import type { ControlDeps } from './deps.ts';
import { refuse } from './refusal.ts';
import { visitorOf, type Visited } from './visitor.ts';

/** The models as clients see them, in OpenAI's shape with a little more. Reading wakes nothing. */
export function catalogue({ config, find, stage, startedAt }: ControlDeps): Hono<Visited> {
  const app = new Hono<Visited>();
  const created = Math.floor(startedAt.getTime() / 1_000);

  const namesOf = (model: ModelId): readonly string[] => [model, ...(config.models[model]?.aliases ?? [])];

  const entry = (view: ModelView) => ({
    id: view.model,
    object: 'model',
    created,
    owned_by: 'catnap',
    state: runtimeState(view),
    aliases: config.models[view.model]?.aliases ?? [],
    enabled: config.models[view.model]?.enabled ?? false,
  });

  app.on('GET', ['/v1/models', '/models'], (c) => {
    const { mayUse } = visitorOf(c);
    const { models } = stage.view();
    const shown =
      mayUse === undefined ? models : models.filter(({ model }) => namesOf(model).some((name) => mayUse(name, model)));
    return c.json({ object: 'list', data: shown.map(entry) });
  });

  app.get('/v1/models/:name{.+}', (c) => {
    const name = c.req.param('name');
    const model = find(name, visitorOf(c).mayUse);
    const found = stage.view().models.find((candidate) => candidate.model === model);
    if (found !== undefined) return c.json(entry(found));
    return refuse(c, 'model_not_found', unknownModel(name), 'model');
  });

  return app;
}
