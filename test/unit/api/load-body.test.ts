import { describe, test } from 'vitest';
import { unfit } from '../../../src/api/admin/constraints/judge.ts';
import { readLoadBody } from '../../../src/api/admin/constraints/schema.ts';

/** What becomes of a load's body for a model of this backend: 200, 400 or 422, as far as the body decides it. */
function statusOf(backend: string, body: unknown): number {
  const read = readLoadBody(typeof body === 'string' ? body : JSON.stringify(body));
  if (read.kind === 'bad') return 422;
  return unfit(backend, read.body.override).length === 0 ? 200 : 400;
}

describe('a load body that is fit', () => {
  test.for([
    ['stub', ''],
    ['stub', '  \n'],
    ['stub', {}],
    ['stub', { replicas: 3 }],
    ['llama_cpp', { gguf_n_ctx: 8192 }],
    ['llama_cpp', { gguf_n_ctx: 16384 }],
    ['llama_cpp', { gguf_n_ctx: 32768 }],
    ['llama_cpp', { gguf_n_ctx: 32768, gguf_flash_attn: 'auto', gguf_type_k: 'q8_0', gguf_type_v: 'q4_0' }],
    ['exllamav3', { exllama_cache_size: 32768, exllama_cache_quant: null, exllama_max_rq_tokens: 32768 }],
    ['exllamav3', { exllama_cache_size: 32768, exllama_cache_quant: '8,8', exllama_max_rq_tokens: 32768 }],
    ['exllamav3', { exllama_cache_size: 32768, exllama_cache_quant: '8,4', exllama_max_rq_tokens: 32768 }],
    ['exllamav3', { exllama_cache_quant: '8' }],
    [
      'exllamav3',
      { exllama_cache_size: 32768, exllama_cache_k_bits: 8, exllama_cache_v_bits: 4, exllama_max_rq_tokens: 32768 },
    ],
    ['exllamav3', { exllama_cache_k_bits: null, exllama_cache_v_bits: null }],
    [
      'vllm_serve',
      {
        vllm_max_model_len: 16384,
        vllm_kv_cache_dtype: 'fp8',
        vllm_kv_cache_memory_bytes: 2147483648,
        vllm_max_pixels: 4014080,
        vllm_speculative_method: 'mtp',
        vllm_speculative_model: 'google/gemma-4-26B-A4B-it-assistant',
        vllm_num_speculative_tokens: 1,
      },
    ],
    ['vllm', { vllm_kv_cache_dtype: 'fp8_inc' }],
    ['vllm_serve', { vllm_speculative_method: null }],
    [
      'llama_server',
      {
        llama_server_n_ctx: 4096,
        llama_server_image_max_tokens: 512,
        llama_server_spec_type: 'draft-mtp',
        llama_server_spec_draft_n_max: 4,
        llama_server_spec_draft_p_min: 0.25,
      },
    ],
    ['llama_server', { llama_server_spec_type: null, llama_server_spec_draft_p_min: 0 }],
    ['llama_server', { llama_server_spec_draft_p_min: 1, llama_server_spec_draft_n_max: 6 }],
  ] as const)('%s: %j', ([backend, body], { expect }) => {
    expect(statusOf(backend, body)).toBe(200);
  });
});

