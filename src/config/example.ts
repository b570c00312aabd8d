import type { ConfigInput } from './schema.ts';

/** The config people start from: two models that share one GPU. `config.example.json` is this. */
export const EXAMPLE = {
  $schema: './docs/config.schema.json',
  port: 3_000,
  models: {
    'qwen3-8b': {
      backend: 'llama_server',
      model_path: '/models/Qwen3-8B-Q4_K_M.gguf',
      llama_server_n_ctx: 16_384,
      aliases: ['default'],
    },
    'gemma-3-12b': {
      backend: 'llama_server',
      model_path: '/models/gemma-3-12b-it-Q4_K_M.gguf',
      llama_server_n_ctx: 8_192,
      extra_args: ['--flash-attn', 'on'],
    },
  },
  policy: {
    policy_type: 'slack',
    max_wait_secs: 30,
    request_timeout_secs: 60,
    drain_timeout_secs: 600,
  },
} as const satisfies DeeplyReadonly<ConfigInput>;

type DeeplyReadonly<T> = { readonly [K in keyof T]: T[K] extends object | undefined ? DeeplyReadonly<T[K]> : T[K] };
