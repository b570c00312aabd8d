import { Validator } from '@cfworker/json-schema';
import { describe, test } from 'vitest';
import { EXAMPLE } from '../../../src/config/example.ts';
import { configJsonSchema } from '../../../src/config/json-schema.ts';
import type { BACKENDS } from '../../../src/config/models/index.ts';
import { ConfigSchema } from '../../../src/config/schema.ts';
import { goodConfig, warningsOf } from '../../helpers/config.ts';

const validator = new Validator(configJsonSchema(), '2020-12');
const one = (model: unknown, rest: object = {}): unknown => ({ models: { a: model }, ...rest });

const common = {
  enabled: true,
  aliases: ['x'],
  activation: 'explicit',
  served_model_name: 'y',
  target_inflight: 1,
  startup_timeout_secs: 10,
  response_timeout_secs: 1.5,
  stall_timeout_secs: 0,
};
const supervised = { port: 8001, env: { A: '' }, startup_stall_secs: 0, probe_timeout_secs: 1, stop_grace_secs: 0 };

/** A model of each backend with nearly every key it has. */
const full: Record<keyof typeof BACKENDS, object> = {
  vllm_serve: {
    model_path: 'x',
    vllm_command: ['uv', 'run', 'vllm'],
    extra_args: ['-x'],
    sleep_level: 'hybrid',
    ...common,
    ...supervised,
  },
  llama_server: {
    model_path: 'x',
    llama_server_n_ctx: 1,
    llama_server_parallel: 2,
    llama_server_n_gpu_layers: -1,
    ...common,
    ...supervised,
  },
  command: {
    command: 'x ${PORT}',
    stop_command: ['y'],
    cwd: '/',
    readiness_path: 'none',
    ...common,
    ...supervised,
  },
  llama_cpp: {
    model_path: 'x',
    gguf_n_ctx: 1,
    gguf_n_gpu_layers: -1,
    gguf_flash_attn: 'auto',
    gguf_type_k: 'q8_0',
    gguf_type_v: 'q4_0',
    keep_kv: true,
    ...common,
    ...supervised,
  },
  sglang: {
    model_path: 'x',
    sglang_command: ['sglang', 'serve'],
    sglang_context_length: 1,
    sglang_mem_fraction_static: 0.5,
    sglang_kv_cache_dtype: 'auto',
    warmup: true,
    ...common,
    ...supervised,
  },
  exllamav3: {
    model_path: '/x',
    exllamav3_command: ['python', 'main.py'],
    exllama_cache_size: 512,
    exllama_cache_quant: '8,4',
    exllama_max_rq_tokens: 1,
    ...common,
    ...supervised,
  },
  ct2: { command: 'x ${PORT} ${DEVICE}', model_path: 'x', device: 'cuda:0', ...common, ...supervised },
  openai_remote: { url: 'https://x.example', api_key: 'k', ...common },
  stub: {
    text: 'x',
    tokens: 1,
    start_ms: 1,
    sleep_ms: 1,
    wake_ms: 1,
    first_token_ms: 1,
    token_ms: 0.5,
    replicas: 2,
    ...common,
  },
};

const good: unknown[] = [
  EXAMPLE,
  one({ model_path: 'x' }),
  one({ backend: 'vllm', model_path: 'x' }),
  ...Object.entries(full).map(([backend, model]) => one({ backend, ...model })),
  one({ backend: 'stub' }, { policy: {}, restart: {}, checkpoint: {}, vllm_command: 'vllm', $schema: 'x' }),
];

const bad: unknown[] = [
  null,
  [],
  {},
  { models: [] },
  one('x'),
  one({}),
  one({ model_path: '' }),
  one({ backend: 'tgi', model_path: 'x' }),
  one({ backend: 'llama_server' }),
  one({ backend: 'stub', model_path: 'x' }),
  one({ backend: 'stub', start_ms: -1 }),
  one({ backend: 'command', command: 3 }),
  one({ backend: 'command', command: [] }),
  one({ backend: 'command', command: 'x', readiness_path: 'health' }),
  one({ model_path: 'x', sleep_level: 6 }),
  one({ model_path: 'x', port: 0 }),
  one({ model_path: 'x', env: { 'A-B': 'x' } }),
  one({ model_path: 'x', env: { A: 1 } }),
  one({ model_path: 'x', aliases: ['a,b'] }),
  { models: { 'a,b': { model_path: 'x' } } },
  one({ model_path: 'x' }, { prt: 1 }),
  one({ model_path: 'x' }, { port: 1.5 }),
  one({ model_path: 'x' }, { port: '3000' }),
  one({ model_path: 'x' }, { policy: { policy_type: 'cost-aware' } }),
  one({ model_path: 'x' }, { policy: { max_waiting: 0 } }),
  one({ model_path: 'x' }, { restart: { first: 1 } }),
  one({ model_path: 'x' }, { max_body_bytes: 2 ** 50 }),
];

describe('the JSON Schema and the code say the same', () => {
  test.for(good.map((config) => [config] as const))('%j is right', ([config], { expect }) => {
    expect(ConfigSchema.safeParse(config).success).toBe(true);
    expect(validator.validate(config).errors).toEqual([]);
  });

  test.for(bad.map((config) => [config] as const))('%j is wrong', ([config], { expect }) => {
    expect(ConfigSchema.safeParse(config).success).toBe(false);
    expect(validator.validate(config).valid).toBe(false);
  });
});

test('every key has a sentence that says what it is', ({ expect }) => {
  const mute: string[] = [];
  let keys = 0;
  const visit = (schema: unknown, path: string): void => {
    if (typeof schema !== 'object' || schema === null) return;
    if ('properties' in schema && typeof schema.properties === 'object') {
      for (const [name, property] of Object.entries(schema.properties ?? {})) {
        keys += 1;
        const described = typeof property === 'object' && property !== null && 'description' in property;
        if (!described || !String(property.description).endsWith('.')) mute.push(`${path}.${name}`);
      }
    }
    for (const [name, inner] of Object.entries(schema)) visit(inner, `${path}.${name}`);
  };
  visit(configJsonSchema(), '');
  expect(keys).toBeGreaterThan(100);
  expect(mute).toEqual([]);
});

test('the example is a config without a word of warning', ({ expect }) => {
  expect(Object.keys(goodConfig(EXAMPLE).models)).toEqual(['qwen3-8b', 'gemma-3-12b']);
  expect(warningsOf(EXAMPLE)).toEqual([]);
});
