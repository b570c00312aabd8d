import { test, type ExpectStatic } from 'vitest';
import { defaultEngineRules } from '../../../src/core/engine.ts';
import type { Fact } from '../../../src/core/facts.ts';
import { engineId, modelId, type ModelId } from '../../../src/core/kinds.ts';
import { fifo } from '../../../src/core/policy/fifo.ts';
import { Cut, Refused, type Lease } from '../../../src/runtime/admission.ts';
import { Supervisor, type EngineSpec } from '../../../src/runtime/supervisor.ts';
import { settled, VirtualClock } from '../../helpers/virtual-clock.ts';
import { ScriptedDriver } from './scripted-driver.ts';

const [a, b] = [modelId('a'), modelId('b')];

function house(options: { stallMs?: number; stallMsOfB?: number } = {}) {
  const clock = new VirtualClock();
  const facts: Fact[] = [];
  const drivers = new Map<ModelId, ScriptedDriver>();
  const engines: EngineSpec[] = [a, b].map((model) => ({
    id: engineId(model, 0),
    model,
    rules: defaultEngineRules,
    stallMs: (model === b ? options.stallMsOfB : undefined) ?? options.stallMs ?? Infinity,
    proofMs: 1_000,
    makeDriver: (events) => {
      const driver = new ScriptedDriver(events);
      drivers.set(model, driver);
      return driver;
    },
  }));
  const models = engines.map(({ id, model }) => ({
    model,
    engines: [id],
    cost: 1,
    replicas: 1,
    shut: undefined,
    targetInflight: 4,
    maxWaiting: 3,
    patienceMs: 60_000,
    sleepLevel: 5 as const,
  }));
  const stage = { models, capacity: 1, policy: fifo, drains: true, drainMs: 5_000, minActiveMs: 0, priorityStepMs: 0 };
  const supervisor = new Supervisor({
    stages: [{ name: 'default', gpus: [], counts: 'models', options: stage }],
    engines,
    clock,
    reporter: { report: (fact) => facts.push(fact) },
  });
  const driver = (model: ModelId): ScriptedDriver => {
    const made = drivers.get(model);
    if (made === undefined) throw new Error(`no driver was made for ${model}`);
    return made;
  };
  const ask = (model: ModelId, signal = new AbortController().signal): Promise<Lease> => {
    const lease = supervisor.acquire(model, { signal });
    lease.catch(() => {});
    return lease;
  };
  const awake = async (model: ModelId): Promise<Lease> => {
    const lease = ask(model);
    await settled();
    driver(model).succeed();
    return lease;
  };
  return { clock, facts, supervisor, driver, ask, awake };
}

const whats = (driver: ScriptedDriver): string => driver.calls.map(({ what }) => what).join(' ');

async function refusal(expect: ExpectStatic, lease: Promise<Lease>): Promise<Refused> {
  const error: unknown = await lease.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Refused);
  return error as Refused;
}

test('ten first requests for a cold model start it once and are all granted', async ({ expect }) => {
  const { driver, supervisor } = house();
  const few = [1, 2, 3].map(() => supervisor.acquire(a, { signal: new AbortController().signal }));
  await settled();
  driver(a).succeed();
  expect((await Promise.all(few)).map(({ engine }) => engine)).toEqual(['a#0', 'a#0', 'a#0']);
  expect(whats(driver(a))).toBe('start');
});

test('a swap waits for the open lease, then stops the one and starts the other', async ({ expect }) => {
  const { driver, ask, awake } = house();
  const first = await awake(a);
  const second = ask(b);
  await settled();
  expect(whats(driver(a))).toBe('start');
  first.settle('served');
  await settled();
  expect(whats(driver(a))).toBe('start stop');
  expect(whats(driver(b))).toBe('');
  driver(a).succeed();
  await settled();
  driver(b).succeed();
  expect((await second).model).toBe(b);
});

test('a client that leaves while it waits causes no swap afterwards', async ({ expect }) => {
  const { driver, ask, awake } = house();
  const first = await awake(a);
  const leaving = new AbortController();
  const second = ask(b, leaving.signal);
  leaving.abort(new Error('client left'));
  await expect(second).rejects.toThrow('client left');
  first.settle('served');
  await settled();
  expect(whats(driver(a))).toBe('start');
  expect(whats(driver(b))).toBe('');
});

