import type { EngineRules } from '../../src/core/engine.ts';
import { DEPTH, isDeeper } from '../../src/core/depth.ts';
import { engineId, modelId, type ModelId, type NapLevel, type SleepLevel } from '../../src/core/kinds.ts';
import type { ModelTerms } from '../../src/core/terms.ts';
import type { PolicyName } from '../../src/core/policy/index.ts';
import type { PolicyTerms } from '../../src/core/policy/policy.ts';
import { drawExtras, type Extras } from './extras.ts';
import type { MemoryPlan } from './memory-plan.ts';
import { Random } from '../../src/simulate/random.ts';

/** How likely each kind of trouble is. Half of them are absent from any one world, so that each is also seen alone. */
export type Faults = {
  readonly startSlow: number;
  readonly startHangs: number;
  readonly startFails: number;
  readonly sleepHangs: number;
  readonly sleepFails: number;
  readonly wakeHangs: number;
  readonly wakeFails: number;
  readonly stopHangs: number;
  readonly stopFails: number;
  /** The process ends in the middle of a command. */
  readonly exits: number;
  /** A command that was superseded answers all the same. */
  readonly lateAnswers: number;
  /** The notice of an exit takes seconds. */
  readonly lateNotices: number;
  /** A client leaves while the stage's effects are carried out. */
  readonly leavesInTurn: number;
};

export type ModelPlan = {
  readonly terms: ModelTerms;
  readonly rules: EngineRules;
  readonly startMs: number;
  readonly napMs: number;
  /** How much host memory an engine really holds where a level keeps something there; never measured where it is 0. */
  readonly hostMib: number;
  /** How much memory an engine takes when it is awake, where somebody looks at that. */
  readonly mib: number;
  readonly serviceMs: number;
  readonly share: number;
};

/** Everything that is decided about a world before it runs. */
export type WorldPlan = {
  /** Times are multiples of this, so that things happen at the same moment; 0 for times with fractions. */
  readonly tick: number;
  readonly lateTimersMs: number;
  readonly shuffledTies: boolean;
  readonly capacity: number;
  /** How many models may be on their way in at a time. */
  readonly mostLoads: number;
  readonly drains: boolean;
  readonly drainMs: number;
  readonly minActiveMs: number;
  readonly policy: PolicyName;
  readonly terms: PolicyTerms;
  /** How much a step of priority is worth; 0 where all requests are alike. */
  readonly priorityStepMs: number;
  readonly models: readonly [ModelPlan, ...ModelPlan[]];
  readonly faults: Faults;
  readonly extras: Extras;
  readonly spanMs: number;
  readonly requests: number;
  readonly burst: number;
  /** How many of the requests leave on their own, and how many leases never end on their own. */
  readonly impatient: number;
  readonly endless: number;
  readonly crashes: number;
  readonly verdicts: number;
  readonly orders: number;
  /** Whether operators do more than load and unload: pin, switch, hold, set levels; and keep some models to themselves. */
  readonly steered: boolean;
  /** Whether the config is read again and again. */
  readonly reloads: boolean;
  /** Whether what engines sleep in is lost now and then. */
  readonly losses: boolean;
  readonly jumps: number;
  /** Undefined where nobody may come in before others have gone. */
  readonly memory: MemoryPlan | undefined;
  /** When it is asked to shut down in the middle, and how long it may take; asked again for less in some worlds. */
  readonly shutdowns: readonly { readonly atMs: number; readonly withinMs: number }[];
};

const LEVELS: readonly [SleepLevel, ...SleepLevel[]] = [1, 2, 3, 4, 'hybrid', 5, 5, 5];
/** From the lightest to the deepest. */
const NAPS: readonly NapLevel[] = [1, 2, 3, 'hybrid', 4];
const SECOND = 1_000;

/**
 * Draws a world from its seed. One world in five is healthy: no faults, no operators. The worlds of one seed differ in nothing but the policy and
 * in who is urgent, and those of `fifo` have nobody urgent unless that is asked for.
 */
