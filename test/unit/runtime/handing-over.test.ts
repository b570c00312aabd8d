import { test } from 'vitest';
import { defaultEngineRules } from '../../../src/core/engine.ts';
import { engineId, modelId } from '../../../src/core/kinds.ts';
import { fifo } from '../../../src/core/policy/fifo.ts';
import { Supervisor } from '../../../src/runtime/supervisor.ts';
import { settled, VirtualClock } from '../../helpers/virtual-clock.ts';
import { ScriptedDriver } from './scripted-driver.ts';

const model = modelId('a');
const id = engineId(model, 0);

const TERMS = { withinMs: 10_000, signal: new AbortController().signal, settled: () => {} };

/** One model, whose engine starts when it is asked for and is not there yet. */
function house() {
  const clock = new VirtualClock();
  const drivers: ScriptedDriver[] = [];
  const terms = { model, engines: [id], replicas: 1, cost: 1, targetInflight: 4, maxWaiting: 3, patienceMs: 60_000 };
  const models = [{ ...terms, shut: undefined, sleepLevel: 5 as const }];
  const options = {
    models,
    capacity: 1,
    policy: fifo,
    drains: true,
    drainMs: 5_000,
    minActiveMs: 0,
    priorityStepMs: 0,
  };
  const supervisor = new Supervisor({
    stages: [{ name: 'default', gpus: [], counts: 'models', options }],
    engines: [
      {
        id,
        model,
        rules: defaultEngineRules,
        stallMs: Infinity,
        proofMs: 1_000,
        makeDriver: (events) => {
          const driver = new ScriptedDriver(events);
          drivers.push(driver);
          return driver;
        },
      },
    ],
    clock,
    reporter: { report: () => {} },
  });
  const lease = supervisor.acquire(model, { signal: new AbortController().signal });
  lease.catch(() => {});
  return { clock, supervisor, lease, driver: () => drivers.at(-1) };
}

test('an engine that starts is let arrive, and then let go', async ({ expect }) => {
  const { supervisor, lease, driver } = house();
  await settled();
  const handed = supervisor.handOver(TERMS);
  await settled();
  expect(driver()?.released).toBe(0);

  driver()?.succeed();

  expect((await handed)[0]?.models[0]?.running.map(({ engine, phase }) => [engine, phase])).toEqual([
    [id, { kind: 'awake' }],
  ]);
  expect((await lease).engine).toBe(id);
  expect(driver()?.calls.map(({ what }) => what)).toEqual(['start']);
});

test('an unload that is under way is handed over, and nothing is set from then on', async ({ expect }) => {
  const { supervisor, lease, driver } = house();
  await settled();
  driver()?.succeed();
  await lease;
  expect([supervisor.setMode('manual'), supervisor.setLevel(model, 1)]).toEqual([true, true]);
  const unload = supervisor.unload(model, { level: 5, hold: true });

  const [stage] = await supervisor.handOver(TERMS);

  expect(stage).toMatchObject({
    mode: { kind: 'manual' },
    models: [{ held: true, level: 1, unload: { orders: [expect.any(Number)], level: 5 } }],
  });
  expect(await unload).toMatchObject({ kind: 'refused', code: 'restarting', retryAfterMs: 1_000 });
  expect([supervisor.setMode('auto'), supervisor.setLevel(model, null)]).toEqual([false, false]);
  expect(supervisor.view()).toMatchObject({ mode: { kind: 'manual' }, models: [{ levelSet: 1 }] });
});

test('one that takes too long is told, and all goes on', async ({ expect }) => {
  const { clock, supervisor, lease, driver } = house();
  await settled();
  const handed = supervisor.handOver(TERMS);
  handed.catch(() => {});
  await clock.advance(10_000);

  await expect(handed).rejects.toThrow('a#0 is still starting after 10 s');

  driver()?.succeed();
  expect((await lease).model).toBe(model);
});

test('a catnap that is told to stop while it stands still stops', async ({ expect }) => {
  const { supervisor, lease, driver } = house();
  await settled();
  const handed = supervisor.handOver(TERMS);
  handed.catch(() => {});
  const stopped = supervisor.shutDown(0);
  await settled();

  await expect(handed).rejects.toThrow('shutting down');
  await expect(lease).rejects.toThrow();
  driver()?.succeed();
  driver()?.succeed();
  await stopped;
  expect(driver()?.calls.map(({ what }) => what)).toEqual(['start', 'stop']);
});

test('where nobody waits for that any more all goes on at once', async ({ expect }) => {
  const { supervisor, lease, driver } = house();
  await settled();
  const waited = new AbortController();
  const handed = supervisor.handOver({ ...TERMS, signal: waited.signal });
  handed.catch(() => {});
  waited.abort('the new catnap did not start');

  await expect(handed).rejects.toThrow('the new catnap did not start');
  driver()?.succeed();
  expect((await lease).model).toBe(model);
  // It can be tried again, and what was called off has no say in that.
  expect((await supervisor.handOver(TERMS))[0]?.models[0]?.running).toHaveLength(1);
});
