import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { EnginePhase } from '../core/engine.ts';
import type { Fact, RequestRecord } from '../core/facts.ts';
import { unreachable, type ModelId } from '../core/kinds.ts';
import { OUTCOMES } from '../core/outcome.ts';
import { RESIDENCIES, residencyOf } from '../core/residency.ts';
import { LEGS, type SwapRecord } from '../core/swap.ts';
import type { Reporter } from '../ports/reporter.ts';
import { TABLE } from './metric-table.ts';

/** Mebibytes, as far as they were seen. */
type Held = Readonly<Record<'gpuMib' | 'hostMib' | 'diskMib', number | undefined>>;

/** What the gauges are read from: the part of the stage's view that they need. */
export type Scene = {
  readonly accepting: boolean;
  readonly models: readonly {
    readonly model: ModelId;
    readonly waiting: number;
    readonly oldestWaitMs: number | undefined;
    readonly inFlight: number;
    readonly engines: readonly { readonly phase: EnginePhase; readonly holds?: Held | undefined }[];
  }[];
  readonly gpus: readonly { readonly gpu: string; readonly totalBytes: number; readonly usedBytes: number }[];
  /** What the processes of each model hold in main memory. */
  readonly hostBytes: ReadonlyMap<ModelId, number>;
  readonly bodies: { readonly memoryBytes: number; readonly diskBytes: number };
  readonly stages: readonly { readonly name: string; readonly capacity: number; readonly taken: number }[];
};

const MIB = 1_048_576;

type MetricsText = { readonly contentType: string; readonly body: string };

/** The metrics: a rendering of the facts into counters, and of the scene into gauges when somebody asks. */
export interface Metrics extends Reporter {
  text(scene: Scene): Promise<MetricsText>;
}

