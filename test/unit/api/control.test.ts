import { describe, test } from 'vitest';
import { ErrorAnswer } from '../../../src/api/admin/contract.ts';
import { ControlStatus, SleepLevels } from '../../../src/api/control/contract.ts';
import { controlPlane } from '../../../src/api/plane.ts';
import { listen } from './listener.ts';
import { alpha, beta, deps, model, phases, stage } from './scene.ts';

const views = {
  idle: stage([model(alpha, phases.off), model(beta, phases.asleep, { sleepLevel: 1, levelSet: 1 })]),
  active: stage([model(alpha, phases.awake, { inFlight: 2, waiting: 1 }), model(beta, phases.failed)], {
    mode: { kind: 'manual', pinned: alpha },
  }),
  switching: stage(
    [model(alpha, phases.stopping, { part: 'leaving' }), model(beta, phases.off, { part: 'summoned' })],
    {
      swap: { id: 1, to: beta, from: [alpha], sinceMs: 5 },
      mode: { kind: 'manual', pinned: undefined },
    },
  ),
};

describe('the status', () => {
  test.for([
    ['idle', 'idle', null, { mode: 'auto' }, 'not_started', 'sleeping:1'],
    ['active', 'active:alpha', 'alpha', { mode: 'manual', pinned: 'alpha' }, 'running', 'failed:no such file'],
    ['switching', 'switching:alpha->org/beta', null, { mode: 'manual' }, 'stopping', 'not_started'],
  ] as const)('while %s', async ([view, state, active, mode, ofAlpha, ofBeta], { expect }) => {
    await using server = await listen(controlPlane(deps(() => views[view]).deps));
    const { status, body } = await server.ask('/control/status');
    expect(status).toBe(200);
    const told = ControlStatus.parse(JSON.parse(body));
    expect(told).toMatchObject({ state, active_model: active, mode });
    expect(told.models['alpha']?.process_state).toBe(ofAlpha);
    expect(told.models['org/beta']?.process_state).toBe(ofBeta);
  });

  test('counts who is served and who waits', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(() => views.active).deps));
    const told = ControlStatus.parse(JSON.parse((await server.ask('/control/status')).body));
    expect(told.models['alpha']).toMatchObject({ in_flight: 2, queue_depth: 1 });
  });

  test('of the levels', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(() => views.idle).deps));
    const { models } = SleepLevels.parse(JSON.parse((await server.ask('/control/sleep-levels')).body));
    expect(models['alpha']).toMatchObject({ effective_level: 5, level_override: null });
    expect(models['org/beta']).toEqual({ effective_level: 1, level_override: 1, process_state: 'sleeping:1' });
  });
});

const wish = (as: string, setsLevel?: number | null) => ({ as, replicas: undefined, override: undefined, setsLevel });

describe('what is asked becomes an order', () => {
  test.for([
    ['mode', { mode: 'manual' }, ['mode', 'manual']],
    ['mode', { mode: 'auto' }, ['mode', 'auto']],
    ['unpin', undefined, ['mode', 'auto']],
    ['pin', { model: 'alpha' }, ['load', alpha, wish('pin')]],
    ['pin', { model: 'gpt-4o' }, ['load', alpha, wish('pin')]],
    ['switch', { model: 'org/beta' }, ['load', beta, wish('switch')]],
    ['wake', { model: 'alpha' }, ['load', alpha, wish('load')]],
    ['sleep', { model: 'alpha' }, ['unload', alpha, { level: 5, hold: false }]],
    ['wake', { model: 'alpha', level: 1 }, ['load', alpha, wish('load', 1)]],
    ['wake', { model: 'alpha', level: null }, ['load', alpha, wish('load', null)]],
    ['sleep', { model: 'org/beta' }, ['unload', beta, { level: 1, hold: false }]],
    ['sleep', { model: 'alpha', level: 1 }, ['unload', alpha, { level: 1, hold: false, setsLevel: 1 }]],
    ['sleep', { model: 'org/beta', level: null }, ['unload', beta, { level: 5, hold: false, setsLevel: null }]],
    ['sleep-level', { model: 'alpha', level: 1 }, ['level', alpha, 1]],
    ['sleep-level', { model: 'alpha', level: null }, ['level', alpha, null]],
    ['sleep-level', { model: 'alpha' }, ['level', alpha, null]],
  ] as const)('%s %j', async ([path, body, order], { expect }) => {
    const { deps: given, orders } = deps(() => views.idle);
    await using server = await listen(controlPlane(given));
    const { status } = await server.ask(`/control/${path}`, { method: 'POST', body: JSON.stringify(body ?? {}) });
    expect([status, orders]).toEqual([200, [order]]);
  });
});

