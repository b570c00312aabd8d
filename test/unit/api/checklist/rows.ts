import { CONSTRAINTS } from '../../../../src/api/admin/constraints/tables.ts';
import type { Row } from './real-app.ts';

/** What a row holds. */
export const SHOWN: readonly Row[] = [
  [30, 'name', async (app, expect) => expect((await app.row('other/name')).name).toBe('a')],
  [
    31,
    'resolved_backend',
    async (app, expect) => {
      const { models } = await app.list();
      expect(models.map(({ resolved_backend: backend }) => backend)).toEqual([
        'stub',
        'stub',
        'stub',
        'stub',
        'command',
        'vllm_serve',
        'llama_server',
        'llama_cpp',
        'ct2',
        'openai_remote',
        'openai_remote',
      ]);
    },
  ],
  [
    32,
    'configured_enabled',
    async (app, expect) => {
      expect([(await app.row('a')).configured_enabled, (await app.row('off')).configured_enabled]).toEqual([
        true,
        false,
      ]);
    },
  ],
  [
    33,
    'runtime_state',
    async (app, expect) => {
      expect((await app.is('a', 'loaded')).runtime_state).toBe('loaded');
      expect((await app.is('a', 'unloaded')).runtime_state).toBe('unloaded');
    },
  ],
  [
    34,
    'is_loaded',
    async (app, expect) => {
      await app.is('a', 'loaded');
      for (const { is_loaded: loaded, runtime_state: state } of (await app.list()).models) {
        expect(loaded).toBe(state === 'loaded');
      }
    },
  ],
  [
    35,
    'replicas that come now',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      await app.load('org/x', { replicas: 3 });
      expect((await app.row('org/x')).replicas).toBe(3);
      expect((await app.is('org/x', 'unloaded')).replicas).toBe(1);
    },
  ],
  [
    36,
    'replica_max',
    async (app, expect) => {
      expect([(await app.row('org/x')).replica_max, (await app.row('a')).replica_max]).toEqual([3, 1]);
    },
  ],
  [
    37,
    'loaded_replicas',
    async (app, expect) => {
      expect((await app.is('org/x', 'unloaded')).loaded_replicas).toBe(0);
      expect((await app.load('org/x', { replicas: 2 })).json).toMatchObject({ loaded_replicas: 2 });
      await app.is('org/x', 'unloaded');
    },
  ],
  [
    38,
    'inflight_requests',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const stream = await app.stream();
      expect((await app.row('long')).inflight_requests).toBe(1);
      stream.leave();
      await app.rowWhen('long', 'free', ({ inflight_requests: open }) => open === 0);
    },
  ],
  [
    39,
    'queue_depth',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const stream = await app.stream();
      const waits = app.chat('long', { max_tokens: 1 });
      expect((await app.rowWhen('long', 'waited for', ({ queue_depth: depth }) => depth === 1)).inflight_requests).toBe(
        1,
      );
      stream.leave();
      await app.unload('long', '?wait=false');
      await waits;
    },
  ],
  [
    40,
    'runtime_inflight',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const stream = await app.stream();
      expect((await app.row('long')).runtime_inflight).toBe(1);
      stream.leave();
      await app.rowWhen('long', 'free', ({ runtime_inflight: open }) => open === 0);
    },
  ],
  [
    41,
    'configured_target_inflight',
    async (app, expect) => {
      expect((await app.row('a')).configured_target_inflight).toBe(32);
      expect((await app.row('long')).configured_target_inflight).toBe(1);
    },
  ],
  [
    42,
    'effective_target_inflight',
    async (app, expect) => {
      expect((await app.row('v')).effective_target_inflight).toBe(5);
    },
  ],
  [
    43,
    'last_error',
    async (app, expect) => {
      expect((await app.row('a')).last_error).toBeNull();
      await app.load('bad');
      expect((await app.row('bad')).last_error).toEqual(expect.any(String));
    },
  ],
  ...(['vram_estimate_mib', 'vram_estimate_replica_count', 'vram_estimate_source'] as const).map((key, at): Row => [
    44 + at,
    key,
    async (app, expect) => {
      const { [key]: shown } = await app.row('l');
      expect([null, 1, 'unavailable'][at]).toEqual(shown);
    },
  ]),
  [
    47,
    'load_constraints',
    async (app, expect) => {
      for (const { resolved_backend: backend, load_constraints: shown } of (await app.list()).models) {
        expect(shown).toEqual(CONSTRAINTS[backend] ?? {});
      }
    },
  ],
  [
    48,
    'load_recommendations, where there are any',
    async (app, expect) => {
      expect(await app.row('g')).toMatchObject({
        load_recommendations: {
          gguf_cache_type_pairs: { kind: 'pair_presets', fields: ['gguf_type_k', 'gguf_type_v'] },
        },
      });
      expect(await app.row('a')).not.toHaveProperty('load_recommendations');
    },
  ],
  [
    49,
    'load_override, empty where there is none',
    async (app, expect) => {
      await app.held(async () => {
        await app.load('v', { vllm_max_model_len: 512 }, '?wait=false');
        expect((await app.row('v')).load_override).toEqual({ vllm_max_model_len: 512 });
        await app.unload('v', '?cancel=true');
      });
      expect((await app.row('v')).load_override).toEqual({});
      expect((await app.row('a')).load_override).toEqual({});
    },
  ],
  [
    50,
    'capabilities.modalities',
    async (app, expect) => {
      expect((await app.row('a')).capabilities.modalities).toEqual(['text']);
      expect((await app.row('l')).capabilities.modalities).toEqual(['text', 'image']);
    },
  ],
  [
    51,
    'capabilities.multi_turn',
    async (app, expect) => {
      const turns = (await app.list()).models.map(({ name, capabilities }) => [name, capabilities.multi_turn]);
      expect(Object.fromEntries(turns)).toMatchObject({ v: true, l: true, g: false, c: false, r: false });
    },
  ],
  [
    52,
    'capabilities.thinking_modes',
    async (app, expect) => {
      expect((await app.row('v')).capabilities.thinking_modes).toEqual(['default', 'enabled', 'disabled']);
      expect((await app.row('r')).capabilities.thinking_modes).toEqual(['default', 'disabled']);
      expect((await app.row('l')).capabilities.thinking_modes).toEqual(['default']);
    },
  ],
  [
    53,
    'definition',
    async (app, expect) => {
      const { definition } = await app.row('l');
      expect(definition).toMatchObject({ backend: 'llama_server', enabled: false, replicas: 1, replica_max: 1 });
      expect(Object.keys(definition).some((key) => key.startsWith('vllm_'))).toBe(false);
      for (const key of ['model_path', 'device', 'prompt_format', 'target_inflight'])
        expect(definition).toHaveProperty(key);
    },
  ],
  [
    54,
    'who waits is not in flight',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const stream = await app.stream();
      const waits = app.chat('long', { max_tokens: 1 });
      const row = await app.rowWhen('long', 'waited for', ({ queue_depth: depth }) => depth === 1);
      expect([row.inflight_requests, row.runtime_inflight]).toEqual([1, 1]);
      stream.leave();
      await app.unload('long', '?wait=false');
      await waits;
    },
  ],
  [
    55,
    'an estimate that cannot be had is null',
    async (app, expect) => {
      expect(await app.row('l')).toMatchObject({ vram_estimate_mib: null, vram_estimate_source: 'unavailable' });
    },
  ],
  [
    56,
    'secrets are masked',
    async (app, expect) => {
      const { json } = await app.get('/v1/admin/models');
      expect(JSON.stringify(json)).not.toContain('hush');
      expect((await app.row('v')).definition).toMatchObject({ api_key: '***' });
    },
  ],
  [
    57,
    'in the order of the config',
    async (app, expect) => {
      const names = (await app.list()).models.map(({ name }) => name);
      expect(names).toEqual(Object.keys(JSON.parse(app.written).models));
    },
  ],
  [
    58,
    'definition.replicas is what the config says',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      await app.load('org/x', { replicas: 2 });
      expect(await app.row('org/x')).toMatchObject({ replicas: 2, definition: { replicas: 1 } });
      await app.is('org/x', 'unloaded');
    },
  ],
  [
    59,
    'one model alone',
    async (app, expect) => {
      const { models } = await app.list();
      const listed = models.find(({ name }) => name === 'v');
      expect(await app.row('v')).toMatchObject({
        name: 'v',
        definition: listed?.definition,
        load_constraints: listed?.load_constraints,
      });
    },
  ],
  [
    60,
    'the target is what the engine can at most',
    async (app, expect) => {
      expect(await app.row('v')).toMatchObject({ configured_target_inflight: 32, effective_target_inflight: 5 });
      expect((await app.row('long')).effective_target_inflight).toBe(1);
    },
  ],
];