describe('a load body that cannot be read is 422', () => {
  test.for([
    ['llama_cpp', { gguf_n_ctx: 0 }],
    ['exllamav3', { exllama_cache_size: 0 }],
    ['exllamav3', { exllama_max_rq_tokens: 0 }],
    ['llama_server', { llama_server_n_ctx: -1 }],
    ['llama_server', { llama_server_n_ctx: 1.5 }],
    ['llama_server', { llama_server_n_ctx: '4096' }],
    ['llama_server', { llama_server_n_ctx: true }],
    ['llama_server', { llama_server_n_ctx: 1e300 }],
    ['llama_server', { llama_server_spec_draft_p_min: -0.5 }],
    ['llama_server', { llama_server_spec_type: 7 }],
    ['vllm_serve', { vllm_speculative_model: '' }],
    ['stub', { replicas: 0 }],
    ['stub', { replicas: -1 }],
    ['stub', { replicas: 1.5 }],
    ['stub', { replicas: '2' }],
    ['stub', { no_such_field: 1 }],
    ['stub', '[]'],
    ['stub', 'null'],
    ['stub', '7'],
    ['stub', '{'],
    ['stub', '{} {}'],
    ['stub', '{"replicas": 1} x'],
  ] as const)('%s: %j', ([backend, body], { expect }) => {
    expect(statusOf(backend, body)).toBe(422);
  });

  test('it says what is wrong with each field, and where', ({ expect }) => {
    expect(readLoadBody('{"replicas": 0, "gguf_n_ctx": "x", "gguf_nctx": 1}')).toEqual({
      kind: 'bad',
      details: [
        { loc: ['body', 'replicas'], msg: 'must be 1 or more', type: 'greater_than_equal' },
        { loc: ['body', 'gguf_n_ctx'], msg: 'must be a whole number', type: 'int_type' },
        { loc: ['body', 'gguf_nctx'], msg: 'there is no such field', type: 'extra_forbidden' },
      ],
    });
  });
});

describe('a load body that does not fit is 400', () => {
  test.for([
    ['llama_cpp', { gguf_type_k: 'q8-0' }, 'gguf_type_k must be f32, f16'],
    ['llama_cpp', { gguf_type_k: 'foo' }, 'gguf_type_k must be f32, f16'],
    ['llama_cpp', { gguf_flash_attn: 'maybe' }, 'gguf_flash_attn must be on, off or auto, not "maybe"'],
    ['exllamav3', { exllama_cache_k_bits: 8 }, 'go together'],
    ['exllamav3', { exllama_cache_k_bits: 8, exllama_cache_v_bits: null }, 'must both be null'],
    ['exllamav3', { exllama_cache_k_bits: 8, exllama_cache_v_bits: 9 }, 'must be from 2 to 8, not 9'],
    ['exllamav3', { exllama_cache_quant: '8', exllama_cache_k_bits: 8, exllama_cache_v_bits: 8 }, 'cannot be combined'],
    ['exllamav3', { exllama_cache_size: 8000 }, 'exllama_cache_size must be 256 and any number of steps of 256'],
    ['exllamav3', { exllama_cache_quant: 'fp16' }, 'must be like "8" or "8,4"'],
    ['llama_server', { llama_server_spec_type: 'medusa' }, 'llama_server_spec_type must be draft-mtp, not "medusa"'],
    ['llama_server', { llama_server_spec_draft_n_max: 7 }, 'must be from 1 to 6, not 7'],
    ['llama_server', { llama_server_spec_draft_p_min: 1.5 }, 'must be from 0 to 1, not 1.5'],
    ['llama_cpp', { exllama_cache_size: 512 }, 'exllama_cache_size does not fit a model of llama_cpp'],
    ['vllm_serve', { llama_server_n_ctx: 4096 }, 'llama_server_n_ctx does not fit a model of vllm_serve'],
    ['vllm_serve', { vllm_max_model_len: 255 }, 'must be 256 or more'],
    ['vllm_serve', { vllm_kv_cache_memory_bytes: 268435457 }, 'any number of steps of 268435456'],
    ['vllm_serve', { vllm_kv_cache_dtype: 'fp8; rm' }, 'vllm_kv_cache_dtype must be'],
    ['stub', { vllm_max_model_len: 256 }, 'takes no overrides'],
    ['openai_remote', { gguf_n_ctx: null }, 'takes no overrides'],
    ['command', { gguf_n_ctx: 5 }, 'takes no overrides'],
  ] as const)('%s: %j', ([backend, body, why], { expect }) => {
    expect(statusOf(backend, body)).toBe(400);
    const read = readLoadBody(JSON.stringify(body));
    expect(read.kind === 'read' && unfit(backend, read.body.override).join('; ')).toContain(why);
  });
});
