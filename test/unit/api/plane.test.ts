import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'vitest';
import { ErrorAnswer, ModelList, ModelRow } from '../../../src/api/admin/contract.ts';
import { controlPlane, metricsPlane } from '../../../src/api/plane.ts';
import { listen } from './listener.ts';
import { alpha, beta, deps, engine, failure, model, phases, stage } from './scene.ts';

const calm = () => stage([model(alpha, phases.awake), model(beta, phases.off)]);

describe('the catalogue', () => {
  test('lists every model with its state, in order', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    const { status, headers, body } = await server.ask('/v1/models');
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['cache-control']).toBe('no-store');
    expect(JSON.parse(body)).toEqual({
      object: 'list',
      data: [
        {
          id: 'alpha',
          object: 'model',
          created: 1_795_176_000,
          owned_by: 'catnap',
          state: 'loaded',
          aliases: ['gpt-4o'],
          enabled: true,
          ready_in_secs: 0,
        },
        {
          id: 'org/beta',
          object: 'model',
          created: 1_795_176_000,
          owned_by: 'catnap',
          state: 'unloaded',
          aliases: [],
          enabled: false,
          // Requests do not bring it in.
          ready_in_secs: null,
        },
      ],
    });
    for (const path of ['/models', '/v1/models/', '/v1/models?limit=1']) {
      expect((await server.ask(path)).body, path).toBe(body);
    }
  });

  test('finds one by name or alias, with slashes plain or escaped', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    for (const [path, id] of [
      ['/v1/models/alpha', 'alpha'],
      ['/v1/models/gpt-4o', 'alpha'],
      ['/v1/models/org/beta', 'org/beta'],
      ['/v1/models/org%2Fbeta', 'org/beta'],
    ] as const) {
      const { status, body } = await server.ask(path);
      expect(status, path).toBe(200);
      expect(JSON.parse(body), path).toMatchObject({ id });
    }
  });

  test('lists a name of several models as the one that would answer under it, and no pattern', async ({ expect }) => {
    const group = {
      models: ['org/beta', 'alpha'],
      prefer: 'awake',
      set_params: {},
      strip_params: [],
      default_params: {},
    } as const;
    const { deps: all } = deps(calm);
    const aliases = { helper: group, 'claude-*': group };
    const find: typeof all.find = (name) => (name === 'helper' ? alpha : all.find(name));
    await using server = await listen(controlPlane({ ...all, config: { ...all.config, aliases }, find }));
    const { data } = JSON.parse((await server.ask('/v1/models')).body);
    expect(data.map(({ id }: { id: string }) => id)).toEqual(['alpha', 'org/beta', 'helper']);
    expect(data[2]).toMatchObject({ state: 'loaded', enabled: true, models: ['org/beta', 'alpha'] });
    expect(JSON.parse((await server.ask('/v1/models/helper')).body)).toEqual(data[2]);
  });

  test('says which name it does not know, and where the names are', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    const { status, headers, body } = await server.ask('/v1/models/nobody');
    expect(status).toBe(404);
    expect(headers['x-catnap-error']).toBe('model_not_found');
    expect(headers['x-should-retry']).toBe('false');
    expect(ErrorAnswer.parse(JSON.parse(body)).error).toEqual({
      message: 'There is no model or alias "nobody". GET /v1/models lists them.',
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_found',
    });
  });
});