test('a start that fails is told to all who wait, with when to come back', async ({ expect }) => {
  const { driver, ask, clock, facts } = house();
  const waiting = ask(a);
  await settled();
  driver(a).failWith('no such file: /m.gguf');
  const told = await refusal(expect, waiting);
  expect(told.code).toBe('engine_failed');
  // The operator is told which file; a client need not know the paths of the machine.
  expect(told.message).toBe('a cannot be served: its engine did not start');
  expect(facts.find((fact) => fact.kind === 'engine-failed')?.failure.reason).toBe('no such file: /m.gguf');
  expect(told.retryAfterMs).toBe(1_000);
  driver(a).succeed();
  await settled();
  expect(facts.find((fact) => fact.kind === 'engine-failed')?.lastLines).toEqual(['the last line']);
  expect((await refusal(expect, ask(a))).code).toBe('engine_failed');
  await clock.advance(1_000);
  const again = ask(a);
  await settled();
  expect(whats(driver(a))).toBe('start stop start');
  driver(a).succeed();
  expect((await again).model).toBe(a);
});

test('who waits for an engine that cannot start until somebody changes something is told that trying again is no use', async ({
  expect,
}) => {
  const { driver, ask } = house();
  const waiting = ask(a);
  await settled();
  driver(a).failWith('no such file: /m.gguf', 'missing_file');
  expect(await refusal(expect, waiting)).toMatchObject({
    message: 'a cannot be served: a file it needs is missing or may not be read',
    retryAfterMs: undefined,
    lasting: true,
  });
});

test('a hung start is given up at its deadline although the driver never answers', async ({ expect }) => {
  const { driver, ask, clock } = house();
  const waiting = ask(a);
  await clock.advance(600_000);
  expect((await refusal(expect, waiting)).code).toBe('engine_failed');
  expect(driver(a).calls[0]?.order.signal.aborted).toBe(true);
  expect(whats(driver(a))).toBe('start stop');
});

test('an engine that dies while it serves ends its leases, and the next request starts it again', async ({
  expect,
}) => {
  const { driver, ask, awake } = house();
  const lease = await awake(a);
  driver(a).die('killed by SIGKILL');
  expect(lease.cut.reason).toBeInstanceOf(Cut);
  expect((lease.cut.reason as Cut).code).toBe('engine_died');
  lease.settle('failed');
  const next = ask(a);
  await settled();
  expect(whats(driver(a))).toBe('start stop');
  driver(a).succeed();
  await settled();
  driver(a).succeed();
  expect((await next).model).toBe(a);
});

test('silence is not death: an engine that proves itself is left alone, one that cannot is restarted', async ({
  expect,
}) => {
  const { driver, awake, clock } = house({ stallMs: 10_000 });
  const lease = await awake(a);
  await clock.advance(10_000);
  expect(lease.cut.aborted).toBe(false);
  driver(a).proof = () => new Promise(() => {});
  await clock.advance(11_000);
  expect((lease.cut.reason as Cut).code).toBe('engine_died');
  expect(whats(driver(a))).toBe('start stop');
});

test('an engine with a short limit is found out although a patient one was watched before', async ({ expect }) => {
  const { driver, awake, ask, clock } = house({ stallMs: 60_000, stallMsOfB: 1_000 });
  const first = await awake(a);
  const waiting = ask(b);
  await clock.advance(100);
  first.settle('served');
  await settled();
  driver(a).succeed();
  await settled();
  driver(b).succeed();
  const lease = await waiting;
  driver(b).proof = () => new Promise(() => {});
  await clock.advance(4_000);
  expect(lease.cut.aborted).toBe(true);
});

test('a lease that is heard of is not suspected, and nothing is watched when nobody is served', async ({ expect }) => {
  const { driver, awake, clock } = house({ stallMs: 10_000 });
  driver(a).proof = () => Promise.resolve(false);
  const lease = await awake(a);
  for (let second = 0; second < 30; second++) {
    await clock.advance(1_000);
    lease.heard();
  }
  expect(lease.cut.aborted).toBe(false);
  lease.settle('served');
  await clock.advance(10_000);
  expect(whats(driver(a))).toBe('start');
  expect(clock.pending).toBe(0);
});

test('a full lane refuses with what a start took before', async ({ expect }) => {
  const { ask, awake } = house();
  const first = await awake(a);
  const waiting = [1, 2, 3].map(() => ask(b));
  const told = await refusal(expect, ask(b));
  expect(told.code).toBe('lane_full');
  expect(told.retryAfterMs).toBeGreaterThan(0);
  expect(waiting).toHaveLength(3);
  first.settle('served');
});

