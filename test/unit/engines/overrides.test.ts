import { describe, test } from 'vitest';
import type { ModelInput } from '../../../src/config/schema.ts';
import type { LoadOverride } from '../../../src/ports/load-override.ts';
import type { SpawnSpec } from '../../../src/ports/process.ts';
import { waitFor } from '../../helpers/wait-for.ts';
import { withoutFlags } from '../../../src/engines/overrides.ts';
import { oneEngine, order } from './one-engine.ts';

async function launched(model: ModelInput, override: LoadOverride): Promise<SpawnSpec> {
  const { driver, processes } = oneEngine(model, { override });
  driver.start(order().order).catch(() => {});
  return waitFor('the engine to be started', () => processes.specs[0]);
}

const argvOf = async (model: ModelInput, override: LoadOverride): Promise<readonly string[]> =>
  (await launched(model, override)).argv;

const after = (argv: readonly string[], flag: string): string | undefined => argv[argv.indexOf(flag) + 1];

describe('vLLM', () => {
  const base = { model_path: 'org/m' } as const;

  test('keys of the config and overrides of the load become flags', async ({ expect }) => {
    const argv = await argvOf(
      { ...base, vllm_max_model_len: 4096, vllm_gpu_memory_utilization: 0.1, vllm_mm_processor_kwargs: { fps: 2 } },
      {
        vllm_max_model_len: 16_384,
        vllm_kv_cache_dtype: 'fp8',
        vllm_kv_cache_memory_bytes: 268_435_456,
        vllm_max_pixels: 200_704,
        vllm_speculative_method: 'mtp',
        vllm_speculative_model: 'org/draft',
        vllm_num_speculative_tokens: 1,
      },
    );
    expect(after(argv, '--max-model-len')).toBe('16384');
    expect(after(argv, '--gpu-memory-utilization')).toBe('0.1');
    expect(after(argv, '--kv-cache-dtype')).toBe('fp8');
    expect(after(argv, '--kv-cache-memory-bytes')).toBe('268435456');
    expect(JSON.parse(after(argv, '--mm-processor-kwargs') ?? '')).toEqual({ fps: 2, max_pixels: 200_704 });
    expect(JSON.parse(after(argv, '--speculative-config') ?? '')).toEqual({
      method: 'mtp',
      model: 'org/draft',
      num_speculative_tokens: 1,
    });
  });

  test('an override takes the place of the same flag among the extra arguments, however it is written', async ({
    expect,
  }) => {
    const extra_args = ['--max_model_len=1024', '--max-model-len', '2048', '--seed', '7'];
    const argv = await argvOf({ ...base, extra_args }, { vllm_max_model_len: 512 });
    expect(argv.filter((word) => /max.model.len/.test(word))).toEqual(['--max-model-len']);
    expect(after(argv, '--max-model-len')).toBe('512');
    expect(after(argv, '--seed')).toBe('7');
  });

  test('without an override the extra arguments stay as they are, behind what the keys say', async ({ expect }) => {
    const argv = await argvOf({ ...base, vllm_max_model_len: 512, extra_args: ['--max-model-len', '2048'] }, {});
    expect(argv.slice(-2)).toEqual(['--max-model-len', '2048']);
  });

  test('null takes back what the config says', async ({ expect }) => {
    const model = { ...base, vllm_speculative_method: 'mtp', vllm_max_model_len: 512, vllm_max_pixels: 200_704 };
    const argv = await argvOf(model, {
      vllm_speculative_method: null,
      vllm_max_model_len: null,
      vllm_max_pixels: null,
    });
    expect(argv.join(' ')).not.toMatch(/speculative|max-model-len|mm-processor/);
  });

  test('pixels are laid over what the extra arguments say of the processor', async ({ expect }) => {
    const extra_args = ['--mm-processor-kwargs', '{"fps":2,"max_pixels":9}'];
    const argv = await argvOf({ ...base, extra_args }, { vllm_max_pixels: 200_704 });
    expect(argv.filter((word) => word === '--mm-processor-kwargs')).toHaveLength(1);
    expect(JSON.parse(after(argv, '--mm-processor-kwargs') ?? '')).toEqual({ fps: 2, max_pixels: 200_704 });
  });

  test('parts of a speculative config that are written apart go with it', async ({ expect }) => {
    const extra_args = ['--speculative-config.method', 'ngram', '-sc', '{}'];
    const argv = await argvOf({ ...base, extra_args }, { vllm_speculative_method: null });
    expect(argv.join(' ')).not.toMatch(/speculative|-sc/);
  });
});