describe('the admin API', () => {
  const busy = () =>
    stage(
      [
        model(alpha, phases.awake, { part: 'draining', inFlight: 2, startEstimateMs: 800 }),
        model(beta, phases.failed, {
          part: 'summoned',
          waiting: 3,
          oldestWaitMs: 2_500,
          sleepLevel: 'hybrid',
          replicas: 2,
          startEstimateMs: 1_000,
          engines: [engine(beta, 0, phases.waking), engine(beta, 1, phases.awake)],
        }),
      ],
      { swap: { id: 7, to: beta, from: [alpha], sinceMs: 1_200 } },
    );
  const remembered = { failure, at: new Date('2026-11-20T12:00:00Z'), triedAgain: false };

  test('tells all there is to know about each model, as the contract says', async ({ expect }) => {
    const { deps: given } = deps(busy, { lastFailure: (of) => (of === beta ? remembered : undefined) });
    await using server = await listen(controlPlane(given));
    const { status, body } = await server.ask('/v1/admin/models');
    expect(status).toBe(200);
    const list: unknown = JSON.parse(body);
    expect(ModelList.parse(list)).toEqual(list);
    expect(list).toEqual({
      models: [
        {
          name: 'alpha',
          resolved_backend: 'stub',
          configured_enabled: true,
          activation: 'on_demand',
          aliases: ['gpt-4o'],
          runtime_state: 'unloading',
          is_loaded: false,
          residency: 'gpu',
          sleep_level: 5,
          hold: false,
          stage: 'default',
          room: 1,
          keep: false,
          waits_for_loads: false,
          replica_max: 1,
          inflight_requests: 2,
          configured_target_inflight: 32,
          effective_target_inflight: 4,
          vram_estimate_mib: null,
          vram_estimate_replica_count: 1,
          vram_estimate_source: 'unavailable',
          load_constraints: {},
          load_override: {},
          capabilities: { modalities: ['text'], multi_turn: false, thinking_modes: ['default'] },
          definition: expect.objectContaining({ backend: 'stub', enabled: true, replicas: 1 }),
          replicas: 1,
          loaded_replicas: 1,
          runtime_inflight: 2,
          suspended_requests: 0,
          queue_depth: 0,
          oldest_wait_secs: null,
          ready_in_secs: 0.8,
          last_error: null,
          last_failure: null,
          engines: [
            { engine: 'alpha#0', dozes: false, phase: 'awake', phase_secs: 10, pid: 41, port: 8001, holds: null },
          ],
          levels: [1, 5],
          costs: { 'come:5': { ms: 4_230, spread_ms: 84, samples: 3 } },
          verdicts: [],
        },
        {
          name: 'org/beta',
          resolved_backend: 'stub',
          configured_enabled: false,
          activation: 'on_demand',
          aliases: [],
          runtime_state: 'loading',
          is_loaded: false,
          residency: 'gpu',
          sleep_level: 'hybrid',
          hold: false,
          stage: 'default',
          room: 1,
          keep: false,
          waits_for_loads: false,
          replica_max: 1,
          inflight_requests: 0,
          configured_target_inflight: 32,
          effective_target_inflight: 4,
          vram_estimate_mib: null,
          vram_estimate_replica_count: 2,
          vram_estimate_source: 'unavailable',
          load_constraints: {},
          load_override: {},
          capabilities: { modalities: ['text'], multi_turn: false, thinking_modes: ['default'] },
          definition: expect.objectContaining({ backend: 'stub', enabled: false, replicas: 1 }),
          replicas: 2,
          loaded_replicas: 1,
          runtime_inflight: 0,
          suspended_requests: 0,
          queue_depth: 3,
          oldest_wait_secs: 2.5,
          ready_in_secs: 1,
          last_error: 'no such file',
          last_failure: { at: '2026-11-20T12:00:00.000Z', during: 'starting', reason: 'no such file', attempts: 2 },
          engines: [
            { engine: 'org/beta#0', dozes: false, phase: 'waking', phase_secs: 1.5, pid: 41, port: 8001, holds: null },
            { engine: 'org/beta#1', dozes: false, phase: 'awake', phase_secs: 10, pid: 42, port: 8002, holds: null },
          ],
          levels: [1, 5],
          costs: { 'come:5': { ms: 4_230, spread_ms: 84, samples: 3 } },
          verdicts: [],
        },
      ],
      stages: [],
      swap: { id: 7, to: 'org/beta', from: ['alpha'], since_secs: 1.2, expected_secs: 1 },
      mode: 'auto',
      accepting: true,
      version: '1.2.3',
    });
  });

  test('keeps the failure of a model that was tried again, but not as its error of now', async ({ expect }) => {
    const { deps: given } = deps(busy, { lastFailure: () => ({ ...remembered, triedAgain: true }) });
    await using server = await listen(controlPlane(given));
    const row = ModelRow.parse(JSON.parse((await server.ask('/v1/admin/models/gpt-4o')).body));
    expect(row).toMatchObject({ name: 'alpha', last_error: null, last_failure: { reason: 'no such file' } });
  });

  test('answers for one model, whatever its name looks like', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    for (const path of ['/v1/admin/models/org/beta', '/v1/admin/models/org%2Fbeta']) {
      expect(JSON.parse((await server.ask(path)).body), path).toMatchObject({ name: 'org/beta' });
    }
    const { status, headers } = await server.ask('/v1/admin/models/nobody');
    expect([status, headers['x-catnap-error']]).toEqual([404, 'unknown_model']);
  });

  test('is closed to web pages of others, by whatever way they come', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    const refused = [
      { host: 'evil.example.com' },
      { host: 'localhost.evil.com' },
      { host: 'a b' },
      { host: 'localhost:3000', origin: 'https://evil.example.com' },
      { host: 'localhost:3000', origin: 'http://localhost:8080' },
      { host: 'localhost:3000', origin: 'null' },
      { host: 'localhost:3000', 'sec-fetch-site': 'cross-site' },
      { host: 'localhost:3000', 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of refused) {
      const { status, body } = await server.ask('/v1/admin/models', { headers });
      expect([400, 403], JSON.stringify(headers)).toContain(status);
      expect(body).not.toContain('runtime_state');
    }
  });

  test('is open to programs and to pages of its own, under names no stranger can have', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    const welcome = [
      { host: '127.0.0.1:3000' },
      { host: '[::1]:3000' },
      { host: '192.168.1.7' },
      { host: 'gpu-box:3000' },
      { host: 'gpu-box.local' },
      { host: 'catnap.default.svc' },
      { host: 'CATNAP.example.org' },
      { host: 'localhost:3000', origin: 'http://localhost:3000', 'sec-fetch-site': 'same-origin' },
      { host: 'localhost:80', origin: 'http://localhost' },
      { host: 'localhost:3000', 'sec-fetch-site': 'none' },
    ];
    for (const headers of welcome) {
      expect((await server.ask('/v1/admin/models', { headers })).status, JSON.stringify(headers)).toBe(200);
    }
  });

  test('answers a client of HTTP/1.0, which names no host', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    const socket = connect(server.port, '127.0.0.1');
    socket.end('GET /v1/admin/models HTTP/1.0\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('probes', () => {
  test('live until the end, ready until the shutdown begins', async ({ expect }) => {
    let accepting = true;
    await using server = await listen(controlPlane(deps(() => stage([], { accepting })).deps));
    const statuses = async () => {
      const answers = await Promise.all(['/health', '/livez', '/readyz'].map((path) => server.ask(path)));
      return answers.map(({ status }) => status);
    };
    expect(await statuses()).toEqual([200, 200, 200]);
    accepting = false;
    expect(await statuses()).toEqual([200, 200, 503]);
  });
});

