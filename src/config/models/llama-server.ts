import { z } from 'zod';
import { count, key, path } from '../fields.ts';
import { llamaMemory, llamaProgram } from './llama.ts';
import { engineKey, everyModel, extraArgs, supervised, swapped } from './shared.ts';

/** A GGUF model served by llama-server of llama.cpp. */
export const llamaServer = z
  .strictObject({
    backend: key(z.literal('llama_server'), 'llama-server of llama.cpp.'),
    model_path: key(path(), 'A GGUF file.', { examples: ['/models/qwen3-8b-q4_k_m.gguf'] }),
    ...extraArgs(['--flash-attn', 'on']),
    ...llamaProgram,
    llama_server_n_ctx: key(count(1, 100_000_000).optional(), 'Context in tokens, over all slots (`--ctx-size`).', {
      examples: [8192],
      default_text: "the model's own",
    }),
    llama_server_parallel: key(
      count(1, 1_024).optional(),
      'How many requests it works on at a time, each in a slot of its own (`--parallel`).',
      { examples: [4], default_text: '`4`' },
    ),
    llama_server_n_gpu_layers: key(
      count(-1, 10_000).optional(),
      'How many layers go to the GPU (`--gpu-layers`). -1: all.',
      { examples: [-1], default_text: "llama-server's own choice" },
    ),
    ...llamaMemory,
    llama_server_flash_attn: key(z.enum(['on', 'off', 'auto']).optional(), 'Flash attention (`--flash-attn`).', {
      default_text: '`auto`',
    }),
    llama_server_mmproj: key(path().optional(), 'The projector for images and sounds (`--mmproj`).'),
    llama_server_image_max_tokens: key(
      count(1, 1_000_000).optional(),
      'How many tokens an image may take (`--image-max-tokens`).',
      { examples: [512], default_text: "the model's own" },
    ),
    llama_server_reasoning: key(
      z.enum(['on', 'off', 'auto']).optional(),
      'Whether the model thinks before it answers (`--reasoning`).',
      { default_text: '`auto`' },
    ),
    llama_server_spec_type: key(z.enum(['draft-mtp']).optional(), 'How tokens are guessed ahead (`--spec-type`).', {
      default_text: 'none',
    }),
    llama_server_draft_model_path: key(path().optional(), 'The model that guesses (`--spec-draft-model`).'),
    llama_server_spec_draft_n_max: key(
      count(1, 6).optional(),
      'How many tokens are guessed at a time (`--spec-draft-n-max`).',
      { default_text: "llama-server's own" },
    ),
    llama_server_spec_draft_p_min: key(
      z.number().min(0).max(1).optional(),
      'How likely a guess must be (`--spec-draft-p-min`).',
      { default_text: "llama-server's own" },
    ),
    ...swapped,
    ...supervised,
    ...engineKey('The key the engine is started with, and is sent.'),
    ...everyModel,
  })
  .meta({ description: 'A GGUF model served by llama-server.' });
