import { GpuMemory, ModelRow } from '../../../../src/api/admin/contract.ts';
import { said, type RealApp, type Row } from './real-app.ts';

const gpuMemory = async (app: RealApp): Promise<GpuMemory> =>
  GpuMemory.parse((await app.get('/v1/admin/gpu-memory')).json);

/** Memory of GPUs, and loads. */
export const LOADS: readonly Row[] = [
  [
    72,
    'gpus: as many as there are, each in the words of its tool',
    async (app, expect) => {
      const { gpus } = await gpuMemory(app);
      const texts = gpus.map(({ used_mib: used, total_mib: total }) => `${used}MiB / ${total}MiB`);
      expect(gpus.map(({ used_over_total: text }) => text)).toEqual(texts);
    },
  ],
  [
    73,
    'their models',
    async (app, expect) => {
      const { models } = await gpuMemory(app);
      expect(models.map(({ name }) => name)).toEqual((await app.list()).models.map(({ name }) => name));
      expect(models.find(({ name }) => name === 'v')).toMatchObject({
        configured_target_inflight: 32,
        effective_target_inflight: 5,
        vram_estimate_replica_count: 1,
        vram_estimate_source: 'unavailable',
      });
    },
  ],
  [
    74,
    'no GPU: no gpus, and why, 200',
    async (app, expect) => {
      const { status, json } = await app.get('/v1/admin/gpu-memory');
      const { gpus, error } = GpuMemory.parse(json);
      expect([status, gpus.length === 0]).toEqual([200, error !== null]);
    },
  ],
  [
    75,
    'estimates of unloaded models',
    async (app, expect) => {
      await app.is('a', 'unloaded');
      const shown = (await gpuMemory(app)).models.find(({ name }) => name === 'a');
      expect(shown).toMatchObject({ is_loaded: false, vram_estimate_mib: null });
    },
  ],
  [
    76,
    'many may ask at once',
    async (app, expect) => {
      const all = await Promise.all(Array.from({ length: 20 }, () => gpuMemory(app)));
      expect(new Set(all.map(({ gpus }) => JSON.stringify(gpus))).size).toBe(1);
    },
  ],
  [
    77,
    'load of nobody is 404',
    async (app, expect) => expect(said(await app.load('nobody'))).toEqual([404, 'unknown_model']),
  ],
  [
    78,
    'load of a loaded or loading one is 200',
    async (app, expect) => {
      await app.while('loading', async (model) => expect((await app.load(model)).status).toBe(200));
      expect((await app.load('org/x')).status).toBe(200);
      expect((await app.post(app.at('org/x', 'load'))).status).toBe(200);
    },
  ],
  [
    79,
    'unloaded and failed ones are loaded, or fail again',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      expect((await app.load('org/x')).json).toMatchObject({ runtime_state: 'loaded' });
      await app.load('bad');
      const failures = app.facts.filter(({ kind }) => kind === 'engine-failed').length;
      await app.load('bad');
      expect(app.facts.filter(({ kind }) => kind === 'engine-failed').length).toBe(failures + 1);
    },
  ],
  [
    80,
    'a load that fails is 500 load_failed with the row',
    async (app, expect) => {
      const { status, json } = await app.load('bad');
      expect([status, json.error?.code]).toEqual([500, 'load_failed']);
      expect(ModelRow.parse(json.error?.model)).toMatchObject({ name: 'bad', runtime_state: 'failed' });
    },
  ],
  [
    81,
    'disabled ones may be loaded',
    async (app, expect) => {
      await app.is('off', 'unloaded');
      expect((await app.load('off')).json).toMatchObject({ configured_enabled: false, runtime_state: 'loaded' });
    },
  ],
  [
    82,
    'the body may be missing, or empty',
    async (app, expect) => {
      for (const body of ['', '{}', '  ']) expect((await app.post(app.at('a', 'load'), body)).status).toBe(200);
    },
  ],
  [
    83,
    'replicas only while unloaded or failed',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      await app.load('org/x');
      expect(said(await app.load('org/x', { replicas: 2 }))).toEqual([400, 'invalid_load_request']);
      expect((await app.load('org/x', { replicas: 1 })).status).toBe(200);
    },
  ],
  [
    84,
    'overrides of one that is on its way are 400, the same ones 200',
    async (app, expect) => {
      await app.unload('v', '?cancel=true');
      await app.is('long', 'loaded');
      const stream = await app.stream();
      expect((await app.load('v', { vllm_max_model_len: 512 }, '?wait=false')).status).toBe(202);
      expect(said(await app.load('v', { vllm_max_model_len: 768 }))).toEqual([400, 'invalid_load_request']);
      expect((await app.load('v', { vllm_max_model_len: 512 })).status).toBe(200);
      await app.unload('v', '?cancel=true');
      stream.leave();
    },
  ],
  [
    85,
    'load while unloading is 409',
    async (app, expect) =>
      app.while('unloading', async (model) => expect(said(await app.load(model))).toEqual([409, 'invalid_state'])),
  ],
  [
    86,
    'replicas: all or nothing, within replica_max',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      expect((await app.load('org/x', { replicas: 3 })).json).toMatchObject({ loaded_replicas: 3 });
      await app.is('org/x', 'unloaded');
      expect(said(await app.load('org/x', { replicas: 4 }))).toEqual([400, 'invalid_load_request']);
      for (const replicas of [0, -1, 1.5, '2']) {
        expect(said(await app.load('org/x', { replicas }))).toEqual([422, 'unfit_body']);
      }
    },
  ],
  [
    87,
    'definition.replicas stays',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      expect((await app.load('org/x', { replicas: 2 })).json).toMatchObject({ definition: { replicas: 1 } });
      await app.is('org/x', 'unloaded');
    },
  ],
  [
    88,
    'overrides last for that load',
    async (app, expect) => {
      await app.load('v', { vllm_max_model_len: 512 }, '?wait=false');
      await app.unload('v', '?cancel=true');
      expect((await app.row('v')).load_override).toEqual({});
      expect((await app.row('v')).definition['vllm_max_model_len']).toBe(4_096);
    },
  ],
  [
    89,
    '422 for what cannot be read',
    async (app, expect) => {
      const bodies = ['{', '[]', 'null', '7', '{} {}', '{"gguf_n_ctx":0}', '{"exllama_cache_size":0}', '{"no_such":1}'];
      for (const body of bodies) {
        expect([body, ...said(await app.post(app.at('g', 'load'), body))]).toEqual([body, 422, 'unfit_body']);
      }
    },
  ],
  [
    90,
    '400 for what does not fit',
    async (app, expect) => {
      for (const [model, body] of [
        ['g', { gguf_type_k: 'q8-0' }],
        ['g', { gguf_type_k: 'foo' }],
        ['g', { exllama_cache_size: 8_000 }],
        ['l', { llama_server_spec_type: 'medusa' }],
        ['l', { llama_server_spec_draft_n_max: 7 }],
        ['l', { llama_server_spec_draft_p_min: 1.5 }],
        ['v', { llama_server_n_ctx: 512 }],
        ['v', { vllm_max_model_len: 300 }],
      ] as const) {
        expect([body, ...said(await app.load(model, body))]).toEqual([body, 400, 'invalid_load_request']);
      }
    },
  ],
  [
    91,
    '409 for states that clash',
    async (app, expect) => {
      await app.while('loading', async (model) => expect((await app.unload(model)).status).toBe(409));
      await app.while('unloading', async (model) => expect((await app.load(model)).status).toBe(409));
    },
  ],
  [
    92,
    'errors with code and details',
    async (app, expect) => {
      const { json } = await app.load('g', { gguf_n_ctx: 'x', replicas: 0 });
      expect(json).toEqual({
        error: {
          code: 'unfit_body',
          message: expect.stringContaining('gguf_n_ctx'),
          type: 'invalid_request_error',
          param: expect.any(String),
          details: expect.arrayContaining([
            { loc: ['body', 'gguf_n_ctx'], msg: expect.any(String), type: expect.any(String) },
            { loc: ['body', 'replicas'], msg: expect.any(String), type: expect.any(String) },
          ]),
        },
      });
    },
  ],
  [
    93,
    'the answer is a full row',
    async (app, expect) => {
      const { json } = await app.load('a');
      expect(Object.keys(ModelRow.parse(json))).toEqual(Object.keys(await app.row('a')));
    },
  ],
  [
    94,
    'a load starts the engine, with what the definition says',
    async (app, expect) => {
      await app.unload('v', '?cancel=true');
      expect(await app.commandLine('v')).toMatch(/ serve org\/weights .*--max-model-len 4096/);
      await app.unload('v', '?cancel=true');
    },
  ],
  [
    95,
    'overrides beat extra arguments, which are not there twice',
    async (app, expect) => {
      const line = await app.commandLine('v', { vllm_max_model_len: 512 });
      expect(line).toContain('--max-model-len 512');
      expect(line.split('--max-model-len')).toHaveLength(2);
      await app.unload('v', '?cancel=true');
    },
  ],
  [
    96,
    'what vLLM is told',
    async (app, expect) => {
      const body = {
        vllm_kv_cache_memory_bytes: 268_435_456,
        vllm_max_pixels: 200_704,
        vllm_speculative_method: 'mtp',
        vllm_speculative_model: 'org/draft',
        vllm_num_speculative_tokens: 2,
      };
      const line = await app.commandLine('v', body);
      expect(line).toContain('--kv-cache-memory-bytes 268435456');
      for (const part of [
        '"max_pixels":200704',
        '"method":"mtp"',
        '"model":"org/draft"',
        '"num_speculative_tokens":2',
      ]) {
        expect(line.replaceAll('\\', '')).toContain(part);
      }
      await app.unload('v', '?cancel=true');
    },
  ],
  [
    97,
    'who is in the way is drained',
    async (app, expect) => {
      await app.is('long', 'loaded');
      const stream = await app.stream();
      await app.load('org/x', {}, '?wait=false');
      await app.rowWhen('long', 'drained', ({ runtime_state: now }) => now === 'unloading');
      expect(stream.over).toBe(false);
      stream.leave();
      await app.rowWhen('org/x', 'loaded', ({ is_loaded }) => is_loaded);
      expect((await app.row('long')).is_loaded).toBe(false);

      const unasked = await app.load('a', {}, '?evict=false');
      expect([...said(unasked), unasked.json.error?.message]).toEqual([
        409,
        'gpu_busy',
        expect.stringContaining('org/x'),
      ]);
      expect((await app.row('org/x')).is_loaded).toBe(true);
      await app.is('org/x', 'unloaded');
      expect((await app.load('a', {}, '?evict=false')).json).toMatchObject({ runtime_state: 'loaded' });
    },
  ],
  [
    98,
    'it queues behind a swap under way',
    async (app, expect) => {
      await app.is('org/x', 'unloaded');
      const [first, second] = await Promise.all([app.load('org/x'), app.load('a')]);
      expect([first.status, second.status]).toEqual([200, 200]);
      expect((await app.row('a')).is_loaded).toBe(true);
    },
  ],
];
