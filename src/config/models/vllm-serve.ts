import { z } from 'zod';
import { key, path, program } from '../fields.ts';
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
    ...swapped,
    ...supervised,
    ...engineKey('The key the engine is started with, and is sent.'),
    ...everyModel,
  })
  .meta({ description: 'A model served by `vllm serve`.' });
