import type { ModelConfig } from '../../config/schema.ts';
import { masked } from '../../core/masked.ts';

/** Keys that say where a model is and who may use it, and nothing of what it is made of. */
const ELSEWHERE = new Set(['aliases', 'activation', 'capabilities', 'set_params', 'strip_params', 'default_params']);

/** Keys that are null where nobody set them, so that a page can show what there is to set. */
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  vllm_serve: [
    'vllm_max_model_len',
    'vllm_gpu_memory_utilization',
    'vllm_kv_cache_dtype',
    'vllm_kv_cache_memory_bytes',
    'vllm_max_pixels',
    'vllm_mm_processor_kwargs',
    'vllm_speculative_method',
    'vllm_speculative_model',
    'vllm_num_speculative_tokens',
  ],
  llama_cpp: ['gguf_n_ctx', 'gguf_n_gpu_layers', 'gguf_flash_attn', 'gguf_type_k', 'gguf_type_v'],
  sglang: ['sglang_context_length', 'sglang_mem_fraction_static', 'sglang_kv_cache_dtype'],
  exllamav3: ['exllama_cache_size', 'exllama_cache_quant', 'exllama_max_rq_tokens'],
  llama_server: [
    'llama_server_n_ctx',
    'llama_server_parallel',
    'llama_server_n_gpu_layers',
    'llama_server_flash_attn',
    'llama_server_mmproj',
    'llama_server_image_max_tokens',
    'llama_server_reasoning',
    'llama_server_spec_type',
    'llama_server_draft_model_path',
    'llama_server_spec_draft_n_max',
    'llama_server_spec_draft_p_min',
  ],
};

/** What the config says about a model, secrets masked: common keys, and those of its backend. */
export function definitionOf(model: ModelConfig): Record<string, unknown> {
  const common = { model_path: null, backend: model.backend, device: null, prompt_format: null };
  const unset = Object.fromEntries((SHOWN[model.backend] ?? []).map((key) => [key, null]));
  const set: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(model)) {
    if (value === undefined || ELSEWHERE.has(key)) continue;
    set[key] = masked(value, key);
  }
  const address = 'port' in model || 'stop_grace_secs' in model ? { host: '127.0.0.1', port: null } : {};
  return { ...common, ...unset, ...address, ...set };
}