export function createMetrics(about: { readonly version: string; readonly models: readonly ModelId[] }): Metrics {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const meters = makeMeters(registry);
  meters.build.set({ version: about.version }, 1);
  for (const model of about.models) beginCounting(meters, model);
  for (const result of ['done', 'refused']) meters.reloads.inc({ result }, 0);
  meters.reloadGood.set(1);
  return {
    report: (fact) => count(meters, fact),
    async text(scene) {
      paint(meters, scene);
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

/** About our own process, under the usual names. What those call totals without being counters is left out. */
function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const kind of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${kind}`);
    registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  }
}

type Meters = ReturnType<typeof makeMeters>;

function makeMeters(registry: Registry) {
  const registers = [registry];
  type Row<Label extends string> = { readonly name: string; readonly help: string; readonly labels: readonly Label[] };
  const counter = <Label extends string = never>({ name, help, labels }: Row<Label>) =>
    new Counter({ name, help, labelNames: labels, registers });
  const gauge = <Label extends string = never>({ name, help, labels }: Row<Label>) =>
    new Gauge({ name, help, labelNames: labels, registers });
  const histogram = <Label extends string = never>({
    name,
    help,
    labels,
    buckets,
  }: Row<Label> & { readonly buckets: readonly number[] }) =>
    new Histogram({ name, help, labelNames: labels, buckets: [...buckets], registers });
  return {
    build: gauge(TABLE.build),
    accepting: gauge(TABLE.accepting),
    requests: counter(TABLE.requests),
    errors: counter(TABLE.errors),
    queueWait: histogram(TABLE.queueWait),
    ttfb: histogram(TABLE.ttfb),
    queueDepth: gauge(TABLE.queueDepth),
    oldestWait: gauge(TABLE.oldestWait),
    inFlight: gauge(TABLE.inFlight),
    swaps: counter(TABLE.swaps),
    swap: histogram(TABLE.swap),
    swapLeg: histogram(TABLE.swapLeg),
    swapOverhead: histogram(TABLE.swapOverhead),
    requestsFrozen: counter(TABLE.requestsFrozen),
    frozen: histogram(TABLE.frozen),
    engineState: gauge(TABLE.engineState),
    engineResidency: gauge(TABLE.engineResidency),
    sleeperHeld: gauge(TABLE.sleeperHeld),
    stageCapacity: gauge(TABLE.stageCapacity),
    stageTaken: gauge(TABLE.stageTaken),
    engineFailures: counter(TABLE.engineFailures),
    escalations: counter(TABLE.escalations),
    swapsOverlapped: counter(TABLE.swapsOverlapped),
    startsShort: counter(TABLE.startsShort),
    demotions: counter(TABLE.demotions),
    hostShort: counter(TABLE.hostShort),
    hook: histogram(TABLE.hook),
    enginesStuck: counter(TABLE.enginesStuck),
    leasesCut: counter(TABLE.leasesCut),
    requestsReturned: counter(TABLE.requestsReturned),
    prefetched: counter(TABLE.prefetched),
    leftovers: counter(TABLE.leftovers),
    clientErrors: counter(TABLE.clientErrors),
    keyRequests: counter(TABLE.keyRequests),
    gpuTotal: gauge(TABLE.gpuTotal),
    gpuUsed: gauge(TABLE.gpuUsed),
    hostMemory: gauge(TABLE.hostMemory),
    bodiesMemory: gauge(TABLE.bodiesMemory),
    bodiesDisk: gauge(TABLE.bodiesDisk),
    adminActs: counter(TABLE.adminActs),
    reloads: counter(TABLE.reloads),
    reloadGood: gauge(TABLE.reloadGood),
    restartsCalledOff: counter(TABLE.restartsCalledOff),
  } satisfies Record<keyof typeof TABLE, unknown>;
}

function beginCounting(meters: Meters, model: string): void {
  for (const outcome of outcomes) meters.requests.inc({ model, outcome }, 0);
}

const secs = (ms: number): number => ms / 1_000;

function count(meters: Meters, fact: Fact): void {
  switch (fact.kind) {
    case 'request-granted':
      meters.queueWait.observe({ model: fact.model }, secs(fact.waitedMs));
      return;
    case 'request-ended':
      return countRequest(meters, fact.request);
    case 'swap-finished':
      return countSwap(meters, fact.record);
    case 'engine-failed':
      meters.engineFailures.inc({ model: fact.model, phase: fact.failure.during });
      return;
    case 'sleep-escalated':
      meters.escalations.inc({ model: fact.model, from: String(fact.from), to: String(fact.to) });
      return;
    case 'swap-overlaps':
      meters.swapsOverlapped.inc({ model: fact.to });
      return;
    case 'start-short-of-memory':
      meters.startsShort.inc({ model: fact.model });
      return;
    case 'host-memory-short':
      meters.hostShort.inc({ model: fact.model, to: String(fact.to) });
      return;
    case 'model-demoted':
      meters.demotions.inc({ model: fact.model, to: String(fact.to) });
      return;
    case 'hook-ended':
      meters.hook.observe({ model: fact.model, hook: fact.hook, result: fact.result }, secs(fact.ms));
      return;
    case 'engine-stuck':
      meters.enginesStuck.inc({ model: fact.model });
      return;
    case 'leases-cut':
      meters.leasesCut.inc({ model: fact.model, code: fact.code }, fact.count);
      return;
    case 'requests-frozen':
      meters.requestsFrozen.inc({ model: fact.model }, fact.count);
      return;
    case 'requests-thawed':
      meters.frozen.observe({ model: fact.model }, secs(fact.frozenMs));
      return;
    case 'prefetch-ended':
      meters.prefetched.inc({ model: fact.model, end: fact.end }, fact.bytes);
      return;
    case 'request-returned':
      meters.requestsReturned.inc({ model: fact.model });
      return;
    case 'leftover-reaped':
      meters.leftovers.inc({ gone: String(fact.gone) });
      return;
    case 'admin-acted':
      meters.adminActs.inc({ key: fact.key ?? '', result: fact.status < 400 ? 'done' : 'refused' });
      return;
    case 'client-error':
      meters.clientErrors.inc();
      return;
    case 'config-reloaded':
      meters.reloads.inc({ result: 'done' });
      meters.reloadGood.set(1);
      for (const model of fact.changes.added) beginCounting(meters, model);
      return;
    case 'config-refused':
      meters.reloads.inc({ result: 'refused' });
      meters.reloadGood.set(0);
      return;
    case 'restart-called-off':
      meters.restartsCalledOff.inc();
      return;
    case 'restart-asked':
    case 'handed-over':
    case 'taken-over':
    case 'left':
    case 'listening':
    case 'stopped':
    case 'shutdown-asked':
    case 'warned':
    case 'certificate-renewed':
    case 'engine-moved':
    case 'engine-started':
    case 'swap-planned':
    case 'next-ignored':
    case 'request-arrived':
    case 'model-forgotten':
      return;
    default:
      unreachable(fact);
  }
}

const outcomes = Object.keys(OUTCOMES);

/** Whether the request waited and got no turn; the wait of those that got one is counted then. */
function waitedInVain({ outcome, code }: RequestRecord): boolean {
  return outcome === 'expired' || outcome === 'abandoned' || code === 'engine_failed' || code === 'model_unloading';
}

function countRequest(meters: Meters, request: RequestRecord): void {
  const { model = '', key, outcome, code, queuedMs, firstByteMs } = request;
  if (key !== undefined) meters.keyRequests.inc({ key, outcome });
  meters.requests.inc({ model, outcome });
  if (code !== undefined) meters.errors.inc({ model, code });
  if (waitedInVain(request)) meters.queueWait.observe({ model }, secs(queuedMs));
  if (firstByteMs !== undefined) meters.ttfb.observe({ model }, secs(firstByteMs));
}

function countSwap(meters: Meters, { to, from, level, result, totalMs, legs, overheadMs }: SwapRecord): void {
  const labels = { model: to, level: String(level), result };
  meters.swaps.inc({ from: from.length > 1 ? '*' : (from[0] ?? ''), to, result });
  meters.swap.observe(labels, secs(totalMs));
  for (const leg of LEGS) {
    const ms = legs[leg];
    if (ms !== undefined) meters.swapLeg.observe({ ...labels, leg }, secs(ms));
  }
  if (result === 'done') meters.swapOverhead.observe(secs(overheadMs));
}

/** Every phase, so that a state an engine has left reads 0 and not nothing. */
const PHASES: Readonly<Record<EnginePhase['kind'], true>> = {
  off: true,
  starting: true,
  awake: true,
  'falling-asleep': true,
  asleep: true,
  waking: true,
  stopping: true,
  reaping: true,
  stuck: true,
  failed: true,
};

function paintMemory({ gpuTotal, gpuUsed, hostMemory, bodiesMemory, bodiesDisk }: Meters, scene: Scene): void {
  for (const gauge of [gpuTotal, gpuUsed, hostMemory]) gauge.reset();
  for (const { gpu, totalBytes, usedBytes } of scene.gpus) {
    gpuTotal.set({ gpu }, totalBytes);
    gpuUsed.set({ gpu }, usedBytes);
  }
  for (const [model, bytes] of scene.hostBytes) hostMemory.set({ model }, bytes);
  bodiesMemory.set(scene.bodies.memoryBytes);
  bodiesDisk.set(scene.bodies.diskBytes);
}

function paint(meters: Meters, scene: Scene): void {
  const { queueDepth, oldestWait, inFlight, engineState, engineResidency, sleeperHeld } = meters;
  const { stageCapacity, stageTaken } = meters;
  for (const gauge of [queueDepth, oldestWait, inFlight, engineState, engineResidency, sleeperHeld]) gauge.reset();
  for (const { name: stage, capacity, taken } of scene.stages) {
    stageCapacity.set({ stage }, capacity);
    stageTaken.set({ stage }, taken);
  }
  meters.accepting.set(scene.accepting ? 1 : 0);
  paintMemory(meters, scene);
  for (const { model, waiting, oldestWaitMs = 0, inFlight: open, engines } of scene.models) {
    queueDepth.set({ model }, waiting);
    oldestWait.set({ model }, secs(oldestWaitMs));
    inFlight.set({ model }, open);
    for (const state of Object.keys(PHASES)) engineState.set({ model, state }, 0);
    for (const residency of Object.keys(RESIDENCIES)) engineResidency.set({ model, residency }, 0);
    for (const { phase, holds } of engines) {
      for (const where of ['gpu', 'host', 'disk'] as const) {
        const mib = holds?.[`${where}Mib`];
        if (mib !== undefined) sleeperHeld.inc({ model, where }, mib * MIB);
      }
      engineState.inc({ model, state: phase.kind });
      engineResidency.inc({ model, residency: residencyOf(phase) });
    }
  }
}
