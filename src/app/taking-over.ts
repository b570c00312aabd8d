import { isAnother, modelOf } from '../config/definition.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import { stageAskedBy, stagesOf, type Counts } from '../config/stages.ts';
import type { EngineId } from '../core/kinds.ts';
import type { HandedModel, HandedStage, Handover } from '../ports/handover.ts';
import type { Left, StageSpec, TakeOver } from '../runtime/supervisor.ts';
import { plansAfter } from './revision.ts';
import { engineOf, type EngineMeans } from './stage-plan.ts';
import { gpusOf, onGpus, type StagePlan, type Surveyed } from './stages.ts';
import { ms } from './times.ts';

/** What a catnap leaves, whole. */
export function handoverOf(
  left: readonly Left[],
  stateDir: string,
  catnap: string,
  stages: readonly StageSpec[],
): Handover {
  const whole = stages.flatMap(({ name, gpus, counts, options: { capacity } }): HandedStage[] => {
    const own = left.find((one) => one.name === name);
    return own === undefined ? [] : [{ ...own, gpus, counts, capacity }];
  });
  return { version: 1, catnap, stateDir, stages: whole };
}

/**
 * Models stay on the stages that they are on, but for those of which nothing runs and that the config has elsewhere. A capacity that was measured is what
 * it was before anything ran. Throws where the stages are others: nothing that runs can be said to be on them.
 */
export function plansTakenOver(config: Config, stages: readonly Surveyed[], handover: Handover): readonly StagePlan[] {
  const written = stagesOf(config);
  const plans = stages.map((stage): StagePlan => {
    const handed = handover.stages.find(({ name }) => name === stage.name);
    if (handed === undefined || handed.gpus.join() !== gpusOf(stage).join()) throw changed(stage.name);
    const measured = written.find(({ name }) => name === stage.name)?.capacity === undefined;
    const models = handed.models.flatMap((one) => (staysOn(stage.name, one, config) ? String(one.model) : []));
    if (!measured) return { ...stage, models };
    const counts = COUNTS.find((one) => one === handed.counts) ?? stage.counts;
    return { ...stage, models, counts, capacity: handed.capacity };
  });
  const gone = handover.stages.find(({ name }) => !stages.some((stage) => stage.name === name));
  if (gone !== undefined) throw changed(gone.name);
  return plansAfter(plans, config);
}

function staysOn(stage: string, { model, running }: HandedModel, { models }: Config): boolean {
  const written = Object.hasOwn(models, model) ? models[model] : undefined;
  const asked = written && stageAskedBy(written);
  if (asked === undefined || asked === stage) return true;
  if (running.length === 0) return false;
  throw new Error(
    `the engine of ${model} runs on stage ${stage}, and the config has it on ${asked}: unload it first, or stop catnap and start it`,
  );
}

const COUNTS: readonly Counts[] = ['gpu_mib', 'host_mib', 'models'];

const changed = (stage: string): Error =>
  new Error(`stage ${stage} is not as it was: engines that run cannot be taken over; stop catnap and start it`);

/** How the engines of another catnap are taken over: each with the settings it was started with, compared with those of now. */
export function termsOfTaking(
  { stages, catnap }: Handover,
  config: Config,
  { plans, version, ...means }: EngineMeans & { readonly plans: readonly StagePlan[]; readonly version: string },
): TakeOver {
  const specOf: TakeOver['specOf'] = (id, model, definition) => {
    // Another version may have other settings: what it has written is only used where there is nothing else.
    const settings = (catnap === version ? undefined : settingsNow(model, config, plans)) ?? modelOf(definition);
    return { ...engineOf({ model, replica: replicaIn(id), settings }, config, means), definition };
  };
  const all = stages.flatMap(({ models }) => models);
  const known = catnap === version ? all : [];
  const anew = known.filter((handed) => isAnew(handed, config, plans)).map(({ model }) => model);
  return { stages, anew, specOf, limitMs: ms(config.stall_probe_timeout_secs) };
}

function isAnew({ model, running }: HandedModel, config: Config, plans: readonly StagePlan[]): boolean {
  const now = settingsNow(model, config, plans);
  return now !== undefined && running.some(({ definition }) => isAnother(modelOf(definition), now));
}

/** What the config says of a model now; undefined: nothing any more. */
function settingsNow(model: string, { models }: Config, plans: readonly StagePlan[]): ModelConfig | undefined {
  const written = Object.hasOwn(models, model) ? models[model] : undefined;
  return written && onGpus(written, plans.find((plan) => plan.models.includes(model))?.gpus ?? []);
}

const replicaIn = (id: EngineId): number => Number(id.slice(id.lastIndexOf('#') + 1));
