import { systemClock } from '../../../src/adapters/system-clock.ts';
import type { EnginePhase } from '../../../src/core/engine.ts';
import { after, engineId, millis, modelId, type ModelId } from '../../../src/core/kinds.ts';
import type { Failure } from '../../../src/core/restart.ts';
import type { ControlDeps } from '../../../src/api/deps.ts';
import type { StubModel } from '../../../src/config/schema.ts';
import { Journal } from '../../../src/observe/journal.ts';
import type { RequestSight } from '../../../src/ports/open-requests.ts';
import type { Operator, OrderEnd } from '../../../src/runtime/operator.ts';
import type { EngineView, ModelView, StageView } from '../../../src/runtime/view.ts';

export const alpha = modelId('alpha');
export const beta = modelId('org/beta');

export const NOW = millis(100_000);

export const phases = {
  off: { kind: 'off' },
  starting: { kind: 'starting', since: millis(99_000), deadline: millis(700_000) },
  awake: { kind: 'awake', since: millis(90_000) },
  asleep: { kind: 'asleep', level: 1, since: millis(90_000) },
  fallingAsleep: { kind: 'falling-asleep', level: 1, since: millis(99_000), deadline: millis(700_000) },
  waking: { kind: 'waking', level: 1, since: millis(98_500), deadline: millis(700_000) },
  stopping: { kind: 'stopping', since: millis(99_000), deadline: millis(700_000) },
  stuck: { kind: 'stuck', failed: undefined, reason: 'pid 7 is still there', retryAt: millis(105_000) },
  failed: {
    kind: 'failed',
    failure: { during: 'starting', reason: 'no such file', attempts: 2, giveUp: true },
    retryAt: millis(104_000),
  },
} as const satisfies Record<string, EnginePhase>;

export const failure: Failure = phases.failed.failure;

export function engine(model: ModelId, replica: number, phase: EnginePhase): EngineView {
  const runs = phase.kind !== 'off' && phase.kind !== 'failed';
  return {
    engine: engineId(model, replica),
    phase,
    goal: { kind: 'off' },
    pid: runs ? 41 + replica : undefined,
    port: runs ? 8001 + replica : undefined,
  };
}

export function model(name: ModelId, phase: EnginePhase, change: Partial<ModelView> = {}): ModelView {
  return {
    model: name,
    part: phase.kind === 'awake' ? 'on' : 'out',
    waiting: 0,
    stage: 'default',
    room: 1,
    kept: false,
    waitsForLoads: false,
    loadWaits: false,
    unloadWaits: false,
    held: false,
    replicas: 1,
    override: {},
    stale: false,
    departs: false,
    oldestWaitMs: undefined,
    inFlight: 0,
    frozen: 0,
    sleepLevel: 5,
    levelSet: undefined,
    engines: [engine(name, 0, phase)],
    startEstimateMs: undefined,
    ...change,
  };
}

export function stage(models: readonly ModelView[], change: Partial<StageView> = {}): StageView {
  const readyInMs = (name: ModelId): number => (models.find((one) => one.model === name)?.part === 'on' ? 0 : 4_230);
  const rest = { readyInMs, stages: [], swap: undefined };
  return { now: NOW, accepting: true, mode: { kind: 'auto' }, models, ...rest, ...change };
}

/** A request that waits for alpha. */
export const sight = (number: number, change: Partial<RequestSight> = {}): RequestSight => ({
  id: `r-${number}`,
  number,
  at: after(NOW, -2_500),
  method: 'POST',
  path: '/v1/chat/completions',
  key: 'team',
  client: '127.0.0.1',
  model: alpha,
  leg: 'waiting',
  waitedMs: 2_000,
  priority: 'normal',
  deadline: undefined,
  bytesIn: 100,
  bytesOut: 0,
  chunksOut: 0,
  ...change,
});

const stubModel: StubModel = {
  backend: 'stub',
  start_ms: 0,
  sleep_ms: 0,
  wake_ms: 0,
  first_token_ms: 0,
  token_ms: 0,
  sleep_level: 5,
  demote: [],
  levels_allowed: [5],
  replicas: 1,
  replica_max: 1,
  keep: false,
  exclusive: false,
  enabled: true,
  aliases: [],
  set_params: {},
  strip_params: [],
  default_params: {},
  activation: 'on_demand',
  target_inflight: 32,
  startup_timeout_secs: 600,
  response_timeout_secs: 600,
  idle_timeout_secs: 0,
  total_timeout_secs: 0,
  stall_timeout_secs: 60,
};

const config: ControlDeps['config'] = {
  aliases: {},
  models: { alpha: { ...stubModel, aliases: ['gpt-4o'] }, 'org/beta': { ...stubModel, enabled: false } },
};

const NOTHING = { added: [], removed: [], changed: [], settings: [], fixed: [], unchanged: 2 };

function done(orders: unknown[], order: unknown): OrderEnd {
  orders.push(order);
  return { kind: 'done' };
}

/** Control planes that look at this view. `orders` are those an operator gave; each is done at once. `seen` collects what they call a bug. */
export function deps(view: () => StageView, change: Partial<ControlDeps> = {}) {
  const bugs: unknown[] = [];
  const orders: unknown[] = [];
  const operator: Operator = {
    load: async (model, wish) => done(orders, ['load', model, wish]),
    unload: async (model, terms) => done(orders, ['unload', model, terms]),
    setLevel: (model, level) => orders.push(['level', model, level]) > 0,
    setMode: (mode) => orders.push(['mode', mode]) > 0,
  };
  const all: ControlDeps = {
    config,
    operator,
    reload: async (wish) => {
      orders.push(['reload', wish]);
      return { kind: 'done', changes: NOTHING, restarting: [] };
    },
    restart: async (by) => {
      orders.push(['restart', by]);
      return { kind: 'done', handed: { version: '1.2.4', engines: [], requests: 0, gapMs: 12.4 } };
    },
    leaving: new AbortController().signal,
    clock: systemClock(),
    gpu: { read: async () => ({ kind: 'absent', reason: 'nvidia-smi was not found' }) },
    journal: new Journal(100, systemClock()),
    requests: { list: () => [sight(1)], cancel: () => Promise.resolve('cancelled' as const) },
    output: { tail: () => [], watch: () => () => {} },
    vram: (_model, replicas) => ({ mib: null, replicas, source: 'unavailable' }),
    effectiveTarget: () => 4,
    costs: () => ({ 'come:5': { ms: 4_230.4, spreadMs: 84, samples: 3 }, holds: { 1: 512 } }),
    levels: () => [1, 5],
    find: (name) =>
      new Map<string, ModelId>([
        ['alpha', alpha],
        ['gpt-4o', alpha],
        ['org/beta', beta],
      ]).get(name),
    stage: { view },
    lastFailure: () => undefined,
    verdicts: () => [],
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4; charset=utf-8', body: 'catnap_accepting 1\n' }),
    startedAt: new Date('2026-11-20T12:00:00.900Z'),
    version: '1.2.3',
    bug: (error) => bugs.push(error),
    ...change,
  };
  return { deps: all, bugs, orders };
}
