import { describe, test } from 'vitest';
import { ErrorAnswer, ModelRow } from '../../../src/api/admin/contract.ts';
import { controlPlane } from '../../../src/api/plane.ts';
import type { ControlDeps } from '../../../src/api/deps.ts';
import type { Operator, OrderEnd } from '../../../src/runtime/operator.ts';
import type { ModelView } from '../../../src/runtime/view.ts';
import { listen } from './listener.ts';
import { alpha, beta, deps, failure, model, phases, stage } from './scene.ts';

const LOAD = '/v1/admin/models/alpha/load';
const UNLOAD = '/v1/admin/models/alpha/unload';

/** A server for alpha in this state; `order` is what becomes of orders. */
async function serverFor(view: ModelView, change: Partial<ControlDeps> = {}) {
  const given = deps(() => stage([view, model(beta, phases.off)]), change);
  const server = await listen(controlPlane(given.deps));
  return { server, ...given };
}

const off = model(alpha, phases.off);
const awake = model(alpha, phases.awake);
const loading = model(alpha, phases.starting, { part: 'entering' });
const leaving = model(alpha, phases.stopping, { part: 'leaving' });
const unloading: ModelView = { ...leaving, unloadWaits: true };
const held: ModelView = { ...unloading, held: true };
const failed = model(alpha, phases.failed);
const asleep = model(alpha, phases.asleep);

describe('who is told what', () => {
  test.for([
    ['load', 'what is unloaded', LOAD, off, undefined, 200, 'ordered'],
    ['load', 'what has failed', LOAD, failed, '{}', 200, 'ordered'],
    ['load', 'what sleeps', LOAD, asleep, undefined, 200, 'ordered'],
    ['load', 'what is loaded', LOAD, awake, '{}', 200, 'not ordered'],
    ['load', 'what is loading', LOAD, loading, undefined, 200, 'not ordered'],
    ['load', 'what an operator waits for already', LOAD, { ...off, loadWaits: true }, undefined, 200, 'not ordered'],
    ['load', 'what is unloading', LOAD, leaving, undefined, 409, 'invalid_state'],
    ['load', 'nobody', '/v1/admin/models/nobody/load', off, undefined, 404, 'unknown_model'],
    ['load', 'a loaded one with another override', LOAD, awake, '{"gguf_n_ctx":5}', 400, 'invalid_load_request'],
    ['load', 'a loaded one with other replicas', LOAD, awake, '{"replicas":2}', 400, 'invalid_load_request'],
    ['load', 'a loaded one with as many replicas', LOAD, awake, '{"replicas":1}', 200, 'not ordered'],
    ['load', 'more replicas than there may be', LOAD, off, '{"replicas":2}', 400, 'invalid_load_request'],
    ['load', 'no replicas', LOAD, off, '{"replicas":0}', 422, 'unfit_body'],
    ['load', 'what is no JSON', LOAD, off, '{', 422, 'unfit_body'],
    ['load', 'a body that is too large', LOAD, off, `"${'x'.repeat(70_000)}"`, 413, 'body_too_large'],
    ['load', 'a timeout that is none', `${LOAD}?timeout_s=x`, off, undefined, 400, 'invalid_request'],
    ['load', 'a no that is none', `${LOAD}?evict=no`, off, undefined, 400, 'invalid_request'],
    ['unload', 'what is loaded', UNLOAD, awake, undefined, 200, 'ordered'],
    ['unload', 'what sleeps', UNLOAD, asleep, undefined, 200, 'ordered'],
    ['unload', 'what has failed', UNLOAD, failed, undefined, 200, 'ordered'],
    ['unload', 'what is unloaded', UNLOAD, off, undefined, 200, 'not ordered'],
    ['unload', 'what is unloaded, for good', `${UNLOAD}?hold=true`, off, undefined, 200, 'ordered'],
    ['unload', 'what leaves for another', UNLOAD, leaving, undefined, 200, 'ordered'],
    ['unload', 'what an operator unloads already', UNLOAD, unloading, undefined, 200, 'not ordered'],
    ['unload', 'the same, for good', `${UNLOAD}?hold=true`, unloading, undefined, 200, 'ordered'],
    ['unload', 'the same, when it is held', `${UNLOAD}?hold=true`, held, undefined, 200, 'not ordered'],
    ['unload', 'the same, to a level', `${UNLOAD}?level=1`, unloading, undefined, 200, 'ordered'],
    ['unload', 'what is loading', UNLOAD, loading, undefined, 409, 'invalid_state'],
    ['unload', 'what is loading, after all', `${UNLOAD}?cancel=true`, loading, undefined, 200, 'ordered'],
    ['unload', 'to a level it can take', `${UNLOAD}?level=1`, awake, undefined, 200, 'ordered'],
    ['unload', 'to a level it cannot take', `${UNLOAD}?level=3`, awake, undefined, 400, 'invalid_load_request'],
    ['unload', 'to a level that is none', `${UNLOAD}?level=deep`, awake, undefined, 400, 'invalid_load_request'],
    ['unload', 'nobody', '/v1/admin/models/nobody/unload', off, undefined, 404, 'unknown_model'],
  ] as const)('%s %s', async ([, , path, view, body, status, outcome], { expect }) => {
    const { server, orders, bugs } = await serverFor(view);
    await using _ = server;
    const answer = await server.ask(path, { method: 'POST', ...(body !== undefined && { body }) });
    expect([answer.status, bugs]).toEqual([status, []]);
    if (outcome === 'ordered' || outcome === 'not ordered') {
      expect(ModelRow.parse(JSON.parse(answer.body)).name).toBe('alpha');
      expect(orders).toHaveLength(outcome === 'ordered' ? 1 : 0);
    } else {
      expect(ErrorAnswer.parse(JSON.parse(answer.body)).error.code).toBe(outcome);
      expect(answer.headers['x-catnap-error']).toBe(outcome);
      expect(orders).toEqual([]);
    }
  });
});