describe('what cannot be done is said, and nothing is ordered', () => {
  test.for([
    ['mode', '{"mode":"fast"}', 400, 'invalid_request'],
    ['mode', '{}', 400, 'invalid_request'],
    ['mode', '', 400, 'invalid_request'],
    ['mode', '[]', 400, 'invalid_request'],
    ['mode', '{"mode":"auto","pinned":"alpha"}', 400, 'invalid_request'],
    ['pin', '{"model":"nobody"}', 404, 'unknown_model'],
    ['switch', '{"model":"nobody"}', 404, 'unknown_model'],
    ['wake', '{"model":"nobody"}', 404, 'unknown_model'],
    ['sleep', '{"model":"nobody"}', 404, 'unknown_model'],
    ['sleep-level', '{"model":"nobody","level":1}', 404, 'unknown_model'],
    ['pin', '{"model":7}', 400, 'invalid_request'],
    ['wake', '{"model":"nobody","level":1}', 404, 'unknown_model'],
    ['wake', '{"model":"alpha","level":9}', 400, 'invalid_request'],
    ['wake', '{"model":"alpha","level":3}', 400, 'invalid_request'],
    ['pin', '{"model":"alpha","level":1}', 400, 'invalid_request'],
    ['switch', '{"model":"alpha","level":1}', 400, 'invalid_request'],
    ['sleep', '{"model":"alpha","level":9}', 400, 'invalid_request'],
    ['sleep', '{"model":"alpha","level":3}', 400, 'invalid_request'],
    ['sleep-level', '{"model":"alpha","level":"deep"}', 400, 'invalid_request'],
    ['nothing', '{}', 404, 'not_found'],
  ] as const)('%s %s', async ([path, body, status, code], { expect }) => {
    const { deps: given, orders } = deps(() => views.idle);
    await using server = await listen(controlPlane(given));
    const answer = await server.ask(`/control/${path}`, { method: 'POST', body });
    expect([answer.status, ErrorAnswer.parse(JSON.parse(answer.body)).error.code]).toEqual([status, code]);
    expect(orders).toEqual([]);
  });

  test.for([
    ['mode', '{"mode":"manual"}'],
    ['unpin', ''],
    ['sleep-level', '{"model":"alpha","level":1}'],
  ] as const)('%s at a catnap that has been taken over from', async ([path, body], { expect }) => {
    const { deps: given } = deps(() => views.idle);
    const operator = { ...given.operator, setLevel: () => false, setMode: () => false };
    await using server = await listen(controlPlane({ ...given, operator }));
    const answer = await server.ask(`/control/${path}`, { method: 'POST', body });
    expect([answer.status, answer.headers['x-catnap-error']]).toEqual([503, 'restarting']);
    expect(answer.headers['retry-after']).toBeDefined();
  });

  test('a pin whose model does not come', async ({ expect }) => {
    const { deps: given } = deps(() => views.idle, {
      operator: {
        load: async () => ({ kind: 'refused', code: 'engine_failed', message: 'it died', retryAfterMs: 5 }),
        unload: async () => ({ kind: 'done' }),
        setLevel: () => true,
        setMode: () => true,
      },
    });
    await using server = await listen(controlPlane(given));
    const answer = await server.ask('/control/pin', { method: 'POST', body: '{"model":"alpha"}' });
    expect([answer.status, answer.headers['x-catnap-error']]).toEqual([500, 'load_failed']);
  });
});
