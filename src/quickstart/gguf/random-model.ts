import { blockWeights, llamaModel, type LlamaShape } from './llama-model.ts';
import { randomRowsTensor, randomTensor, WEIGHT_TYPES, type WeightType } from './tensors.ts';
import { makeTokenizer, TURN_END } from './tokenizer.ts';
import type { Gguf } from './writer.ts';
import { COMMON_WORDS } from './words.ts';

const TINY: LlamaShape = { embedding: 64, layers: 2, heads: 4, kvHeads: 4, feedForward: 128, context: 4096 };
const HEAD_SIZE = 64;
const MOST_MB = 8_000;

/**
 * A model with random weights. It answers with common words whose choice depends on the whole context, so that a lost
 * or foreign KV cache shows; with `targetMb` it is about as large as that file, to make loading and memory felt.
 */
export function randomModel({ seed, targetMb }: { readonly seed: number; readonly targetMb?: number }): Gguf {
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32)
    throw new Error(`seed ${seed} will not do: give a whole number from 0 to 4294967295`);
  const tokenizer = makeTokenizer({ words: COMMON_WORDS });
  const spoken = new Set([TURN_END, ...COMMON_WORDS].map((word) => tokenizer.idOf(word)));
  const type: WeightType = targetMb === undefined ? 'f32' : 'f16';
  const shape = targetMb === undefined ? TINY : shapeFor(targetMb, tokenizer.tokens.length, type);
  const even = 1 / Math.sqrt(shape.embedding);

  return llamaModel({
    name: 'random',
    shape,
    type,
    seed,
    tokenizer,
    fill: (matrix) => {
      const { name } = matrix;
      if (name === 'token_embd.weight') return randomTensor(matrix, 1, seed);
      // Single bytes and unused tokens are never said, so the answer is made of whole words.
      if (name === 'output.weight') return randomRowsTensor(matrix, 3 * even, seed, (row) => spoken.has(row));
      if (/attn_[qk]\./.test(name)) return randomTensor(matrix, 2 * even, seed);
      return randomTensor(matrix, 1 / Math.sqrt(matrix.shape[0]), seed);
    },
  });
}

/** Larger files get wider layers rather than ever more of them, as real models do. */
function shapeFor(targetMb: number, vocabulary: number, type: WeightType): LlamaShape {
  if (!(targetMb > 0 && targetMb <= MOST_MB))
    throw new Error(`cannot make a model of ${targetMb} MB: give a size above 0 and up to ${MOST_MB}`);
  const embedding = targetMb > 1_500 ? 2048 : targetMb > 100 ? 1024 : 512;
  const heads = embedding / HEAD_SIZE;
  const oneLayer = { embedding, layers: 1, heads, kvHeads: heads / 4, feedForward: embedding * 4, context: 4096 };
  const weights = (targetMb * 1e6) / WEIGHT_TYPES[type].bytes - 2 * vocabulary * embedding;
  return { ...oneLayer, layers: Math.max(1, Math.round(weights / blockWeights(oneLayer))) };
}