test('one that is tried again comes with as many replicas as it was called with', async ({ expect }) => {
  const { config } = deps(() => stage([])).deps;
  const { alpha: settings } = config.models;
  if (settings === undefined) throw new Error('there is no alpha');
  const models = { ...config.models, alpha: { ...settings, replica_max: 2 } };
  const { server, orders } = await serverFor({ ...failed, part: 'entering' }, { config: { ...config, models } });
  await using _ = server;
  for (const [replicas, status] of [
    [2, 400],
    [1, 200],
  ] as const) {
    const answer = await server.ask(LOAD, { method: 'POST', body: JSON.stringify({ replicas }) });
    expect([replicas, answer.status, orders.length]).toEqual([replicas, status, replicas === 1 ? 1 : 0]);
  }
});

test('names with slashes, plain or escaped, and aliases', async ({ expect }) => {
  for (const [name, id] of [
    ['org/beta', beta],
    ['org%2Fbeta', beta],
    ['gpt-4o', alpha],
  ] as const) {
    const { server, orders } = await serverFor(off);
    await using _ = server;
    expect((await server.ask(`/v1/admin/models/${name}/load`, { method: 'POST' })).status).toBe(200);
    expect(orders).toEqual([['load', id, { as: 'load', replicas: undefined, override: {}, evicts: true }]]);
  }
});

test('a body counts whatever its Content-Type says', async ({ expect }) => {
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/json']) {
    const { server } = await serverFor(off);
    await using _ = server;
    const headers = { 'content-type': type };
    const { status } = await server.ask(LOAD, { method: 'POST', headers, body: '{"replicas":9}' });
    expect([type, status]).toEqual([type, 400]);
  }
});

const refusing = (end: OrderEnd, orders: unknown[] = []): Operator => ({
  load: async (...order) => {
    orders.push(order);
    return end;
  },
  unload: async () => end,
  setLevel: () => true,
  setMode: () => true,
});
const refused = (code: 'engine_failed' | 'shutting_down' | 'lane_full' | 'model_unloading'): OrderEnd => ({
  kind: 'refused',
  code,
  message: 'its engine did not start',
  retryAfterMs: undefined,
});