export function drawPlan(seed: number, policy: PolicyName = 'fifo', urgency = false, extras = false): WorldPlan {
  const random = new Random(seed);
  const steering = new Random(seed ^ 0x2545f491);
  const healthy = random.chance(0.2);
  const some = (most: number): number => (healthy || random.chance(0.5) ? 0 : random.int(1, most));
  const spanMs = random.pick([20, 60, 200]) * SECOND;
  const capacity = random.pick([1, 1, 1, 2, 2, 3, 4]);
  const heaviest = random.chance(0.5) ? capacity : 1;
  const others = Array.from({ length: random.int(0, 4) }, (_, n) => drawModel(random, n + 1, heaviest, seed));
  const steered = !healthy && steering.chance(0.5);
  const names = [modelId('a'), ...others.map(({ terms }) => terms.model)];
  const plan: WorldPlan = {
    tick: random.pick([0, 0, 1, 250, 1_000]),
    lateTimersMs: random.pick([0, 0, 0, 40]),
    shuffledTies: random.chance(0.5),
    capacity,
    mostLoads: Number.POSITIVE_INFINITY,
    drains: random.chance(0.7),
    drainMs: random.pick([1, 5, 30, 600]) * SECOND,
    minActiveMs: random.pick([0, 0, 0, 2, 10]) * SECOND,
    policy,
    terms: drawTerms(new Random(seed ^ 0x2545f491)),
    priorityStepMs: urgency ? 15 * SECOND : 0,
    models: [drawModel(random, 0, heaviest, seed), ...others],
    steered,
    memory: undefined,
    reloads: false,
    losses: false,
    faults: drawFaults(random, healthy),
    extras: drawExtras(seed, names, extras),
    spanMs,
    requests: random.int(5, 80),
    burst: random.pick([1, 1, 3, 10]),
    impatient: random.pick([0, 0.1, 0.5]),
    endless: random.pick([0, 0, 0.05]),
    crashes: some(6),
    verdicts: some(4),
    orders: some(8),
    jumps: random.chance(0.15) && !healthy ? random.int(1, 2) : 0,
    shutdowns: healthy || random.chance(0.8) ? [] : drawShutdowns(random, spanMs),
  };
  const models = steered ? keptToOperators(plan.models, steering) : plan.models;
  const deeper = extras ? thatGoDeeper(models, new Random(seed ^ 0x7f4a7c15)) : models;
  return crowded({ ...plan, models: deeper }, seed);
}

/** In some worlds a model is kept, engines are counted one by one, or loads wait for each other. Drawn apart: the others stay as they are. */
function crowded(plan: WorldPlan, seed: number): WorldPlan {
  const random = new Random(seed ^ 0x6a09e667);
  if (random.chance(0.5)) return plan;
  const mostLoads = random.pick([1, 1, 2, Number.POSITIVE_INFINITY]);
  let { capacity } = plan;
  const changed = ({ terms, ...rest }: ModelPlan): ModelPlan => {
    const { engines, replicas, cost } = terms;
    if (cost === 0 || !random.chance(0.4)) return { ...rest, terms };
    const each = { ...terms, costEach: 1, cost: replicas };
    if (random.chance(0.5)) {
      capacity = Math.max(capacity, engines.length);
      return { ...rest, terms: each };
    }
    return { ...rest, terms: { ...(random.chance(0.5) ? each : terms), keep: true } };
  };
  const [first, ...others] = plan.models;
  const models: WorldPlan['models'] = [changed(first), ...others.map(changed)];
  for (const { terms } of models)
    if (terms.keep === true) capacity += terms.costEach === undefined ? terms.cost : terms.engines.length;
  return { ...plan, models, capacity, mostLoads };
}

/** Some models are brought in by operators alone, some come with fewer engines than they could. */
function keptToOperators(models: WorldPlan['models'], random: Random): WorldPlan['models'] {
  const changed = ({ terms, ...rest }: ModelPlan): ModelPlan => {
    const shut = random.chance(0.35) ? random.pick(['model_not_loaded', 'model_disabled'] as const) : undefined;
    return { ...rest, terms: { ...terms, shut, replicas: random.int(1, terms.engines.length) } };
  };
  const [first, ...others] = models;
  return [changed(first), ...others.map(changed)];
}

/** Some go deeper when they have nothing to do, and some of those without waking. */
function thatGoDeeper(models: WorldPlan['models'], random: Random): WorldPlan['models'] {
  const changed = ({ terms, rules, ...rest }: ModelPlan): ModelPlan => {
    const deepens = Object.fromEntries(
      rules.naps.map((nap) => [nap, NAPS.filter((to) => isDeeper(to, nap) && random.chance(0.5))]),
    );
    const levels = DEPTH.filter(() => random.chance(0.5));
    let afterMs = 0;
    const demote = levels.map((level) => ({ level, afterMs: (afterMs += random.pick([1, 5_000, 20_000, 60_000])) }));
    const { naps } = rules;
    const hostMib = random.pick([undefined, 0, 1, 3, 5]);
    const held = random.pick([0, 1, 2, 4]);
    return { ...rest, hostMib: held, terms: { ...terms, demote, naps, hostMib }, rules: { ...rules, deepens } };
  };
  const [first, ...others] = models;
  return [changed(first), ...others.map(changed)];
}