describe('llama-server', () => {
  const base = { backend: 'llama_server', model_path: '/m.gguf' } as const;

  test('overrides of the load beat the config and the extra arguments', async ({ expect }) => {
    const model = { ...base, llama_server_n_ctx: 8192, extra_args: ['-c', '1024', '--threads', '1'] };
    const argv = await argvOf(model, {
      llama_server_n_ctx: 4096,
      llama_server_image_max_tokens: 512,
      llama_server_spec_type: 'draft-mtp',
      llama_server_spec_draft_n_max: 4,
      llama_server_spec_draft_p_min: 0.25,
    });
    expect(argv).not.toContain('-c');
    expect(after(argv, '--ctx-size')).toBe('4096');
    expect(after(argv, '--image-max-tokens')).toBe('512');
    expect(after(argv, '--spec-type')).toBe('draft-mtp');
    expect(after(argv, '--spec-draft-n-max')).toBe('4');
    expect(after(argv, '--spec-draft-p-min')).toBe('0.25');
    expect(after(argv, '--threads')).toBe('1');
  });

  test('null takes the flag away, wherever it came from', async ({ expect }) => {
    const model = { ...base, llama_server_n_ctx: 8192, extra_args: ['--ctx-size', '1024'] };
    expect(await argvOf(model, { llama_server_n_ctx: null })).not.toContain('--ctx-size');
  });

  test('a device and libraries become the surroundings of the process', async ({ expect }) => {
    const { env } = await launched({ ...base, device: 'cuda:0,1', library_path: '/libs' }, {});
    expect(env).toMatchObject({ CUDA_VISIBLE_DEVICES: '0,1', LD_LIBRARY_PATH: '/libs' });
  });
});

describe('llama.cpp by its llama-server', () => {
  type LlamaInput = Extract<ModelInput, { backend: 'llama_cpp' }>;
  const base: LlamaInput = { backend: 'llama_cpp', model_path: '/m.gguf' };

  test('every key of the definition becomes the flag it stands for', async ({ expect }) => {
    const settings = { gguf_n_ctx: 4096, gguf_n_gpu_layers: -1, gguf_flash_attn: 'on', gguf_type_k: 'q8_0' } as const;
    const argv = await argvOf({ ...base, ...settings }, {});
    expect(argv.slice(argv.indexOf('--ctx-size'))).toEqual([
      ...['--ctx-size', '4096', '--n-gpu-layers', '9999', '--flash-attn', 'on', '--cache-type-k', 'q8_0'],
    ]);
    expect(argv.slice(0, 2)).toEqual(['llama-server', '--host']);
  });

  test('overrides of the load beat the config and the extra arguments in every spelling', async ({ expect }) => {
    const extra_args = ['-c', '1', '-fa', 'off', '-ctk', 'f32', '--cache-type-v=f32', '--threads', '1'];
    const argv = await argvOf(
      { ...base, gguf_n_ctx: 8192, extra_args },
      { gguf_n_ctx: 32_768, gguf_flash_attn: 'auto', gguf_type_k: 'q8_0', gguf_type_v: 'q4_0' },
    );
    expect(argv.slice(argv.indexOf('--ctx-size'))).toEqual([
      ...['--ctx-size', '32768', '--flash-attn', 'auto', '--cache-type-k', 'q8_0', '--cache-type-v', 'q4_0'],
      ...['--threads', '1'],
    ]);
  });

  test('null is the default of the server again, whoever had said something', async ({ expect }) => {
    const model: LlamaInput = { ...base, gguf_type_k: 'q8_0', extra_args: ['--cache-type-v', 'q4_0'] };
    const argv = await argvOf(model, { gguf_type_k: null, gguf_type_v: null });
    expect(argv.join(' ')).not.toMatch(/cache-type/);
  });
});

test.for([
  [['--a', '1', '--b', '2'], ['--a'], ['--b', '2']],
  [['--a=1', '--b', '2'], ['--a'], ['--b', '2']],
  [['--a_b', '1'], ['--a-b'], []],
  [['--a.c', '1', '--aa', '2'], ['--a'], ['--aa', '2']],
  [['-c', '1', '--c', '2'], ['-c'], ['--c', '2']],
  [['x', '--a'], ['--a'], ['x']],
  [[], ['--a'], []],
] as const)('%j without %j is %j', ([args, flags, left], { expect }) => {
  expect(withoutFlags(args, new Set(flags))).toEqual(left);
});