test('shutting down lets the running and the queued finish, then puts every engine off', async ({ expect }) => {
  const { driver, ask, awake, supervisor } = house();
  const running = await awake(a);
  const queued = ask(b);
  let down = false;
  void supervisor.shutDown(30_000).then(() => (down = true));
  expect((await refusal(expect, ask(a))).code).toBe('shutting_down');
  expect(supervisor.view().accepting).toBe(false);
  running.settle('served');
  await settled();
  driver(a).succeed();
  await settled();
  driver(b).succeed();
  (await queued).settle('served');
  await settled();
  expect(whats(driver(b))).toBe('start stop');
  expect(down).toBe(false);
  driver(b).succeed();
  await settled();
  expect(down).toBe(true);
});

test('shutting down cuts what is still running when its time is up', async ({ expect }) => {
  const { driver, awake, supervisor, clock } = house();
  const running = await awake(a);
  const down = supervisor.shutDown(30_000);
  await clock.advance(30_000);
  expect((running.cut.reason as Cut).code).toBe('shutting_down');
  running.settle('broken');
  await settled();
  driver(a).succeed();
  await down;
});

test('an operator loads and unloads in the same queue as requests', async ({ expect }) => {
  const { driver, awake, supervisor, ask } = house();
  const lease = await awake(a);
  const loaded = supervisor.load(b, { as: 'load', override: undefined, replicas: undefined });
  lease.settle('served');
  await settled();
  driver(a).succeed();
  await settled();
  driver(b).succeed();
  await loaded;
  const unloaded = supervisor.unload(b, { level: 5, hold: false });
  expect((await refusal(expect, ask(b))).code).toBe('model_unloading');
  await settled();
  driver(b).succeed();
  await unloaded;
  expect(supervisor.view().models.find(({ model }) => model === b)?.engines[0]?.phase.kind).toBe('off');
});

test('a load that is refused leaves what the last one had different', async ({ expect }) => {
  const { driver, supervisor, ask } = house();
  const override = { gguf_n_ctx: 512 };
  const loaded = supervisor.load(a, { as: 'load', override, replicas: undefined });
  await settled();
  driver(a).succeed();
  await loaded;
  for (let client = 0; client < 4 + 3; client++) void ask(a);
  for (const other of [{}, { gguf_n_ctx: 1_024 }, undefined]) {
    const end = await supervisor.load(a, { as: 'load', override: other, replicas: undefined });
    expect(end).toMatchObject({ kind: 'refused', code: 'lane_full' });
    expect(supervisor.view().models[0]?.override).toEqual(override);
  }
});

test('a glance is had of a model that is awake, wakes none and holds up no drain', async ({ expect }) => {
  const { driver, supervisor, ask, awake } = house();
  expect(supervisor.glance(a)).toBeUndefined();
  await settled();
  expect(whats(driver(a))).toBe('');
  const lease = await awake(a);
  const glance = supervisor.glance(a);
  expect([glance?.model, glance?.backend]).toEqual([a, lease.backend]);
  lease.settle('served');
  expect(supervisor.view().models[0]?.inFlight).toBe(0);
  void ask(b);
  await settled();
  expect(whats(driver(a))).toBe('start stop');
  expect(supervisor.glance(a)).toBeUndefined();
  glance?.settle('served');
});

test('a lease is had at once of a model that is awake and has a place, and asking for one sets nothing in motion', async ({
  expect,
}) => {
  const { facts, driver, supervisor, ask, awake } = house();
  expect(supervisor.acquireNow(a)).toBeUndefined();
  await settled();
  expect([whats(driver(a)), facts]).toEqual(['', []]);
  const first = await awake(a);
  const now = [1, 2, 3, 4].map(() => supervisor.acquireNow(a));
  expect(now.map((lease) => lease?.engine)).toEqual(['a#0', 'a#0', 'a#0', undefined]);
  expect(supervisor.view().models[0]).toMatchObject({ inFlight: 4, waiting: 0 });
  now[0]?.settle('served');
  // Nobody goes before those who came first, here or for another model.
  void ask(b);
  expect(supervisor.acquireNow(a)).toBeUndefined();
  expect(supervisor.acquireNow(b)).toBeUndefined();
  expect(supervisor.view().models.map(({ inFlight, waiting }) => [inFlight, waiting])).toEqual([
    [3, 0],
    [0, 1],
  ]);
  for (const lease of [first, now[1], now[2]]) lease?.settle('served');
  await settled();
  expect(whats(driver(a))).toBe('start stop');
});

test('no lease is had at once while catnap shuts down', async ({ expect }) => {
  const { supervisor, awake } = house();
  const lease = await awake(a);
  void supervisor.shutDown(1_000);
  expect(supervisor.acquireNow(a)).toBeUndefined();
  lease.settle('served');
});
