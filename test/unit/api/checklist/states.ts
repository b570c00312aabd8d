import { RuntimeState } from '../../../../src/api/admin/contract.ts';
import { ROUTES } from '../../../../src/api/admin/routes.ts';
import { said, type Row } from './real-app.ts';

/** What holds for all of it, and what a model does. */
export const STATES: readonly Row[] = [
  [
    1,
    'live control only, no config file is written',
    async (app, expect) => {
      await app.load('org/x', { replicas: 2 });
      expect((await app.row('org/x')).definition['replicas']).toBe(1);
      await app.is('org/x', 'unloaded');
      expect((await app.row('org/x')).replicas).toBe(1);
    },
  ],
  [
    2,
    'no definitions of models by the API',
    async (app, expect) => {
      expect(said(await app.load('new', { model_path: '/x' }))).toEqual([404, 'unknown_model']);
      expect(said(await app.load('a', { model_path: '/x' }))).toEqual([422, 'unfit_body']);
      expect((await app.post('/v1/admin/models', { name: 'new' })).status).toBe(405);
    },
  ],
  [
    3,
    'no forced unload',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const stream = await app.stream();
      await app.unload('long', '?wait=false&force=true');
      expect([stream.over, (await app.row('long')).runtime_state]).toEqual([false, 'unloading']);
      stream.leave();
      await app.is('long', 'unloaded');
    },
  ],
  [
    4,
    'a load answers when it is done, a second one at once, and 202 where nobody waits',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      const first = app.load('org/x');
      const second = app.load('org/x', {}, '?wait=false');
      expect((await second).status).toBeLessThanOrEqual(202);
      expect(await first).toMatchObject({ status: 200, json: { runtime_state: 'loaded' } });
      await app.is('org/x', 'unloaded');
      expect(await app.load('org/x', {}, '?wait=false')).toMatchObject({
        status: 202,
        json: { runtime_state: 'loading' },
      });
      expect(await app.load('org/x')).toMatchObject({ status: 200, json: { runtime_state: 'loading' } });
      await app.is('org/x', 'loaded');
    },
  ],
  [
    5,
    'the live load_constraints count',
    async (app, expect) => {
      const { load_constraints: shown } = await app.row('a');
      expect(shown).toEqual({});
      expect(said(await app.load('a', { gguf_n_ctx: 8 }))).toEqual([400, 'invalid_load_request']);
    },
  ],
  [
    6,
    'config and live state are apart',
    async (app, expect) => {
      await app.is('off', 'loaded');
      expect(await app.row('off')).toMatchObject({ configured_enabled: false, is_loaded: true });
      expect(await app.is('a', 'unloaded')).toMatchObject({ configured_enabled: true, is_loaded: false });
    },
  ],
  [
    7,
    'the definition is what the config says',
    async (app, expect) => {
      expect((await app.row('v')).definition).toMatchObject({ model_path: 'org/weights', vllm_max_model_len: 4_096 });
    },
  ],
  [
    8,
    'OpenAPI with a description everywhere',
    async (app, expect) => {
      const { json } = await app.get('/v1/admin/openapi.json');
      for (const { path, method } of ROUTES) {
        expect(json).toHaveProperty(['paths', path, method, 'description'], expect.stringMatching(/\w/));
      }
    },
  ],
  [
    9,
    'configured, state and last error can be shown',
    async (app, expect) => {
      await app.load('bad');
      expect(await app.row('bad')).toMatchObject({
        configured_enabled: true,
        runtime_state: 'failed',
        last_error: expect.stringContaining('/no/such/program'),
      });
    },
  ],
  [
    10,
    'what is out of scope stays out',
    async (app, expect) => {
      for (const path of ['/v1/admin/models', '/v1/admin/models/a'])
        expect((await app.post(path, {})).status).toBe(405);
      expect(said(await app.post('/v1/admin/config', {}))).toEqual([404, 'not_found']);
    },
  ],
  [
    11,
    'five states exactly',
    async (app, expect) => {
      expect(RuntimeState.options).toEqual(['unloaded', 'loading', 'loaded', 'unloading', 'failed']);
      for (const { runtime_state: state } of (await app.list()).models) expect(RuntimeState.options).toContain(state);
    },
  ],
  [
    12,
    'the state may differ from enabled',
    async (app, expect) => {
      expect(await app.is('a', 'unloaded')).toMatchObject({ configured_enabled: true, runtime_state: 'unloaded' });
      expect(await app.is('off', 'loaded')).toMatchObject({ configured_enabled: false, runtime_state: 'loaded' });
    },
  ],
  [
    13,
    'asleep is unloaded, with its residency',
    async (app, expect) => {
      await app.is('a', 'loaded');
      const { json } = await app.unload('a', '?level=1');
      expect(json).toMatchObject({ runtime_state: 'unloaded', is_loaded: false, residency: 'host' });
    },
  ],
  [
    14,
    'unloaded: rejected, may be loaded',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      expect(said(await app.chat('org/x'))).toEqual([409, 'model_not_loaded']);
      expect((await app.load('org/x')).json).toMatchObject({ runtime_state: 'loaded' });
    },
  ],
  [
    15,
    'loading: rejected, loading again is idempotent',
    (app, expect) =>
      app.while('loading', async (model) => {
        expect(said(await app.chat(model))).toEqual([503, 'model_loading']);
        expect((await app.load(model)).status).toBe(200);
      }),
  ],
  [
    16,
    'loaded: serves, may be unloaded',
    async (app, expect) => {
      await app.is('org/x', 'loaded');
      expect((await app.chat('org/x')).status).toBe(200);
      expect((await app.unload('org/x')).json).toMatchObject({ runtime_state: 'unloaded' });
    },
  ],
  [
    17,
    'unloading: nothing new, who is served finishes',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const stream = await app.stream();
      await app.unload('long', '?wait=false');
      expect(said(await app.chat('long'))).toEqual([503, 'model_unloading']);
      const { length } = stream.body;
      await app.rowWhen('long', 'serving on', () => stream.body.length > length + 500);
      stream.leave();
      await app.rowWhen('long', 'unloaded', ({ runtime_state: now }) => now === 'unloaded');
      expect(await app.row('long')).toMatchObject({ loaded_replicas: 0 });
    },
  ],
  [
    18,
    'failed: the error is kept, may be loaded again',
    async (app, expect) => {
      for (const _ of [1, 2]) {
        expect(said(await app.load('bad'))).toEqual([500, 'load_failed']);
        expect((await app.row('bad')).last_error).toContain('/no/such/program');
      }
    },
  ],
  [
    19,
    'last_error is cleared by an unload that forgets it, and kept until then',
    async (app, expect) => {
      await app.load('bad');
      expect((await app.row('bad')).last_error).not.toBeNull();
      const loads = app.facts.filter(({ kind }) => kind === 'engine-failed').length;
      await app.load('bad');
      expect(app.facts.filter(({ kind }) => kind === 'engine-failed').length).toBe(loads + 1);
      expect((await app.row('bad')).last_failure).not.toBeNull();
    },
  ],
  [
    20,
    'a model that has failed is failed to its clients',
    async (app, expect) => {
      await app.load('bad');
      const refused = await app.chat('bad');
      expect(said(refused)).toEqual([503, 'model_failed']);
      expect(refused.headers['x-should-retry']).toBe('false');
    },
  ],
  [
    21,
    'an unload of a failed one leads to unloaded',
    async (app, expect) => {
      await app.load('bad');
      expect(await app.unload('bad')).toMatchObject({ status: 200, json: { runtime_state: 'unloaded' } });
    },
  ],
  [
    22,
    'an unload while loading is 409, unless it is called off',
    async (app, expect) => {
      await app.while('loading', async (model) => {
        expect(said(await app.unload(model))).toEqual([409, 'invalid_state']);
      });
      await app.while('loading', async (model) => {
        expect((await app.unload(model, '?cancel=true')).json).toMatchObject({ runtime_state: 'unloaded' });
      });
    },
  ],
  [
    23,
    'loaded accepts, all others reject',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      expect((await app.chat('org/x')).status).toBe(409);
      await app.while('loading', async (model) => expect((await app.chat(model)).status).toBe(503));
      expect((await app.chat('org/x')).status).toBe(200);
      await app.while('unloading', async (model) => expect((await app.chat(model)).status).toBe(503));
      await app.load('bad');
      expect((await app.chat('bad')).status).toBe(503);
    },
  ],
  [
    24,
    'codes a program can read',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      const { headers, json } = await app.chat('org/x');
      expect([headers['x-catnap-error'], json.error?.code]).toEqual(['model_not_loaded', 'model_not_loaded']);
      expect(said(await app.get('/v1/admin/models/nobody'))).toEqual([404, 'unknown_model']);
      expect(said(await app.chat('a', { thinking: 'enabled' }))).toEqual([400, 'thinking_unsupported']);
    },
  ],
  [
    25,
    'their statuses, Retry-After and x-should-retry',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      expect((await app.chat('org/x')).headers).toMatchObject({ 'x-should-retry': 'false' });
      for (const state of ['loading', 'unloading'] as const) {
        await app.while(state, async (model) => {
          const { headers, json } = await app.chat(model);
          expect(json).toMatchObject({ error: { type: 'server_error', code: `model_${state}` } });
          expect(headers['x-should-retry']).toBeUndefined();
          expect(Number(headers['retry-after'])).toBeGreaterThan(0);
        });
      }
    },
  ],
  [
    26,
    'on_demand models are held and loaded',
    async (app, expect) => {
      await app.is('a', 'unloaded');
      expect([(await app.chat('a')).status, (await app.row('a')).runtime_state]).toEqual([200, 'loaded']);
    },
  ],
  [
    27,
    'disabled ones are loaded by an operator alone',
    async (app, expect) => {
      await app.is('off', 'unloaded');
      expect(said(await app.chat('off'))).toEqual([403, 'model_disabled']);
      await app.load('off');
      expect((await app.chat('off')).status).toBe(200);
    },
  ],
  [
    28,
    'thinking of a request: only what the model takes',
    async (app, expect) => {
      expect(said(await app.chat('r', { thinking: 'enabled' }))).toEqual([400, 'thinking_unsupported']);
      expect(said(await app.chat('r', { thinking: 'hard' }))).toEqual([422, 'unfit_body']);
      expect(said(await app.chat('r', { thinking: true }))).toEqual([422, 'unfit_body']);
      expect((await app.chat('r', { thinking: 'disabled' })).status).toBe(200);
      expect(JSON.parse(app.sent.at(-1) ?? '')).toMatchObject({ thinking: 'disabled' });
      expect((await app.chat('r', { thinking: 'default' })).status).toBe(200);
      expect(JSON.parse(app.sent.at(-1) ?? '')).not.toHaveProperty('thinking');
    },
  ],
  [
    29,
    'requests of TranslateGemma',
    async (app, expect) => {
      expect((await app.row('g')).capabilities.multi_turn).toBe(false);
      expect((await app.chat('t', { source_lang_code: 'cs', target_lang_code: 'de' })).status).toBe(200);
      expect(JSON.parse(app.sent.at(-1) ?? '').messages[0].content[0]).toMatchObject({
        source_lang_code: 'cs',
        target_lang_code: 'de',
        text: 'Hello',
      });
      const turn = { role: 'user', content: 'Ahoj' };
      expect(said(await app.chat('t', { messages: [turn, turn], target_lang_code: 'de' }))).toEqual([
        400,
        'invalid_request',
      ]);
    },
  ],
];
