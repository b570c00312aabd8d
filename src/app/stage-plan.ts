import { definitionOf } from '../config/definition.ts';
import { effectiveTarget } from '../config/inflight.ts';
import { countsEngines, isKept, mostOf, needOf, type Counts } from '../config/stages.ts';
import type { Commons } from '../core/commons.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import { DEEPENS, DEPTH } from '../config/sleep-levels.ts';
import type { EngineRules } from '../core/engine.ts';
import {
  engineId,
  FOREVER,
  modelId,
  type EngineId,
  type ModelId,
  type NapLevel,
  type SleepLevel,
} from '../core/kinds.ts';
import type { HeldMib, SavedCosts } from '../core/costs.ts';
import type { Demotion } from '../core/demotion.ts';
import { sharedRoom } from '../core/cast.ts';
import type { ModelTerms } from '../core/terms.ts';
import { POLICIES } from '../core/policy/index.ts';
import type { PolicyTerms } from '../core/policy/policy.ts';
import type { StageOptions } from '../core/stage-events.ts';
import { longestMs } from '../engines/hooks.ts';
import { TRAITS, type DriverRegistry } from '../engines/registry.ts';
import type { CostsByModel } from '../ports/cost-file.ts';
import type { LoadOverrides } from '../runtime/load-overrides.ts';
import type { EngineSpec } from '../runtime/supervisor.ts';
import type { Verdict } from '../ports/verdicts.ts';
import { holdsOf } from './footprints.ts';
import { freezesAt } from './freezing.ts';
import { memoryOf, onGpus, type Learned, type StagePlan } from './stages.ts';
import { ms, msOrNever } from './times.ts';

/** The core's own deadlines lie behind the drivers', which can say more about why something took too long. */
const MARGIN_MS = 5_000;

/** What the config means to a stage. */
export function stageOf(config: Config, plan: StagePlan, costs: CostsByModel, more: StageMeans = {}): StageOptions {
  const { policy } = config;
  const rooms = roomsOf(config, plan, more.learned);
  return {
    models: plan.models.flatMap((name) => {
      const model = config.models[name];
      if (model === undefined) return [];
      const id = modelId(name);
      const room = roomOf(model, rooms, more.learned?.(name, memoryOf(rooms.counts)));
      const demote = demotionsOf(model, more.absent ?? new Map());
      const [gpu, main] = [more.learned?.(name, 'gpu'), more.learned?.(name, 'host')];
      const verdicts = more.verdicts?.get(name) ?? [];
      const host = hostOf(model, more.absent ?? new Map(), gpu);
      const level = freezesAt(config, model, verdicts);
      const freezing = { freezesAt: level !== undefined && host.naps?.includes(level) === true ? level : undefined };
      const needs = needsOf(model, gpu, main);
      const costly = { demote, costs: costsOf(costs.get(id), holdsOf(verdicts)) };
      return [{ ...termsOf(id, model, config), ...room, ...host, ...freezing, needs, ...costly }];
    }),
    capacity: rooms.capacity,
    ...(more.commons !== undefined && { commons: more.commons }),
    policy: POLICIES[policy.policy_type](policyTermsOf(config)),
    drains: policy.drain_before_switch,
    drainMs: drainMsOf(config),
    minActiveMs: ms(policy.min_active_secs),
    hostLimitMib: policy.host_ram_limit_mib,
    overlap: policy.overlap ? (countsEngines(rooms.counts) ? 'mib' : 'models') : undefined,
    cancelsAbandoned: policy.abandoned_load === 'cancel',
    idleTarget: idleTargetOf(config, plan),
    priorityStepMs: ms(policy.priority_step_secs),
  };
}

/** Without `drain_before_switch` it is no deadline of a drain but what one request is given. */
const drainMsOf = ({ policy }: Config): number =>
  policy.drain_before_switch && policy.drain_deadline === 'wait' ? FOREVER : ms(policy.drain_timeout_secs);

const idleTargetOf = ({ policy }: Config, { models }: StagePlan): StageOptions['idleTarget'] =>
  policy.idle_target === undefined || !models.includes(policy.idle_target)
    ? undefined
    : { model: modelId(policy.idle_target), afterMs: ms(policy.idle_target_after_secs) };

export type StageMeans = {
  readonly learned?: Learned;
  readonly commons?: Commons;
  /** Levels that this machine cannot do. */
  readonly absent?: ReadonlyMap<SleepLevel, string>;
  /** What validations found. */
  readonly verdicts?: ReadonlyMap<string, readonly Verdict[]>;
};

