import { CONSTRAINTS } from '../../../../src/api/admin/constraints/tables.ts';
import { said, type Row } from './real-app.ts';

const GGML = ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'];

/** What a load may change, and how that is shown. */
export const CHANGES: readonly Row[] = [
  [
    61,
    'a field that is absent is not supported',
    async (app, expect) => {
      for (const [model, field] of [
        ['l', 'gguf_n_ctx'],
        ['v', 'llama_server_n_ctx'],
        ['r', 'gguf_n_ctx'],
      ] as const) {
        expect((await app.row(model)).load_constraints).not.toHaveProperty(field);
        expect(said(await app.load(model, { [field]: 512 }))).toEqual([400, 'invalid_load_request']);
      }
    },
  ],
  [
    62,
    'kinds and what belongs to each',
    async (app, expect) => {
      const kinds: Record<string, readonly string[]> = {
        integer: ['minimum', 'step'],
        enum: ['allowed_values', 'default', 'examples'],
        string_or_null: ['format'],
        integer_or_null: ['null_means', 'minimum', 'maximum'],
        float: ['minimum', 'maximum', 'default'],
      };
      for (const { load_constraints: shown } of (await app.list()).models) {
        for (const one of Object.values(shown))
          for (const key of kinds[one.kind] ?? ['?']) expect(one).toHaveProperty(key);
      }
    },
  ],
  [
    63,
    'defaults are for showing: a plain load passes only what definition or override set',
    async (app, expect) => {
      await app.unload('v', '?cancel=true');
      const line = await app.commandLine('v');
      expect(line).toContain('--max-model-len 4096');
      expect(line).not.toContain('--kv-cache-dtype');
      await app.unload('v', '?cancel=true');
    },
  ],
  [
    64,
    'constraints come of the backend, whatever the state',
    async (app, expect) => {
      const { load_constraints: before } = await app.row('off');
      await app.is('off', 'loaded');
      expect((await app.row('off')).load_constraints).toEqual(before);
    },
  ],
  [
    65,
    'the answer is what is judged by',
    async (app, expect) => {
      const { load_constraints: shown } = await app.row('l');
      const maximum = shown['llama_server_spec_draft_n_max']?.['maximum'];
      expect(maximum).toBe(6);
      expect(said(await app.load('l', { llama_server_spec_draft_n_max: Number(maximum) + 1 }))).toEqual([
        400,
        'invalid_load_request',
      ]);
    },
  ],
  [
    66,
    'more is taken than is recommended',
    async (app, expect) => {
      const asked = await app.load('g', { gguf_type_k: 'q8_0', gguf_type_v: 'q4_0' }, '?wait=false');
      expect(asked.status).toBe(202);
      await app.unload('g', '?cancel=true');
    },
  ],
  [
    67,
    'a key that is there counts, also when it is null',
    async (app, expect) => {
      await app.held(async () => {
        await app.load('v', { vllm_speculative_method: null }, '?wait=false');
        expect((await app.row('v')).load_override).toEqual({ vllm_speculative_method: null });
        await app.unload('v', '?cancel=true');
      });
    },
  ],
  [
    68,
    'the fields of vLLM',
    async (app, expect) => {
      expect((await app.row('v')).load_constraints).toMatchObject({
        vllm_max_model_len: { kind: 'integer', minimum: 256, step: 256 },
        vllm_kv_cache_memory_bytes: { minimum: 268_435_456, unit: 'bytes', display_unit: 'mib' },
        vllm_num_speculative_tokens: { kind: 'integer', minimum: 1, default: 1 },
      });
    },
  ],
  [
    69,
    'the fields of llama-server',
    async (app, expect) => {
      expect((await app.row('l')).load_constraints).toMatchObject({
        llama_server_n_ctx: { kind: 'integer', minimum: 1 },
        llama_server_spec_type: { kind: 'enum', allowed_values: ['draft-mtp'] },
        llama_server_spec_draft_p_min: { kind: 'float', minimum: 0, maximum: 1, default: 0 },
      });
    },
  ],
  [
    70,
    'the fields of llama_cpp and ExLlamaV3',
    async (app, expect) => {
      expect((await app.row('g')).load_constraints).toMatchObject({
        gguf_flash_attn: { kind: 'enum', default: 'auto' },
        gguf_type_k: { kind: 'string_or_null', default: 'f16', allowed_values: GGML },
      });
      expect(CONSTRAINTS['exllamav3']).toMatchObject({
        exllama_cache_size: { minimum: 256, step: 256 },
        exllama_cache_quant: { format: '<bits>|<k_bits>,<v_bits>' },
      });
    },
  ],
  [
    71,
    'none for ct2, openai_remote and stub',
    async (app, expect) => {
      for (const model of ['c', 'r', 'a']) expect((await app.row(model)).load_constraints).toEqual({});
    },
  ],
];
