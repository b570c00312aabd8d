import { valueOf } from '../core/flags.ts';
import type { VllmServeModel } from '../config/schema.ts';
import type { LoadOverride } from '../ports/load-override.ts';
import { overridden, withoutFlags } from './overrides.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The arguments that the keys of a vLLM model stand for, and the user's own behind them, since vLLM believes the last one.
 * What this load overrides is nobody else's: the user's own of the same name are taken out.
 */
export function vllmArgs(config: VllmServeModel, override: LoadOverride): readonly string[] {
  const settings = overridden(config, override);
  const { extra_args: extra } = config;
  const flags: readonly Flag[] = [
    plain('--max-model-len', 'vllm_max_model_len', settings.vllm_max_model_len),
    plain('--gpu-memory-utilization', 'vllm_gpu_memory_utilization', settings.vllm_gpu_memory_utilization),
    plain('--kv-cache-dtype', 'vllm_kv_cache_dtype', settings.vllm_kv_cache_dtype),
    plain('--kv-cache-memory-bytes', 'vllm_kv_cache_memory_bytes', settings.vllm_kv_cache_memory_bytes),
    {
      name: '--mm-processor-kwargs',
      keys: ['vllm_max_pixels'],
      value: jsonOf(processorKwargs(settings, override, extra)),
    },
    {
      name: '--speculative-config',
      short: '-sc',
      keys: SPECULATIVE,
      value: jsonOf(speculative(settings, override, extra)),
    },
  ];
  const taken = new Set(
    flags.filter(({ keys }) => keys.some((key) => key in override)).flatMap(({ name, short }) => [name, short ?? name]),
  );
  const own = flags.flatMap(({ name, value }) => (value === undefined ? [] : [name, value]));
  return [...own, ...withoutFlags(extra, taken)];
}

type Flag = {
  readonly name: string;
  readonly short?: string;
  /** The fields of a load that decide it. */
  readonly keys: readonly string[];
  readonly value: string | undefined;
};

const plain = (name: string, key: string, value: string | number | undefined): Flag => ({
  name,
  keys: [key],
  value: value === undefined ? undefined : String(value),
});

/** The user's own JSON stays the ground on which a load's number of pixels is laid. */
function processorKwargs(settings: VllmServeModel, override: LoadOverride, extra: readonly string[]): Fields {
  const written =
    'vllm_max_pixels' in override ? parsed(valueOf(extra, ['--mm-processor-kwargs', '--mm_processor_kwargs'])) : {};
  const { max_pixels: before, ...rest } = { ...settings.vllm_mm_processor_kwargs, ...written };
  const pixels = settings.vllm_max_pixels ?? ('vllm_max_pixels' in override ? undefined : before);
  return pixels === undefined ? rest : { ...rest, max_pixels: pixels };
}

const SPECULATIVE = ['vllm_speculative_method', 'vllm_speculative_model', 'vllm_num_speculative_tokens'];

/** Without a method nothing is guessed for this load, whatever the model and the number are. */
function speculative(settings: VllmServeModel, override: LoadOverride, extra: readonly string[]): Fields {
  if (override['vllm_speculative_method'] === null) return {};
  const asked = SPECULATIVE.some((key) => key in override);
  const written = asked ? parsed(valueOf(extra, ['--speculative-config', '--speculative_config', '-sc'])) : {};
  const own = {
    method: settings.vllm_speculative_method,
    model: settings.vllm_speculative_model,
    num_speculative_tokens: settings.vllm_num_speculative_tokens,
  };
  return { ...written, ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)) };
}

const jsonOf = (fields: Fields): string | undefined =>
  Object.keys(fields).length === 0 ? undefined : JSON.stringify(fields);

/** What the user has written, if it is a JSON object; vLLM will say what is wrong with anything else. */
function parsed(text: string | undefined): Fields {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Scales come with weights of compressed-tensors, and are used where the cache is of 8 bits. */
export function hasKvScales(names: readonly string[], args: readonly string[]): boolean {
  if (names.some((name) => /fp8[-_]?kv\b/i.test(name))) return true;
  const cache = valueOf(args, ['--kv-cache-dtype', '--kv_cache_dtype']) ?? '';
  return cache.startsWith('fp8') && valueOf(args, ['--quantization', '-q']) === 'compressed-tensors';
}