describe('metrics', () => {
  test('are on the main port and on the one of their own, where nothing else is', async ({ expect }) => {
    const { deps: told } = deps(calm);
    const given = { ...told, door: () => ({ mayRead: () => undefined }) };
    for (const plane of [controlPlane(given), metricsPlane(given)]) {
      await using server = await listen(plane);
      const { status, headers, body } = await server.ask('/metrics');
      expect([status, body]).toEqual([200, 'catnap_accepting 1\n']);
      expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    }
    await using server = await listen(metricsPlane(given));
    expect((await server.ask('/v1/admin/models')).status).toBe(404);
    expect((await server.ask('/')).status).toBe(404);
  });

  test('are refused on a port of their own to whom the door refuses them', async ({ expect }) => {
    const mayRead = ({ headers }: IncomingMessage) =>
      headers['accept-language'] === undefined ? undefined : ({ code: 'forbidden', message: 'no' } as const);
    await using server = await listen(metricsPlane({ ...deps(calm).deps, door: () => ({ mayRead }) }));
    expect((await server.ask('/metrics', { headers: { 'accept-language': 'de' } })).status).toBe(403);
    expect((await server.ask('/metrics')).status).toBe(200);
  });
});

describe('every path', () => {
  const paths = ['/v1/models', '/v1/models/alpha', '/models', '/v1/admin/models', '/health', '/readyz', '/metrics'];

  test.for(paths)('%s answers HEAD as GET without the body', async (path, { expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    const get = await server.ask(path);
    const head = await server.ask(path, { method: 'HEAD' });
    expect(head.status).toBe(get.status);
    expect(head.body).toBe('');
    expect(head.headers['content-type']).toBe(get.headers['content-type']);
  });

  test.for(paths)('%s says what it may be asked with', async (path, { expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers, body } = await server.ask(path, { method, body: method === 'POST' ? '{"a":1}' : '' });
      expect(status).toBe(405);
      expect(headers['allow']).toBe('GET, HEAD');
      expect(ErrorAnswer.parse(JSON.parse(body)).error.code).toBe('method_not_allowed');
    }
  });

  test('keeps the request id that the listener gave', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    for (const path of [...paths, '/v1/admin/nothing']) {
      expect((await server.ask(path)).headers['x-request-id'], path).toBe('r-1');
    }
  });

  test('that is not of a control plane is left to the data plane', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    for (const path of ['/v1/chat/completions', '/', '/v1', '/v1/modelsx', '/v1/administrators', '/healthy']) {
      expect((await server.ask(path, { method: 'POST' })).status, path).toBe(418);
    }
  });

  test('that is unknown below the admin API is refused in the shape clients know', async ({ expect }) => {
    await using server = await listen(controlPlane(deps(calm).deps));
    const { status, body } = await server.ask('/v1/admin/nothing');
    expect(status).toBe(404);
    expect(ErrorAnswer.parse(JSON.parse(body)).error.code).toBe('not_found');
  });

  test('answers a bug of ours with 500, and tells of it', async ({ expect }) => {
    const broken = new Error('invariant');
    const { deps: given, bugs } = deps(() => {
      throw broken;
    });
    await using server = await listen(controlPlane(given));
    const { status, headers } = await server.ask('/v1/models');
    expect([status, headers['x-catnap-error']]).toEqual([500, 'internal']);
    expect(bugs).toEqual([broken]);
  });
});
