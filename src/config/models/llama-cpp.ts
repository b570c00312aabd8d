import { z } from 'zod';
import { count, key, path } from '../fields.ts';
import { llamaMemory, llamaProgram } from './llama.ts';
import { engineKey, everyModel, extraArgs, supervised, swapped } from './shared.ts';

const cacheType = (part: string, flag: string) =>
  key(
    z.enum(['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1']).optional(),
    `The type of the ${part} in the KV cache (\`${flag}\`).`,
    { examples: ['q8_0'], default_text: '`f16`' },
  );

/** A GGUF model served by llama-server, under the names that in-process users of llama.cpp know. */
export const llamaCpp = z
  .strictObject({
    backend: key(z.literal('llama_cpp'), 'llama.cpp, by its llama-server, with the `gguf_` names of its settings.'),
    model_path: key(path(), 'A GGUF file.', { examples: ['/models/gemma-4-e2b-it-q8_0.gguf'] }),
    ...extraArgs(['--parallel', '2']),
    ...llamaProgram,
    gguf_n_ctx: key(count(1, 100_000_000).optional(), 'Context in tokens, over all slots (`--ctx-size`).', {
      examples: [4_096],
      default_text: "the model's own",
    }),
    gguf_n_gpu_layers: key(count(-1, 10_000).optional(), 'How many layers go to the GPU (`--gpu-layers`). -1: all.', {
      examples: [-1],
      default_text: "llama-server's own choice",
    }),
    gguf_flash_attn: key(z.enum(['on', 'off', 'auto']).optional(), 'Flash attention (`--flash-attn`).', {
      default_text: '`auto`',
    }),
    gguf_type_k: cacheType('keys', '--cache-type-k'),
    gguf_type_v: cacheType('values', '--cache-type-v'),
    ...llamaMemory,
    ...swapped,
    ...supervised,
    ...engineKey('The key the engine is started with, and is sent.'),
    ...everyModel,
  })
  .meta({ description: 'A GGUF model served by llama-server, with the `gguf_` names.' });