describe('a load that comes to nothing', () => {
  test('says why, to the operator in full, with the model as it is', async ({ expect }) => {
    const remembered = { failure, at: new Date(0), triedAgain: false };
    const { server } = await serverFor(off, {
      operator: refusing(refused('engine_failed')),
      lastFailure: () => remembered,
    });
    await using _ = server;
    const { status, body } = await server.ask(LOAD, { method: 'POST' });
    const { error } = ErrorAnswer.parse(JSON.parse(body));
    expect([status, error.code, error.model?.name]).toEqual([500, 'load_failed', 'alpha']);
    expect(error.message).toContain('no such file');
  });

  test('is a timeout when the engine was too late', async ({ expect }) => {
    const remembered = { failure: { ...failure, trouble: 'too_late' as const }, at: new Date(0), triedAgain: false };
    const operator = refusing(refused('engine_failed'));
    const { server } = await serverFor(off, { operator, lastFailure: () => remembered });
    await using _ = server;
    const { status, headers } = await server.ask(LOAD, { method: 'POST' });
    expect([status, headers['x-catnap-error']]).toEqual([504, 'load_timeout']);
  });

  test.for([
    ['shutting_down', 503, 'shutting_down'],
    ['lane_full', 429, 'lane_full'],
    ['model_unloading', 409, 'invalid_state'],
  ] as const)('because of %s', async ([code, status, told], { expect }) => {
    const { server } = await serverFor(off, { operator: refusing(refused(code)) });
    await using _ = server;
    const answer = await server.ask(LOAD, { method: 'POST' });
    expect([answer.status, answer.headers['x-catnap-error']]).toEqual([status, told]);
  });
});

describe('one who does not wait', () => {
  const never: Operator = {
    ...refusing({ kind: 'done' }),
    load: () => new Promise(() => {}),
    unload: () => new Promise(() => {}),
  };

  test('is answered 202 with the model as it is', async ({ expect }) => {
    const { server } = await serverFor(off, { operator: never });
    await using _ = server;
    for (const path of [LOAD, UNLOAD]) {
      const { status, body } = await server.ask(`${path}?wait=false&hold=1`, { method: 'POST' });
      expect([status, ModelRow.parse(JSON.parse(body)).name]).toEqual([202, 'alpha']);
    }
  });

  test('or waits for some seconds only', async ({ expect }) => {
    const { server } = await serverFor(off, { operator: never });
    await using _ = server;
    const { status, body } = await server.ask(`${LOAD}?timeout_s=0.05`, { method: 'POST' });
    expect([status, ErrorAnswer.parse(JSON.parse(body)).error.code]).toEqual([504, 'load_timeout']);
  });
});

test('other methods are told which there are', async ({ expect }) => {
  const { server } = await serverFor(off);
  await using _ = server;
  for (const method of ['PUT', 'DELETE', 'PATCH']) {
    const { status, headers } = await server.ask(LOAD, { method });
    expect([status, headers['allow']]).toEqual([405, expect.stringContaining('POST')]);
  }
});

test('no body and no path is a bug of ours', async ({ expect }) => {
  const { server, bugs } = await serverFor(awake);
  await using _ = server;
  const names = [
    'alpha',
    '%zz',
    '%00',
    '..%2f..%2f',
    '%F0%9F%98%B4',
    'a'.repeat(3_000),
    '__proto__',
    'constructor',
    '//',
    '/load',
  ];
  const bodies = [
    '',
    '\0',
    '[[[',
    '{"__proto__":{}}',
    '{"replicas":{}}',
    '{"toString":1}',
    '"',
    '{"a":1,"a":2}',
    '1e999',
    '\uD800',
  ];
  for (const name of names) {
    for (const body of bodies) {
      for (const verb of ['load', 'unload']) {
        const { status } = await server.ask(`/v1/admin/models/${name}/${verb}`, { method: 'POST', body });
        expect([name, body, verb, status < 500]).toEqual([name, body, verb, true]);
      }
      for (const act of ['mode', 'pin', 'sleep', 'sleep-level', 'switch', 'wake', name]) {
        const { status } = await server.ask(`/control/${act}`, { method: 'POST', body });
        expect([act, body, status < 500]).toEqual([act, body, true]);
      }
    }
  }
  expect(bugs).toEqual([]);
});
