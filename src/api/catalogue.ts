import { Hono } from 'hono';
import type { ModelView } from '../runtime/view.ts';
import { runtimeState } from './admin/state.ts';
import type { ControlDeps } from './deps.ts';
import { refuse } from './refusal.ts';

/** The models as clients see them, in OpenAI's shape with a little more. Reading wakes nothing. */
export function catalogue({ config, find, stage, startedAt }: ControlDeps): Hono {
  const app = new Hono();
  const created = Math.floor(startedAt.getTime() / 1_000);

  const entry = (view: ModelView) => ({
    id: view.model,
    object: 'model',
    created,
    owned_by: 'catnap',
    state: runtimeState(view),
    aliases: config.models[view.model]?.aliases ?? [],
    enabled: config.models[view.model]?.enabled ?? false,
  });

  app.on('GET', ['/v1/models', '/models'], (c) => c.json({ object: 'list', data: stage.view().models.map(entry) }));

  app.get('/v1/models/:name{.+}', (c) => {
    const name = c.req.param('name');
    const model = find(name);
    const found = stage.view().models.find((candidate) => candidate.model === model);
    if (found !== undefined) return c.json(entry(found));
    return refuse(c, 'model_not_found', `No model or alias is called "${name}". GET /v1/models lists them.`, 'model');
  });

  return app;
}
