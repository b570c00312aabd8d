import { z } from 'zod';
import { count, key, path, program, text } from '../fields.ts';
import { engineKey, everyModel, extraArgs, supervised, swapped } from './shared.ts';

/** A model served by SGLang. */
export const sglang = z
  .strictObject({
    backend: key(z.literal('sglang'), 'SGLang.'),
    model_path: key(path(), 'A Hugging Face model id, or a folder.', { examples: ['Qwen/Qwen3-14B'] }),
    ...extraArgs(['--tp-size', '2']),
    sglang_command: key(program().optional(), 'The SGLang server for this model.', { inherits: 'sglang_command' }),
    warmup: key(
      z.boolean().default(false),
      'Whether it is put to level 1 and woken once when it has started: the first time is slow, since host memory is taken then.',
    ),
    sglang_context_length: key(count(1, 100_000_000).optional(), 'Context in tokens (`--context-length`).', {
      examples: [16_384],
      default_text: "the model's own",
    }),
    sglang_mem_fraction_static: key(
      z.number().gt(0).max(1).optional(),
      'The part of the GPU memory that weights and KV cache may take (`--mem-fraction-static`).',
      { examples: [0.7], default_text: "SGLang's own" },
    ),
    sglang_kv_cache_dtype: key(text().optional(), 'The type of the KV cache (`--kv-cache-dtype`).', {
      examples: ['fp8_e5m2'],
      default_text: '`auto`',
    }),
    ...swapped,
    ...supervised,
    ...engineKey('The key the engine is started with, and is sent.'),
    ...everyModel,
  })
  .meta({ description: 'A model served by SGLang.' });
