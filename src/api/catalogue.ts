import { Hono } from 'hono';
import type { MayUse } from '../access/key.ts';
import { modelId, type ModelId } from '../core/kinds.ts';
import { unknownModel } from '../core/unknown-model.ts';
import type { ModelView, StageView } from '../runtime/view.ts';
import { runtimeState } from './admin/state.ts';
import type { ControlDeps } from './deps.ts';
import { refuse } from './refusal.ts';
import { visitorOf, type Visited } from './visitor.ts';

/** The models as clients see them, in OpenAI's shape with a little more. Reading wakes nothing. */
export function catalogue({ config, find, stage, startedAt }: ControlDeps): Hono<Visited> {
  const app = new Hono<Visited>();
  const created = Math.floor(startedAt.getTime() / 1_000);

  const namesOf = (model: ModelId): readonly string[] => [model, ...(config.models[model]?.aliases ?? [])];

  const entry = (view: ModelView, { readyInMs }: Pick<StageView, 'readyInMs'>) => ({
    id: view.model,
    object: 'model',
    created,
    owned_by: 'catnap',
    state: runtimeState(view),
    aliases: config.models[view.model]?.aliases ?? [],
    enabled: config.models[view.model]?.enabled ?? false,
    ready_in_secs: readyIn(view, readyInMs),
  });

  /** Null where requests bring it in no more. */
  const readyIn = (view: ModelView, readyInMs: StageView['readyInMs']): number | null => {
    const { activation, enabled } = config.models[view.model] ?? {};
    const isKept = view.held || activation === 'explicit' || enabled === false;
    if (isKept && !view.loadWaits && view.part !== 'on' && view.part !== 'entering') return null;
    return Math.round(readyInMs(view.model) / 100) / 10;
  };

  /** A name of several models, or of one with other parameters, as the one that would answer under it now. */
  const groupEntry = (name: string, stageView: StageView, mayUse: MayUse | undefined) => {
    const view = stageView.models.find(({ model }) => model === find(name, mayUse));
    const models = config.aliases[name]?.models.filter((model) => mayUse?.(name, modelId(model)) ?? true);
    return view && models && { ...entry(view, stageView), id: name, aliases: [], models };
  };

  /** Patterns are no names that anybody could ask for. */
  const groups = Object.keys(config.aliases).filter((name) => !name.includes('*'));

  app.on('GET', ['/v1/models', '/models'], (c) => {
    const { mayUse } = visitorOf(c);
    const view = stage.view();
    const models = view.models.filter(({ departs }) => !departs);
    const shown =
      mayUse === undefined ? models : models.filter(({ model }) => namesOf(model).some((name) => mayUse(name, model)));
    const data = [
      ...shown.map((model) => entry(model, view)),
      ...groups.flatMap((name) => groupEntry(name, view, mayUse) ?? []),
    ];
    return c.json({ object: 'list', data });
  });

  app.get('/v1/models/:name{.+}', (c) => {
    const name = c.req.param('name');
    const { mayUse } = visitorOf(c);
    const view = stage.view();
    const model = find(name, mayUse);
    const found = view.models.find((candidate) => candidate.model === model);
    if (found !== undefined) return c.json(groupEntry(name, view, mayUse) ?? entry(found, view));
    return refuse(c, 'model_not_found', unknownModel(name), 'model');
  });

  return app;
}
