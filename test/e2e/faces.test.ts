import { freePort, test } from '../helpers/e2e.ts';
import { Metrics } from '../helpers/metrics.ts';

test('the catalogue and the probes answer from the first moment on and wake nothing', async ({
  expect,
  start,
  llama,
}) => {
  const catnap = await start({
    models: {
      alpha: await llama.says('I am alpha.', { aliases: ['gpt-4o'] }),
      'org/beta': await llama.says('I am beta.', { enabled: false }),
    },
  });
  for (const path of ['/health', '/livez', '/readyz']) expect((await catnap.get(path)).status).toBe(200);
  const about = { object: 'model', owned_by: 'catnap', created: expect.any(Number), state: 'unloaded' };
  const alpha = { id: 'alpha', aliases: ['gpt-4o'], enabled: true, ready_in_secs: 5, ...about };
  const beta = { id: 'org/beta', aliases: [], enabled: false, ready_in_secs: null, ...about };
  for (const path of ['/v1/models', '/models']) {
    expect(JSON.parse((await catnap.get(path)).text)).toEqual({ object: 'list', data: [alpha, beta] });
  }
  for (const name of ['alpha', 'gpt-4o'])
    expect(JSON.parse((await catnap.get(`/v1/models/${name}`)).text)).toEqual(alpha);
  expect(JSON.parse((await catnap.get('/v1/models/org/beta')).text)).toEqual(beta);
  const unknown = await catnap.get('/v1/models/gamma');
  expect([unknown.status, JSON.parse(unknown.text).error.code]).toEqual([404, 'model_not_found']);

  const { models, swap, accepting, version } = await catnap.models();
  expect([models.map(({ name }) => name), swap, accepting]).toEqual([['alpha', 'org/beta'], null, true]);
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
  expect(models.map(({ runtime_state }) => runtime_state)).toEqual(['unloaded', 'unloaded']);
  expect(await catnap.told('engine-moved')).toEqual([]);
});

test('a model that is awake is listed with its engine, and one that was is not', async ({ expect, start, llama }) => {
  const catnap = await start({ models: { alpha: await llama.says('I am alpha.'), beta: await llama.says('Beta.') } });
  await catnap.chat('alpha');
  await catnap.chat('beta');
  const { alpha, beta } = Object.fromEntries((await catnap.models()).models.map((model) => [model.name, model]));
  expect(alpha).toMatchObject({ runtime_state: 'unloaded', is_loaded: false, residency: 'none', loaded_replicas: 0 });
  expect(alpha?.engines).toMatchObject([{ phase: 'off', pid: null, port: null }]);
  expect(alpha?.ready_in_secs).toBeGreaterThan(0);
  expect(beta).toMatchObject({ runtime_state: 'loaded', is_loaded: true, ready_in_secs: 0, queue_depth: 0 });
  const { pid, port } = await catnap.engine('beta');
  expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
  expect(() => process.kill(pid, 0)).not.toThrow();
  expect(JSON.parse((await catnap.get('/v1/models/beta')).text).state).toBe('loaded');
});

test('after three swaps the metrics say what happened', async ({ expect, start, llama }) => {
  const metricsPort = await freePort();
  const catnap = await start({
    metrics_port: metricsPort,
    models: { alpha: await llama.says('I am alpha.'), beta: await llama.says('I am beta.') },
  });
  for (const name of ['alpha', 'beta', 'alpha']) await catnap.chat(name);
  await catnap.chat('gamma');
  const elsewhere = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  const metrics = new Metrics(await elsewhere.text());
  const main = await catnap.get('/metrics');
  for (const type of [elsewhere.headers.get('content-type'), main.headers['content-type']])
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(new Metrics(main.text).value('catnap_swap_overhead_seconds_count')).toBe(3);

  const swap = { level: '5', result: 'done' };
  const alpha = { model: 'alpha' };
  const expected: [string, Record<string, string>, number][] = [
    ['catnap_swaps_total', { from: '', to: 'alpha', result: 'done' }, 1],
    ['catnap_swaps_total', { from: 'alpha', to: 'beta', result: 'done' }, 1],
    ['catnap_swaps_total', { from: 'beta', to: 'alpha', result: 'done' }, 1],
    ['catnap_swap_seconds_count', { model: 'alpha', ...swap }, 2],
    ['catnap_swap_leg_seconds_count', { leg: 'drain', model: 'alpha', ...swap }, 1],
    ['catnap_swap_leg_seconds_count', { leg: 'sleep', model: 'alpha', ...swap }, 1],
    ['catnap_swap_leg_seconds_count', { leg: 'clear', model: 'alpha', ...swap }, 1],
    ['catnap_swap_leg_seconds_count', { leg: 'wake', model: 'alpha', ...swap }, 2],
    ['catnap_swap_leg_seconds_count', { leg: 'ready', model: 'alpha', ...swap }, 2],
    ['catnap_swap_overhead_seconds_count', {}, 3],
    ['catnap_requests_total', { ...alpha, outcome: 'served' }, 2],
    ['catnap_requests_total', { model: '', outcome: 'rejected' }, 1],
    ['catnap_errors_total', { code: 'model_not_found' }, 1],
    ['catnap_queue_wait_seconds_count', alpha, 2],
    ['catnap_ttfb_seconds_count', alpha, 2],
    ['catnap_queue_depth', alpha, 0],
    ['catnap_in_flight', alpha, 0],
    ['catnap_engine_state', { ...alpha, state: 'awake' }, 1],
    ['catnap_engine_state', { model: 'beta', state: 'off' }, 1],
    ['catnap_engine_residency', { ...alpha, residency: 'gpu' }, 1],
    ['catnap_engine_residency', { model: 'beta', residency: 'none' }, 1],
    ['catnap_accepting', {}, 1],
  ];
  for (const [name, labels, value] of expected)
    expect([name, labels, metrics.value(name, labels)]).toEqual([name, labels, value]);
  // The legs and our own share are the whole of every swap, and nobody waited for anything else.
  const [legs, overhead, total, waited] = ['swap_leg', 'swap_overhead', 'swap', 'queue_wait'].map(
    (name) => metrics.value(`catnap_${name}_seconds_sum`) ?? 0,
  );
  expect((legs ?? 0) + (overhead ?? 0)).toBeCloseTo(total ?? 0, 6);
  expect(waited).toBeCloseTo(total ?? 0, 3);
});