/** What sleeps of its own have told counts more than what a validation saw. */
const costsOf = (known: SavedCosts = {}, holds: HeldMib = {}): SavedCosts =>
  Object.keys(holds).length === 0 ? known : { ...known, holds: { ...holds, ...known.holds } };

/** The budget of a stage, and what of it nobody is kept in. */
export type Rooms = { readonly counts: Counts; readonly capacity: number; readonly shared: number };

/** Where models are counted, those that are kept stand beside the others. */
export function roomsOf(config: Config, { counts, capacity, models }: StagePlan, learned?: Learned): Rooms {
  const kept = models.flatMap((name) => {
    const model = config.models[name];
    return model !== undefined && isKept(model) ? [mostOf(model, counts, learned?.(name, memoryOf(counts)))] : [];
  });
  const aside = kept.reduce((sum: number, most) => sum + (most === 'all' ? 0 : most), 0);
  return counts === 'models'
    ? { counts, capacity: capacity + aside, shared: capacity }
    : { counts, capacity, shared: capacity - aside };
}

/** What a model takes of a budget. */
export function roomOf(
  model: ModelConfig,
  { counts, shared }: Rooms,
  learned?: number,
): Pick<ModelTerms, 'cost' | 'costEach' | 'keep'> {
  const keep = isKept(model);
  const need = TRAITS[model.backend].needsRoom ? needOf(model, counts, learned) : 'none';
  if (need === 'none') return { cost: 0, keep: false };
  // What was only seen may be more than there is: then it is all of it.
  const most = mostOf(model, counts, learned);
  if (need === 'all' || (!keep && most !== 'all' && most > shared)) return { cost: shared, keep: false };
  return countsEngines(counts) ? { cost: need * model.replicas, costEach: need, keep } : { cost: need, keep };
}

/** What the config tells the policies. */
export function policyTermsOf({ policy }: Config): PolicyTerms {
  return {
    maxWaitMs: ms(policy.max_wait_secs),
    coalesceMs: policy.coalesce_window_ms,
    amortization: policy.amortization_factor,
    tickMs: policy.tick_interval_ms,
    quantumMs: policy.min_quantum_ms,
    servingShare: policy.serving_share,
    holds: policy.hold === 'learned',
  };
}

/** One engine for each replica that each model may have. */
export function enginesOf(
  config: Config,
  plans: readonly StagePlan[],
  { drivers, overrides, absent }: EngineMeans,
): readonly EngineSpec[] {
  return Object.entries(config.models).flatMap(([name, written]) => {
    const settings = onGpus(written, plans.find(({ models }) => models.includes(name))?.gpus ?? []);
    const model = modelId(name);
    return replicasOf(model, settings).map((_, replica) =>
      engineOf({ model, replica, settings }, config, { drivers, overrides, absent }),
    );
  });
}

/** One engine as these settings have it; its model may have others by now. */
export function engineOf(
  { model, replica, settings }: { readonly model: ModelId; readonly replica: number; readonly settings: ModelConfig },
  config: Config,
  { drivers, overrides, absent }: EngineMeans,
): EngineSpec {
  return {
    id: engineId(model, replica),
    model,
    rules: rulesOf(settings, config, absent),
    stallMs: msOrNever(settings.stall_timeout_secs),
    proofMs: ms(config.stall_probe_timeout_secs),
    definition: definitionOf(settings),
    makeDriver: (events) =>
      drivers.makeDriver({ model, replica, config: settings, override: () => overrides.of(model) }, events),
  };
}

export type EngineMeans = {
  readonly drivers: DriverRegistry;
  readonly overrides: LoadOverrides;
  readonly absent: ReadonlyMap<SleepLevel, string>;
};

function termsOf(model: ModelId, settings: ModelConfig, config: Config): Omit<ModelTerms, 'cost'> {
  const { policy } = config;
  return {
    model,
    engines: replicasOf(model, settings),
    replicas: settings.replicas,
    shut: shutTo(settings),
    targetInflight: effectiveTarget(settings),
    maxWaiting: policy.max_waiting,
    patienceMs: ms(policy.request_timeout_secs),
    sleepLevel: settings.sleep_level,
  };
}

/** What it may be put to. The level that was asked for is kept in any case, so that what fails says why. */
const napsOf = (
  { levels_allowed: allowed, sleep_level: asked }: ModelConfig,
  absent: ReadonlyMap<SleepLevel, string>,
): readonly NapLevel[] =>
  allowed.filter((level): level is NapLevel => level !== 5 && (level === asked || !absent.has(level)));

