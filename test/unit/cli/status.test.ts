import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import type { ModelList, ModelRow } from '../../../src/api/admin/contract.ts';
import { statusText } from '../../../src/cli/status-text.ts';
import { type } from './terminal.ts';

const alpha: ModelRow = {
  name: 'alpha',
  resolved_backend: 'stub',
  configured_enabled: true,
  activation: 'on_demand',
  aliases: [],
  runtime_state: 'loaded',
  is_loaded: true,
  residency: 'gpu',
  sleep_level: 5,
  hold: false,
  stage: 'default',
  room: 1,
  keep: false,
  waits_for_loads: false,
  replicas: 1,
  replica_max: 1,
  inflight_requests: 0,
  configured_target_inflight: 32,
  effective_target_inflight: 4,
  vram_estimate_mib: null,
  vram_estimate_replica_count: 1,
  vram_estimate_source: 'unavailable',
  load_constraints: {},
  load_override: {},
  capabilities: { modalities: ['text'], multi_turn: true, thinking_modes: ['default'] },
  definition: { backend: 'stub' },
  loaded_replicas: 1,
  runtime_inflight: 2,
  suspended_requests: 0,
  queue_depth: 0,
  oldest_wait_secs: null,
  ready_in_secs: 0,
  last_error: null,
  last_failure: null,
  engines: [{ engine: 'alpha#0', phase: 'awake', dozes: false, phase_secs: 10, pid: 41, port: 8001, holds: null }],
  levels: [5],
  costs: {},
  verdicts: [],
};

const idle: ModelRow = {
  ...alpha,
  runtime_state: 'unloaded',
  is_loaded: false,
  residency: 'none',
  loaded_replicas: 0,
  runtime_inflight: 0,
  suspended_requests: 0,
  ready_in_secs: null,
  engines: [{ engine: 'beta#0', phase: 'off', dozes: false, phase_secs: null, pid: null, port: null, holds: null }],
};

const calm: ModelList = {
  models: [alpha, { ...idle, name: 'beta' }],
  stages: [],
  swap: null,
  accepting: true,
  mode: 'auto',
  version: '1.2.3',
};

const failure = { at: '2026-11-20T12:00:00.000Z', during: 'starting', reason: 'no such\u001b[31m file', attempts: 2 };

const eventful: ModelList = {
  ...calm,
  swap: { id: 7, to: 'org/beta', from: ['alpha'], since_secs: 1.24, expected_secs: 1 },
  models: [
    { ...alpha, runtime_state: 'unloading', is_loaded: false, ready_in_secs: 0.8 },
    {
      ...alpha,
      name: 'org/beta',
      runtime_state: 'loading',
      is_loaded: false,
      runtime_inflight: 0,
      suspended_requests: 0,
      queue_depth: 3,
      oldest_wait_secs: 2.5,
      ready_in_secs: 1,
      last_failure: { ...failure, during: 'awake', attempts: 1, reason: 'killed by SIGSEGV' },
      engines: [
        { engine: 'org/beta#0', phase: 'waking', dozes: false, phase_secs: 1.5, pid: 42, port: 8002, holds: null },
        { engine: 'org/beta#1', phase: 'waking', dozes: false, phase_secs: 1.5, pid: 43, port: 8003, holds: null },
      ],
    },
    { ...idle, name: 'gamma', residency: 'host', ready_in_secs: 90, configured_enabled: false },
    { ...idle, name: 'delta', runtime_state: 'failed', last_error: 'no such file', last_failure: failure },
  ],
};

const terms = { url: 'http://127.0.0.1:3000', now: new Date('2026-11-20T12:03:00Z'), colour: false };

