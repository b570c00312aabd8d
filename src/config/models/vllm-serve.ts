import { z } from 'zod';
import { count, key, path, program, text } from '../fields.ts';
import { engineKey, everyModel, extraArgs, supervised, swapped } from './shared.ts';

/** A model served by `vllm serve`. It is what a model is that names no backend. */
export const vllmServe = z
  .strictObject({
    backend: key(
      z
        .enum(['vllm_serve', 'vllm'])
        .optional()
        .transform(() => 'vllm_serve' as const),
      'vLLM. `vllm` is the same.',
      { default_text: '`"vllm_serve"`' },
    ),
    model_path: key(path(), 'A Hugging Face model id, or a folder.', { examples: ['Qwen/Qwen3-14B'] }),
    ...extraArgs(['--gpu-memory-utilization', '0.9']),
    vllm_command: key(program().optional(), 'The vLLM program for this model.', { inherits: 'vllm_command' }),
    warmup: key(
      z.boolean().default(false),
      'Whether it is put to level 1 and woken once when it has started: the first time is slow, since host memory is taken then.',
    ),
    vllm_max_model_len: key(count(1, 100_000_000).optional(), 'Context in tokens (`--max-model-len`).', {
      examples: [16_384],
      default_text: "the model's own",
    }),
    vllm_gpu_memory_utilization: key(
      z.number().gt(0).max(1).optional(),
      'The part of the GPU memory it may take (`--gpu-memory-utilization`).',
      { examples: [0.5], default_text: "vLLM's own" },
    ),
    vllm_kv_cache_dtype: key(text().optional(), 'The type of the KV cache (`--kv-cache-dtype`).', {
      examples: ['fp8'],
      default_text: '`auto`',
    }),
    vllm_kv_cache_memory_bytes: key(
      count(1, Number.MAX_SAFE_INTEGER).optional(),
      'The size of the KV cache (`--kv-cache-memory-bytes`), in place of what `vllm_gpu_memory_utilization` leaves for it.',
      { examples: [2_147_483_648], default_text: 'what is left' },
    ),
    vllm_max_pixels: key(
      count(1, 1_000_000_000).optional(),
      'How many pixels of an image it looks at: `max_pixels` of `vllm_mm_processor_kwargs`.',
      { examples: [4_014_080], default_text: "the model's own" },
    ),
    vllm_mm_processor_kwargs: key(
      z.record(text(), z.unknown()).optional(),
      'What the processor of images and sounds is given (`--mm-processor-kwargs`).',
      { examples: [{ max_pixels: 4_014_080 }] },
    ),
    vllm_speculative_method: key(text().optional(), 'How tokens are guessed ahead (`--speculative-config`).', {
      examples: ['mtp'],
      default_text: 'none',
    }),
    vllm_speculative_model: key(text().optional(), 'The model that guesses: its id, or a folder.', {
      examples: ['google/gemma-4-26B-A4B-it-assistant'],
    }),
    vllm_num_speculative_tokens: key(count(1, 1_000).optional(), 'How many tokens are guessed at a time.', {
      examples: [1],
      default_text: "vLLM's own",
    }),
    ...swapped,
    ...supervised,
    ...engineKey('The key the engine is started with, and is sent.'),
    ...everyModel,
  })
  .meta({ description: 'A model served by `vllm serve`.' });
