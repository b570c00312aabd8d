import type { CacheOf } from '../ports/conversations.ts';
import { readGgufHeader } from './gguf-header.ts';

/** How many bytes one number of the cache takes, by the names that llama-server has for its types. */
const TYPES: Readonly<Record<string, number>> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  q8_0: 34 / 32,
  q5_1: 24 / 32,
  q5_0: 22 / 32,
  q4_1: 20 / 32,
  q4_0: 18 / 32,
  iq4_nl: 18 / 32,
};
/** Each token is written down with its number and its place. */
const BESIDE = 32;

/** What one token takes of a slot that is written to disk, by the file of the model; undefined where that does not tell. */
export async function kvBytesPerToken({ modelFile, typeK, typeV }: CacheOf): Promise<number | undefined> {
  const header = await readGgufHeader(modelFile);
  const family = header?.get('general.architecture');
  const [k, v] = [TYPES[typeK], TYPES[typeV]];
  if (header === undefined || k === undefined || v === undefined) return undefined;
  const number = (key: string): number => Number(header.get(`${String(family)}.${key}`));
  const [layers, heads] = [number('block_count'), number('attention.head_count')];
  const each = number('embedding_length') / heads;
  const width =
    numberOr(number('attention.key_length'), each) * k + numberOr(number('attention.value_length'), each) * v;
  const bytes = headsOf(header.get(`${String(family)}.attention.head_count_kv`) ?? heads, layers) * width + BESIDE;
  return Number.isFinite(bytes) ? Math.ceil(bytes) : undefined;
}

/** Of all layers together; some models say it layer by layer. */
const headsOf = (said: string | number | readonly number[], layers: number): number =>
  typeof said === 'object' ? said.reduce((sum, heads) => sum + heads, 0) : Number(said) * layers;

const numberOr = (value: number, other: number): number => (Number.isNaN(value) ? other : value);
