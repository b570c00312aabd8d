import { z } from 'zod';
import { count, key, path, program } from '../fields.ts';
import { engineKey, everyModel, extraArgs, supervised, swapped } from './shared.ts';

/** A model of ExLlamaV3, served by TabbyAPI. */
export const exllamav3 = z
  .strictObject({
    backend: key(z.literal('exllamav3'), 'ExLlamaV3, by TabbyAPI.'),
    model_path: key(
      path().refine((value) => value.startsWith('/'), 'must be a whole path: TabbyAPI runs in a folder of its own'),
      'The folder of the model.',
      { examples: ['/models/qwen3-14b-exl3-4.0bpw'] },
    ),
    ...extraArgs(['--max-batch-size', '8']),
    exllamav3_command: key(program().optional(), 'TabbyAPI for this model.', { inherits: 'exllamav3_command' }),
    exllama_cache_size: key(
      count(256, 100_000_000).multipleOf(256, 'must be a multiple of 256').optional(),
      'The KV cache in tokens, over all requests (`--cache-size`). A multiple of 256.',
      { examples: [32_768], default_text: "the model's context" },
    ),
    exllama_cache_quant: key(
      z
        .string()
        .regex(/^[2-8](,[2-8])?$/, 'must be like "8" or "8,4": bits from 2 to 8')
        .optional(),
      'The bits of the KV cache: one number for keys and values, or one for each (`--cache-mode`).',
      { examples: ['8,4'], default_text: 'not quantised' },
    ),
    exllama_max_rq_tokens: key(
      count(1, 100_000_000).optional(),
      'How many tokens one request may take, its answer included (`--max-seq-len`).',
      { examples: [32_768], default_text: "the model's context" },
    ),
    ...swapped,
    ...supervised,
    ...engineKey('The key the engine is started with, and is sent.'),
    ...everyModel,
  })
  .meta({ description: 'A model of ExLlamaV3, served by TabbyAPI.' });
