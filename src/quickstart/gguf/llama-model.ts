import { constantTensor, WEIGHT_TYPES, type Tensor, type WeightType } from './tensors.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { Gguf } from './writer.ts';

/** The sizes of a llama-architecture model. */
export type LlamaShape = {
  readonly embedding: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly feedForward: number;
  readonly context: number;
};

/** A weight matrix to be filled: it takes a vector of `inputs` and gives one of `outputs`. */
type Matrix = {
  readonly name: string;
  readonly shape: readonly [inputs: number, outputs: number];
  readonly type: WeightType;
};

/** Raised when the same arguments come to give other weights, so that files made before are made again. */
const REVISION = 1;

/** Puts a llama-architecture model together; `fill` is asked for each of its weight matrices. */
export function llamaModel({
  name,
  shape,
  type,
  seed = 0,
  tokenizer,
  fill,
}: {
  readonly name: string;
  readonly shape: LlamaShape;
  readonly type: WeightType;
  /** What the weights depend on beside the shape and the vocabulary. */
  readonly seed?: number;
  readonly tokenizer: Tokenizer;
  readonly fill: (matrix: Matrix) => Tensor;
}): Gguf {
  const { embedding, layers } = shape;
  const vocabulary = tokenizer.tokens.length;
  const matrix = (matrixName: string, inputs: number, outputs: number): Tensor =>
    fill({ name: `${matrixName}.weight`, shape: [inputs, outputs], type });
  const norm = (normName: string): Tensor =>
    constantTensor({ name: `${normName}.weight`, shape: [embedding], type: 'f32' }, 1);

  const blocks = Array.from({ length: layers }, (_, layer) => [
    norm(`blk.${layer}.attn_norm`),
    norm(`blk.${layer}.ffn_norm`),
    ...blockMatrices(shape).map(([part, inputs, outputs]) => matrix(`blk.${layer}.${part}`, inputs, outputs)),
  ]);
  return {
    metadata: [
      ['general.architecture', { type: 'string', value: 'llama' }],
      ['general.name', { type: 'string', value: name }],
      ['general.file_type', { type: 'u32', value: WEIGHT_TYPES[type].fileType }],
      ['catnap.revision', { type: 'u32', value: REVISION }],
      ['catnap.seed', { type: 'u32', value: seed }],
      ['llama.vocab_size', { type: 'u32', value: vocabulary }],
      ['llama.context_length', { type: 'u32', value: shape.context }],
      ['llama.embedding_length', { type: 'u32', value: embedding }],
      ['llama.block_count', { type: 'u32', value: layers }],
      ['llama.feed_forward_length', { type: 'u32', value: shape.feedForward }],
      ['llama.attention.head_count', { type: 'u32', value: shape.heads }],
      ['llama.attention.head_count_kv', { type: 'u32', value: shape.kvHeads }],
      ['llama.attention.layer_norm_rms_epsilon', { type: 'f32', value: 1e-5 }],
      ['llama.rope.dimension_count', { type: 'u32', value: embedding / shape.heads }],
      ['llama.rope.freq_base', { type: 'f32', value: 10_000 }],
      ...tokenizer.metadata,
    ],
    tensors: [
      matrix('token_embd', embedding, vocabulary),
      matrix('output', embedding, vocabulary),
      norm('output_norm'),
      ...blocks.flat(),
    ],
  };
}

/** How many weights one layer has. */
export function blockWeights(shape: LlamaShape): number {
  return blockMatrices(shape).reduce((sum, [, inputs, outputs]) => sum + inputs * outputs, 0);
}

function blockMatrices({
  embedding,
  heads,
  kvHeads,
  feedForward,
}: LlamaShape): readonly (readonly [part: string, inputs: number, outputs: number])[] {
  const keys = (embedding / heads) * kvHeads;
  return [
    ['attn_q', embedding, embedding],
    ['attn_k', embedding, keys],
    ['attn_v', embedding, keys],
    ['attn_output', embedding, embedding],
    ['ffn_gate', embedding, feedForward],
    ['ffn_up', embedding, feedForward],
    ['ffn_down', feedForward, embedding],
  ];
}