function drawTerms(random: Random): PolicyTerms {
  return {
    maxWaitMs: random.pick([0, 2, 15, 30, 120]) * SECOND,
    coalesceMs: random.pick([0, 500, 2_000, 20_000]),
    amortization: random.pick([0, 0.5, 0.5, 3]),
    tickMs: random.pick([1, 333, 500, 10_000]),
    quantumMs: random.pick([0, 2_000, 2_000, 15_000]),
    servingShare: random.pick([0, 0.5, 0.8, 0.9]),
    holds: random.chance(0.7),
  };
}

/** One of the models, by how much each is asked for. */
export function anyModel({ models }: Pick<WorldPlan, 'models'>, random: Random): ModelPlan {
  const total = models.reduce((sum, { share }) => sum + share, 0);
  let left = random.between(0, total);
  for (const model of models) {
    left -= model.share;
    if (left < 0) return model;
  }
  return models[0];
}

/** Whether nothing but clients disturbs it. */
export function isHealthy({
  faults,
  crashes,
  verdicts,
  orders,
  jumps,
  shutdowns,
  reloads,
  losses,
}: WorldPlan): boolean {
  const quiet = crashes + verdicts + orders + jumps + shutdowns.length === 0;
  return quiet && !reloads && !losses && Object.values(faults).every((rate) => rate === 0);
}

function drawModel(random: Random, n: number, heaviest: number, seed: number): ModelPlan {
  const model: ModelId = modelId(String.fromCharCode(97 + n));
  const remote = random.chance(0.1);
  const replicas = random.pick([1, 1, 1, 2, 3]);
  const startMs = remote ? 0 : random.pick([10, 500, 3_000, 10_000]);
  const limit = (low: number, high: number): number => random.int(low, high) * SECOND;
  return {
    terms: {
      model,
      engines: Array.from({ length: replicas }, (_, replica) => engineId(model, replica)),
      cost: remote ? 0 : random.int(1, heaviest),
      targetInflight: random.pick([1, 1, 2, 4, 32]),
      maxWaiting: random.pick([1, 3, 20, 1_000]),
      patienceMs: random.pick([1, 5, 20, 60, 3_600]) * SECOND,
      sleepLevel: random.pick(LEVELS),
      replicas,
      shut: undefined,
    },
    rules: {
      limits: { start: limit(12, 60), sleep: limit(2, 10), wake: limit(5, 30), stop: limit(2, 10) },
      restart: {
        stableAfterMs: limit(5, 60),
        firstDelayMs: random.pick([100, 1_000, 5_000]),
        longestDelayMs: limit(5, 60),
        crashesBeforeGivingUp: random.int(1, 3),
      },
      naps: drawNaps(new Random(seed ^ (n + 1))),
      stopAgainMs: limit(1, 5),
    },
    startMs,
    napMs: Math.min(startMs, random.pick([10, 300, 1_000])),
    hostMib: 0,
    mib: 0,
    serviceMs: random.pick([50, 1_000, 5_000]),
    share: random.next() ** 2 + 0.05,
  };
}

/** From chance of their own, so that everything else in a world is as it was without them. */
const drawNaps = (random: Random): readonly NapLevel[] =>
  random.chance(0.4) ? [] : NAPS.filter(() => random.chance(0.7));

function drawFaults(random: Random, healthy: boolean): Faults {
  const rate = (most: number): number => (healthy || random.chance(0.5) ? 0 : random.between(0, most));
  return {
    startSlow: rate(0.3),
    startHangs: rate(0.15),
    startFails: rate(0.3),
    sleepHangs: rate(0.2),
    sleepFails: rate(0.3),
    wakeHangs: rate(0.2),
    wakeFails: rate(0.3),
    stopHangs: rate(0.2),
    stopFails: rate(0.2),
    exits: rate(0.2),
    lateAnswers: rate(1),
    lateNotices: rate(1),
    leavesInTurn: rate(0.3),
  };
}

function drawShutdowns(random: Random, spanMs: number): WorldPlan['shutdowns'] {
  const atMs = random.between(0, spanMs);
  const first = { atMs, withinMs: random.pick([0, 1, 10, 60]) * SECOND };
  const second = { atMs: atMs + random.between(0, 5_000), withinMs: random.pick([0, 5]) * SECOND };
  return random.chance(0.5) ? [first] : [first, second];
}
