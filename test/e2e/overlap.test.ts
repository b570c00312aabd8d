import type { ConfigInput } from '../../src/config/schema.ts';
import type { SleepLevel } from '../../src/core/kinds.ts';
import type { Settings } from '../fixtures/lab/settings.ts';
import { test as base } from '../helpers/e2e.ts';
import { Lab } from '../helpers/lab.ts';
import { Metrics } from '../helpers/metrics.ts';

const test = base.extend('lab', async ({ folder }) => new Lab(folder));

/** Two models of which one fits at a time. */
function two(lab: Lab, level: SleepLevel, settings: Partial<Settings>, overlap = true): ConfigInput {
  const terms = { sleep_level: level, footprint: { gpu_mib: 14_700 } };
  return {
    ...lab.root,
    gpu: { ...lab.root.gpu, capacity_mib: 24_000 },
    policy: { overlap },
    models: {
      alpha: lab.vllm(settings, terms),
      beta: lab.vllm({}, { ...terms, model_path: 'lab/other' }),
    },
  };
}

test('a model wakes while the one before still gives memory back, and never takes what is not free', async ({
  expect,
  start,
  lab,
}) => {
  const catnap = await start(two(lab, 1, { sleepMs: 100, sleepSteps: 10 }), { env: lab.env });
  for (const model of ['alpha', 'beta']) expect((await catnap.chat(model)).status).toBe(200);
  // From now on alpha's sleep is not done before beta has taken what it needs.
  lab.ledger.plan({ point: 'vllm.sleep', kind: 'slow-end', model: 'alpha', times: 2 });
  for (const model of ['alpha', 'beta', 'alpha', 'beta']) expect((await catnap.chat(model)).status).toBe(200);
  // The first time it is started, and waits until alpha sleeps.
  const [first, ...again] = catnap.facts('swap-finished', { to: 'beta' });
  expect(first).toMatchObject({ result: 'done', wokenFrom: 5 });
  expect(again).toMatchObject([
    { result: 'done', wokenFrom: 1 },
    { result: 'done', wokenFrom: 1 },
  ]);
  const metrics = new Metrics((await catnap.get('/metrics')).text);
  expect(metrics.value('catnap_swaps_overlapped_total', { model: 'beta' })).toBe(2);
  expect(metrics.value('catnap_starts_short_of_memory_total', { model: 'beta' })).toBeUndefined();
  expect(lab.ledger.events('refused')).toEqual([]);
});

test('a model starts while the process of the one before still ends, once its memory is free', async ({
  expect,
  start,
  lab,
}) => {
  lab.ledger.plan({ point: 'vllm.end', kind: 'slow', model: 'alpha' });
  const catnap = await start(two(lab, 5, {}), { env: lab.env });
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect((await catnap.chat('beta')).status).toBe(200);
  const metrics = new Metrics((await catnap.get('/metrics')).text);
  expect(metrics.value('catnap_swaps_overlapped_total', { model: 'beta' })).toBe(1);
  expect(lab.ledger.events('refused')).toEqual([]);
});

test('memory that the driver holds on to after the process is gone is not free', async ({ expect, start, lab }) => {
  lab.ledger.setLag(700);
  lab.ledger.plan({ point: 'vllm.end', kind: 'slow', model: 'alpha' });
  const catnap = await start(two(lab, 5, {}), { env: lab.env });
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect((await catnap.chat('beta')).status).toBe(200);
  expect(catnap.facts('start-short-of-memory')).toEqual([]);
  expect(lab.ledger.events('refused')).toEqual([]);
});

test('by default a model waits until the one before has gone', async ({ expect, start, lab }) => {
  const catnap = await start(two(lab, 5, { endMs: 300 }, false), { env: lab.env });
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect((await catnap.chat('beta')).status).toBe(200);
  const metrics = new Metrics((await catnap.get('/metrics')).text);
  expect(metrics.value('catnap_swaps_overlapped_total', { model: 'beta' })).toBeUndefined();
});