describe('one glance', () => {
  test('at a calm moment', ({ expect }) => {
    expect(statusText(calm, terms)).toBe(`catnap 1.2.3 at http://127.0.0.1:3000
alpha is awake.

MODEL  STATE     WAITING  IN FLIGHT  READY IN  ENGINE
alpha  loaded    -        2          now       pid 41 port 8001
beta   unloaded  -        -          ?         -
`);
  });

  test('at one in which a server has put itself to sleep', ({ expect }) => {
    const engines = alpha.engines.map((engine) => ({ ...engine, dozes: true }));
    expect(statusText({ ...calm, models: [{ ...alpha, engines }] }, terms)).toContain(
      'alpha  loaded, dozing  -        2          now       pid 41 port 8001\n',
    );
  });

  test('at one in which somebody sleeps and holds something', ({ expect }) => {
    const holds = { gpu_mib: 700, host_mib: 6_000, disk_mib: 0 };
    const engines = idle.engines.map((engine) => ({ ...engine, phase: 'asleep', holds }));
    const model = { ...idle, name: 'beta', residency: 'host', engines };
    expect(statusText({ ...calm, models: [model] }, terms)).toContain(
      'beta   asleep (host, 700 MiB gpu, 6000 MiB host)',
    );
  });

  test('at an eventful one', ({ expect }) => {
    expect(statusText(eventful, terms)).toBe(`catnap 1.2.3 at http://127.0.0.1:3000
No model is awake.
Swapping alpha for org/beta: 1.2 s so far, about 1.0 s to go.

MODEL     STATE                    WAITING           IN FLIGHT  READY IN  ENGINE
alpha     unloading                -                 2          800 ms    pid 41 port 8001
org/beta  loading                  3, longest 2.5 s  -          1.0 s     pid 42 port 8002, pid 43 port 8003
gamma     asleep (host), disabled  -                 -          2 min     -
delta     failed                   -                 -          ?         -

org/beta failed 3 min ago while awake: killed by SIGSEGV (started again since)
delta failed 3 min ago while starting, 2 times in a row: no such [31m file
\`catnap requests\` lists who waits and who is served.
`);
  });

  test('says so when it is shutting down, and when a swap cannot be foretold', ({ expect }) => {
    const swap = { id: 1, to: 'beta', from: [], since_secs: 75, expected_secs: null };
    const text = statusText({ ...calm, accepting: false, swap }, terms);
    expect(text).toContain('It is shutting down and lets no request in.\n');
    expect(text).toContain('Waking beta: 1 min so far, it has never been timed.\n');
    expect(statusText({ ...calm, swap: { ...swap, expected_secs: 0 } }, terms)).toContain('longer than usual.\n');
  });

  test('colours states on a terminal without moving the columns', ({ expect }) => {
    const coloured = statusText(eventful, { ...terms, colour: true });
    expect(coloured).toContain('\u001b[31mfailed\u001b[39m');
    // oxlint-disable-next-line no-control-regex -- colours are escape sequences
    expect(coloured.replaceAll(/\u001b\[\d+m/g, '')).toBe(statusText(eventful, terms));
  });
});

/** Something on a port that answers as the listener says. */
async function serverThat(answers: RequestListener) {
  const server = createServer(answers);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const answering = (body: unknown, status = 200): RequestListener => {
  return (req, res) => {
    res.writeHead(req.url === '/v1/admin/models' ? status : 404, { 'content-type': 'application/json' });
    res.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
};

describe('catnap status', () => {
  test('finds the running catnap by its config', async ({ expect }) => {
    await using server = await serverThat(answering(calm));
    const folder = mkdtempSync(join(tmpdir(), 'catnap-cli-'));
    const file = join(folder, 'config.json');
    writeFileSync(file, JSON.stringify({ port: server.port, models: { alpha: { backend: 'stub' } } }));
    const { code, out, err } = await type(['status', '--config', file]);
    rmSync(folder, { recursive: true });
    expect([code, err]).toEqual([0, '']);
    expect(out).toBe(statusText(calm, { ...terms, url: `http://127.0.0.1:${server.port}` }));
  });

  test('or by its address, and prints all it was told as JSON', async ({ expect }) => {
    const newer = { ...calm, something_new: true };
    await using server = await serverThat(answering(newer));
    for (const url of [`127.0.0.1:${server.port}`, `http://127.0.0.1:${server.port}/`]) {
      const { code, out } = await type(['status', '--json', '--url', url]);
      expect(code).toBe(0);
      expect(JSON.parse(out)).toEqual(newer);
    }
  });

  test('ends with 1 when nothing is there', async ({ expect }) => {
    const { port } = await serverThat(answering(calm)).then(async (server) => {
      await server[Symbol.asyncDispose]();
      return server;
    });
    const { code, out, err } = await type(['status', '--url', `127.0.0.1:${port}`]);
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      `catnap: no catnap runs at http://127.0.0.1:${port}. Start it with \`catnap\`, or name its address with --url.\n`,
    );
  });

  test.for<[string, unknown, number]>([
    ['is it another program?', { models: [{ name: 'alpha' }] }, 200],
    ['is it another program?', '<html>', 200],
    ['answered 404: that is not an answer of catnap', '<html>', 404],
    [
      'answered 403: closed to strangers',
      { error: { message: 'closed to strangers', type: 'invalid_request_error', param: null, code: 'forbidden' } },
      403,
    ],
  ])('ends with 1 and says: %s', async ([told, body, status], { expect }) => {
    await using server = await serverThat(answering(body, status));
    const { code, out, err } = await type(['status', '--url', `127.0.0.1:${server.port}`]);
    expect([code, out]).toEqual([1, '']);
    expect(err.toLowerCase()).toContain(told);
  });

  test('ends with 1 when the answer breaks off', async ({ expect }) => {
    await using server = await serverThat((_req, res) => {
      res.writeHead(200, { 'content-length': '100' });
      res.write('{"models":', () => res.destroy());
    });
    const { code, err } = await type(['status', '--url', `127.0.0.1:${server.port}`]);
    expect(code).toBe(1);
    expect(err).toMatch(/^catnap: http:\/\/127\.0\.0\.1:\d+ cannot be reached: /);
  });

  test('cannot guess a port that the config leaves open', async ({ expect }) => {
    const folder = mkdtempSync(join(tmpdir(), 'catnap-cli-'));
    const file = join(folder, 'config.json');
    writeFileSync(file, JSON.stringify({ port: 0, models: { alpha: { backend: 'stub' } } }));
    const { code, err } = await type(['status', '--config', file]);
    rmSync(folder, { recursive: true });
    expect(code).toBe(2);
    expect(err).toBe('catnap: the config leaves the port open. Name the address with --url.\n');
  });
});