/** What is known of the host memory it holds while it sleeps, before that is measured: at most what it had on the GPU. */
function hostOf(
  model: ModelConfig,
  absent: ReadonlyMap<SleepLevel, string>,
  learned?: number,
): Pick<ModelTerms, 'naps' | 'hostMib'> {
  const { host_mib: host, gpu_mib: gpu } = ('footprint' in model ? model.footprint : undefined) ?? {};
  return { naps: napsOf(model, absent), hostMib: host ?? gpu ?? learned };
}

/** What one engine takes, where that is known; one that runs alone comes in beside nobody. */
function needsOf(model: ModelConfig, onGpu?: number, inMain?: number): ModelTerms['needs'] {
  if (model.backend === 'openai_remote' || model.exclusive) return undefined;
  const { gpu_mib: gpu = onGpu, host_mib: host = inMain } = model.footprint ?? {};
  return gpu === undefined && host === undefined ? undefined : { gpu, host };
}

/** Levels that are not to be had give way to the next deeper one. */
function demotionsOf(
  { demote, levels_allowed: allowed }: ModelConfig,
  absent: ReadonlyMap<SleepLevel, string>,
): readonly Demotion[] {
  const steps: Demotion[] = [];
  for (const { after_secs, level: wanted } of demote) {
    const from = DEPTH.slice(DEPTH.indexOf(wanted));
    const level = from.find((one) => allowed.includes(one) && !absent.has(one)) ?? 5;
    if (steps.at(-1)?.level !== level) steps.push({ afterMs: ms(after_secs), level });
  }
  return steps;
}

/** Whom to load at start on all stages together. */
export function preloadsOn(stages: readonly { readonly options: StageOptions }[], config: Config): Preloads {
  const each = stages.map(({ options }) => preloadsOf(config, options));
  return { load: each.flatMap(({ load }) => load), skip: each.flatMap(({ skip }) => skip) };
}

/** Whom to load at start: `preload` and the enabled `explicit` ones, in the order of the config, as long as there is room for one more. */
function preloadsOf(config: Config, { models, capacity }: StageOptions): Preloads {
  const load: ModelId[] = [];
  const skip: ModelId[] = [];
  let room = sharedRoom({ models, capacity });
  for (const { model, cost: full, keep } of models) {
    const cost = keep === true ? 0 : full;
    const settings = config.models[model];
    const asked = config.preload.includes(model) || (settings?.activation === 'explicit' && settings.enabled);
    if (!asked) continue;
    if (cost > room) skip.push(model);
    else {
      room -= cost;
      load.push(model);
    }
  }
  return { load, skip };
}

type Preloads = { readonly load: readonly ModelId[]; readonly skip: readonly ModelId[] };

/** What requests are answered that would have to load it, where only operators do. */
function shutTo({ activation, enabled }: ModelConfig): ModelTerms['shut'] {
  if (activation === 'explicit') return 'model_not_loaded';
  return enabled ? undefined : 'model_disabled';
}

function replicasOf(model: ModelId, { replica_max }: ModelConfig): readonly EngineId[] {
  return Array.from({ length: replica_max }, (_, replica) => engineId(model, replica));
}

/** How long each command of an engine may take, its hooks included. */
export function commandLimits(settings: ModelConfig, config: Config): EngineRules['limits'] {
  const start = ms(settings.startup_timeout_secs) + MARGIN_MS;
  const hooks = ('hooks' in settings ? settings.hooks : undefined) ?? {};
  const around = (what: 'start' | 'sleep' | 'wake' | 'stop'): number =>
    longestMs(hooks[`before_${what}`]) + longestMs(hooks[`after_${what}`]);
  return {
    start: start + around('start'),
    wake: start + around('wake'),
    sleep: ms(config.sleep_timeout_secs) + MARGIN_MS + around('sleep'),
    stop: ms(config.stop_timeout_secs) + MARGIN_MS + around('stop'),
  };
}

function rulesOf(settings: ModelConfig, config: Config, absent: ReadonlyMap<SleepLevel, string>): EngineRules {
  const { restart } = config;
  return {
    limits: commandLimits(settings, config),
    restart: {
      stableAfterMs: ms(restart.stable_after_secs),
      firstDelayMs: ms(restart.first_delay_secs),
      longestDelayMs: ms(restart.longest_delay_secs),
      crashesBeforeGivingUp: restart.crashes_before_giving_up,
    },
    naps: napsOf(settings, absent),
    deepens: DEEPENS[settings.backend] ?? {},
    stopAgainMs: ms(config.stop_retry_secs),
  };
}
