import { test } from 'vitest';
import { Commons } from '../../../src/core/commons.ts';
import { defaultEngineRules } from '../../../src/core/engine.ts';
import { engineId, modelId, type ModelId } from '../../../src/core/kinds.ts';
import { fifo } from '../../../src/core/policy/fifo.ts';
import { progressOf } from '../../../src/runtime/progress.ts';
import { Supervisor } from '../../../src/runtime/supervisor.ts';
import { settled, VirtualClock } from '../../helpers/virtual-clock.ts';
import { ScriptedDriver } from './scripted-driver.ts';

const [a, b, c] = [modelId('a'), modelId('b'), modelId('c')];

/** Two stages: `a` and `b` share the first, `c` has the second. */
function twoStages(mostLoads?: number) {
  const clock = new VirtualClock();
  const drivers = new Map<ModelId, ScriptedDriver>();
  const commons = new Commons(mostLoads);
  const on = (...models: readonly ModelId[]) => ({
    models: models.map((model) => ({
      model,
      engines: [engineId(model, 0)],
      cost: 1,
      replicas: 1,
      shut: undefined,
      targetInflight: 4,
      maxWaiting: 9,
      patienceMs: 60_000,
      sleepLevel: 5 as const,
    })),
    capacity: 1,
    policy: fifo,
    drains: true,
    drainMs: 5_000,
    minActiveMs: 0,
    priorityStepMs: 0,
    commons,
  });
  const engines = [a, b, c].map((model) => ({
    id: engineId(model, 0),
    model,
    rules: defaultEngineRules,
    stallMs: Infinity,
    proofMs: 1_000,
    makeDriver: (events: ConstructorParameters<typeof ScriptedDriver>[0]) => {
      const driver = new ScriptedDriver(events);
      drivers.set(model, driver);
      return driver;
    },
  }));
  const stages = [
    { name: 'one', gpus: ['GPU-1'], counts: 'models', options: on(a, b) },
    { name: 'two', gpus: ['GPU-2'], counts: 'models', options: on(c) },
  ];
  const supervisor = new Supervisor({ stages, engines, clock, reporter: { report: () => {} } });
  const calls = (model: ModelId): string => (drivers.get(model)?.calls ?? []).map(({ what }) => what).join(' ');
  const ask = (model: ModelId) => supervisor.acquire(model, { signal: new AbortController().signal });
  /** Another config that says the same of the models. */
  const allow = (most: number): void => {
    commons.allow(most);
    const options = new Map(stages.map((stage) => [stage.name, stage.options]));
    supervisor.revise({ stages: options, anew: [], engines, revised: new Set() });
  };
  return { supervisor, ask, calls, allow, succeed: (model: ModelId) => drivers.get(model)?.succeed() };
}

test('models on different stages do not wait for each other', async ({ expect }) => {
  const { supervisor, ask, calls, succeed } = twoStages();
  const first = ask(a);
  const other = ask(c);
  await settled();
  expect([calls(a), calls(c)]).toEqual(['start', 'start']);
  succeed(a);
  succeed(c);
  const leases = await Promise.all([first, other]);
  const second = ask(b);
  await settled();
  const { stages, models } = supervisor.view();
  expect(stages.map(({ name, taken, swap }) => [name, taken, swap?.to])).toEqual([
    ['one', 1, b],
    ['two', 1, undefined],
  ]);
  expect(models.map(({ model, stage, part }) => [model, stage, part])).toEqual([
    [a, 'one', 'draining'],
    [b, 'one', 'summoned'],
    [c, 'two', 'on'],
  ]);
  expect(supervisor.acquireNow(c)?.model).toBe(c);
  for (const lease of leases) lease.settle('served');
  await settled();
  succeed(a);
  await settled();
  succeed(b);
  expect((await second).model).toBe(b);
});

test('no more load at a time than may, on all stages together, and who waits for that is told', async ({ expect }) => {
  const { supervisor, ask, calls, succeed } = twoStages(1);
  const first = ask(a);
  const other = ask(c);
  await settled();
  expect([calls(a), calls(c)]).toEqual(['start', '']);
  expect(progressOf(supervisor.view(), c)).toBe('c waits until other models have loaded');
  succeed(a);
  await settled();
  expect(calls(c)).toBe('start');
  succeed(c);
  expect((await Promise.all([first, other])).map(({ model }) => model)).toEqual([a, c]);
});

test('when more may load at a time, who waits for that comes at once', async ({ expect }) => {
  const { ask, calls, succeed, allow } = twoStages(1);
  const asked = [ask(a), ask(c)];
  await settled();
  expect([calls(a), calls(c)]).toEqual(['start', '']);
  allow(2);
  await settled();
  expect([calls(a), calls(c)]).toEqual(['start', 'start']);
  succeed(a);
  succeed(c);
  expect((await Promise.all(asked)).map(({ model }) => model)).toEqual([a, c]);
});

test('a pin holds for its stage alone, and a mode for all', async ({ expect }) => {
  const { supervisor, ask, succeed } = twoStages();
  const pinned = supervisor.load(a, { as: 'pin', replicas: undefined, override: undefined });
  await settled();
  succeed(a);
  expect(await pinned).toEqual({ kind: 'done' });
  await expect(ask(b)).rejects.toMatchObject({ code: 'manual_mode' });
  const served = ask(c);
  await settled();
  succeed(c);
  expect((await served).model).toBe(c);
  expect(supervisor.view()).toMatchObject({ mode: { kind: 'manual', pinned: a } });
  expect(supervisor.view().stages.map(({ mode }) => mode.kind)).toEqual(['manual', 'auto']);
  supervisor.setMode('manual');
  expect(supervisor.view().stages.map(({ mode }) => mode.kind)).toEqual(['manual', 'manual']);
  supervisor.setMode('auto');
  expect(supervisor.view().mode).toEqual({ kind: 'auto' });
});

test('a shutdown ends every stage', async ({ expect }) => {
  const { supervisor, ask, calls, succeed } = twoStages();
  for (const model of [a, c]) {
    const lease = ask(model);
    await settled();
    succeed(model);
    (await lease).settle('served');
  }
  const down = supervisor.shutDown(1_000);
  await settled();
  expect([calls(a), calls(c)]).toEqual(['start stop', 'start stop']);
  succeed(a);
  succeed(c);
  await down;
  expect(supervisor.view().accepting).toBe(false);
});
