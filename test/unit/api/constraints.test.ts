import { test } from 'vitest';
import { CONSTRAINTS, RECOMMENDATIONS } from '../../../src/api/admin/constraints/tables.ts';

/** As pages of operators know them, to the letter. */
const ggml = {
  kind: 'string_or_null',
  format: 'ggml_type_name',
  default: 'f16',
  allowed_values: ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'],
  examples: ['f16', 'q8_0', 'q4_0'],
};
const bits = {
  kind: 'integer_or_null',
  minimum: 2,
  maximum: 8,
  default: null,
  null_means: 'fp16',
  allowed_values: [2, 3, 4, 5, 6, 7, 8],
};
const vllm = {
  vllm_max_model_len: { kind: 'integer', minimum: 256, step: 256 },
  vllm_kv_cache_dtype: {
    kind: 'enum',
    default: 'auto',
    allowed_values: ['auto', 'fp8', 'fp8_e4m3', 'fp8_e5m2'],
    examples: ['auto', 'fp8'],
  },
  vllm_kv_cache_memory_bytes: {
    kind: 'integer',
    minimum: 268435456,
    step: 268435456,
    unit: 'bytes',
    display_unit: 'mib',
  },
  vllm_max_pixels: { kind: 'integer', minimum: 200704, step: 200704, unit: 'pixels' },
  vllm_speculative_method: {
    kind: 'string_or_null',
    format: 'vllm_speculative_method',
    default: null,
    examples: ['mtp', 'draft_model', 'mlp_speculator'],
  },
  vllm_speculative_model: {
    kind: 'string_or_null',
    format: 'hf_id_or_local_path',
    default: null,
    examples: ['google/gemma-4-26B-A4B-it-assistant'],
  },
  vllm_num_speculative_tokens: { kind: 'integer', minimum: 1, step: 1, default: 1 },
};

test.for([
  ['vllm', vllm],
  ['vllm_serve', vllm],
  [
    'llama_server',
    {
      llama_server_n_ctx: { kind: 'integer', minimum: 1, step: 1 },
      llama_server_image_max_tokens: { kind: 'integer', minimum: 1, step: 1 },
      llama_server_spec_type: {
        kind: 'enum',
        default: 'draft-mtp',
        allowed_values: ['draft-mtp'],
        examples: ['draft-mtp'],
      },
      llama_server_spec_draft_n_max: { kind: 'integer', minimum: 1, maximum: 6, step: 1, default: 2 },
      llama_server_spec_draft_p_min: { kind: 'float', minimum: 0, maximum: 1, default: 0 },
    },
  ],
  [
    'llama_cpp',
    {
      gguf_n_ctx: { kind: 'integer', minimum: 1, step: 1 },
      gguf_flash_attn: {
        kind: 'enum',
        default: 'auto',
        allowed_values: ['on', 'off', 'auto'],
        examples: ['auto', 'on', 'off'],
      },
      gguf_type_k: ggml,
      gguf_type_v: ggml,
    },
  ],
  [
    'exllamav3',
    {
      exllama_cache_size: { kind: 'integer', minimum: 256, step: 256 },
      exllama_max_rq_tokens: { kind: 'integer', minimum: 1, step: 1 },
      exllama_cache_k_bits: bits,
      exllama_cache_v_bits: bits,
      exllama_cache_quant: { kind: 'string_or_null', format: '<bits>|<k_bits>,<v_bits>' },
    },
  ],
  ['ct2', {}],
  ['openai_remote', {}],
  ['stub', {}],
] as const)('what a load may change for %s', ([backend, told], { expect }) => {
  expect(JSON.stringify(CONSTRAINTS[backend])).toBe(JSON.stringify(told));
});

test('which values go well together', ({ expect }) => {
  expect(JSON.stringify(RECOMMENDATIONS)).toBe(
    JSON.stringify({
      llama_cpp: {
        gguf_cache_type_pairs: {
          kind: 'pair_presets',
          fields: ['gguf_type_k', 'gguf_type_v'],
          recommended_pairs: [
            { label: 'f16/f16', gguf_type_k: 'f16', gguf_type_v: 'f16' },
            { label: 'q8_0/q8_0', gguf_type_k: 'q8_0', gguf_type_v: 'q8_0' },
            { label: 'q4_0/q4_0', gguf_type_k: 'q4_0', gguf_type_v: 'q4_0' },
          ],
          notes: [
            'Service-curated presets for GGUF cache types.',
            'Prefer symmetric GGUF K/V pairs by default; asymmetric pairs may reduce or disable GPU offload in upstream llama.cpp.',
          ],
        },
      },
      exllamav3: {
        exllama_cache_bit_pairs: {
          kind: 'pair_presets',
          fields: ['exllama_cache_k_bits', 'exllama_cache_v_bits'],
          recommended_pairs: [
            { label: 'fp16', exllama_cache_k_bits: null, exllama_cache_v_bits: null },
            { label: '8/8', exllama_cache_k_bits: 8, exllama_cache_v_bits: 8 },
            { label: '8/4', exllama_cache_k_bits: 8, exllama_cache_v_bits: 4 },
          ],
        },
      },
    }),
  );
});
