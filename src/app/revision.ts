import { restarts, type Changes } from '../config/reload/changes.ts';
import type { Config } from '../config/schema.ts';
import { modelId } from '../core/kinds.ts';
import type { EngineSpec, Revised, StageSpec } from '../runtime/supervisor.ts';
import type { StageView } from '../runtime/view.ts';
import { planned, type StagePlan } from './stages.ts';

type Latest = {
  readonly config: Config;
  readonly stages: readonly StageSpec[];
  readonly changes: Changes;
  readonly engines: readonly EngineSpec[];
};

/** What another config means to those that run. Settings outside of the models may concern every engine. */
export function revisionOf({ config, stages, changes, engines }: Latest): Revised {
  const concerned =
    changes.settings.length > 0 ? Object.keys(config.models) : changes.changed.map(({ model }) => model);
  return {
    stages: new Map(stages.map(({ name, options }) => [name, options])),
    anew: changes.changed.filter(restarts).map(({ model }) => modelId(model)),
    engines,
    // One that was to leave for good and comes back is as good as changed.
    revised: new Set([...concerned, ...changes.added].map(modelId)),
  };
}

/** The models of another config on the stages that there are. Whoever has been on one stays there. Throws where a new one fits on none. */
export function plansAfter(plans: readonly StagePlan[], config: Config): readonly StagePlan[] {
  const placed = new Map(plans.flatMap(({ name, models }) => models.map((model) => [model, name] as const)));
  const settled = Object.entries(config.models).map(([name, model]) => {
    const stage = placed.get(name);
    return [name, stage === undefined || plans.length === 1 ? model : { ...model, stage }] as const;
  });
  return planned({ ...config, models: Object.fromEntries(settled) }, plans, () => undefined);
}

/** Where each model is or has been: one that comes back while it leaves is where it was. */
export const remembering = (before: readonly StagePlan[], now: readonly StagePlan[]): readonly StagePlan[] =>
  now.map((plan) => {
    const was = before.find(({ name }) => name === plan.name)?.models ?? [];
    return { ...plan, models: [...plan.models, ...was.filter((model) => !plan.models.includes(model))] };
  });

/** Of the models of earlier configs those that are not gone. */
export function stillThere(departed: Config['models'], { models }: StageView): Config['models'] {
  const there = new Set<string>(models.map(({ model }) => model));
  return Object.fromEntries(Object.entries(departed).filter(([name]) => there.has(name)));
}

/** A verdict that came meanwhile is taken up with the next start of catnap: models that nobody changed stay as they are. */
export function withOld(config: Config, before: Config, changed: ReadonlySet<string>): Config {
  const models = Object.entries(config.models).map(([name, model]) => {
    const old = Object.hasOwn(before.models, name) ? before.models[name] : undefined;
    return [name, changed.has(name) || old === undefined ? model : old] as const;
  });
  return { ...config, models: Object.fromEntries(models) };
}
