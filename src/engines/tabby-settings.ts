import type { Exllamav3Model } from '../config/schema.ts';
import type { LoadOverride } from '../ports/load-override.ts';
import { overridden, withoutFlags } from './overrides.ts';

/** What TabbyAPI is asked to load, in the words of its load call. */
export type LoadAsk = Readonly<Record<string, unknown>> & { readonly model_name: string };

/** Folder and name: TabbyAPI looks for models by name in one folder. */
export function placeOf(modelPath: string): { readonly folder: string; readonly name: string } {
  const path = modelPath.replace(/\/+$/, '');
  const cut = path.lastIndexOf('/');
  return { folder: path.slice(0, cut) || '/', name: path.slice(cut + 1) };
}

/** What keys and overrides say of the load. */
export function loadAsk(config: Exllamav3Model, override: LoadOverride): LoadAsk {
  const settings = overridden(config, override);
  const said = {
    cache_size: settings.exllama_cache_size,
    cache_mode: cacheMode(settings.exllama_cache_quant, override),
    max_seq_len: settings.exllama_max_rq_tokens,
  };
  const own = Object.entries(said).filter(([, value]) => value !== undefined);
  const users = unheard(argsLeft(config, override));
  return { ...users, ...Object.fromEntries(own), model_name: placeOf(config.model_path).name };
}

/** Its two ways to be said do not come together. Null is the cache as it is without quantisation. */
function cacheMode(quant: string | undefined, override: LoadOverride): string | undefined {
  if ('exllama_cache_k_bits' in override) {
    const { exllama_cache_k_bits: k, exllama_cache_v_bits: v } = override;
    return k === null ? PLAIN : `${k},${v}`;
  }
  if (quant !== undefined) return quant.includes(',') ? quant : `${quant},${quant}`;
  return 'exllama_cache_quant' in override ? PLAIN : undefined;
}

const PLAIN = 'FP16';

const DECIDES: Readonly<Record<string, string>> = {
  exllama_cache_size: '--cache-size',
  exllama_max_rq_tokens: '--max-seq-len',
  exllama_cache_quant: '--cache-mode',
  exllama_cache_k_bits: '--cache-mode',
};

/** The user's own arguments, without those that this load decides. */
export function argsLeft({ extra_args: extra }: Exllamav3Model, override: LoadOverride): readonly string[] {
  const flags = Object.keys(override).flatMap((key) => DECIDES[key] ?? []);
  return withoutFlags(extra, new Set(flags));
}

/**
 * A load by call takes what it does not name from the settings that are listed as its defaults, so all that the user has set
 * is listed. What is a setting of something else is told to be none and does no harm.
 */
export function defaultsListed(args: readonly string[]): readonly string[] {
  const own = args.flatMap((word, at) => (word === '--use-as-default' ? valuesAfter(args, at) : []));
  const set = args.flatMap((word) => (word.startsWith('--') ? [fieldOf(word)] : []));
  return [...new Set([...own, ...set])].filter((field) => field !== 'use_as_default');
}

const fieldOf = (flag: string): string => (flag.slice(2).split('=', 1)[0] ?? '').replaceAll('-', '_');

/** Three settings have a default in the call itself, which beats what is listed; so the call repeats the user's. */
function unheard(args: readonly string[]): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [at, word] of args.entries()) {
    if (!word.startsWith('--')) continue;
    const given = word.includes('=') ? [word.slice(word.indexOf('=') + 1)] : valuesAfter(args, at);
    const [first] = given;
    if (first === undefined) continue;
    const field = fieldOf(word);
    if (field === 'gpu_split') found[field] = given.map(Number);
    if (field === 'tensor_parallel_backend') found[field] = first;
    if (field === 'output_chunking') found[field] = !/^(false|0|no|off)$/i.test(first);
  }
  return found;
}

function valuesAfter(args: readonly string[], at: number): readonly string[] {
  const rest = args.slice(at + 1);
  const end = rest.findIndex((word) => word.startsWith('--'));
  return end < 0 ? rest : rest.slice(0, end);
}
