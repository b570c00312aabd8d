import { halfBits } from './half.ts';
import { randomStream, spread } from './random.ts';

/** How a weight is stored: the format's number for it, and its size. */
export const WEIGHT_TYPES = {
  f32: { code: 0, fileType: 0, bytes: 4 },
  f16: { code: 1, fileType: 1, bytes: 2 },
} as const;
export type WeightType = keyof typeof WEIGHT_TYPES;

/** One named array of weights. `data` gives its bytes piece by piece, since a big model does not fit in memory twice. */
export type Tensor = {
  readonly name: string;
  /** The fastest-moving dimension first, as the format wants it. */
  readonly shape: readonly number[];
  readonly type: WeightType;
  readonly data: () => Iterable<Buffer>;
};

type TensorHead = Omit<Tensor, 'data'>;

export function tensorBytes({ shape, type }: TensorHead): number {
  return shape.reduce((count, size) => count * size, 1) * WEIGHT_TYPES[type].bytes;
}

/** Every weight the same. */
export function constantTensor(head: TensorHead, value: number): Tensor {
  return repeatedTensor(head, (values) => values.fill(value));
}

/** Zero everywhere but at the given places of a two-dimensional tensor. */
export function sparseTensor(
  head: TensorHead,
  entries: Iterable<{ readonly row: number; readonly column: number; readonly value: number }>,
): Tensor {
  const [width = 1] = head.shape;
  const values = new Float32Array(tensorBytes(head) / WEIGHT_TYPES[head.type].bytes);
  for (const { row, column, value } of entries) values[row * width + column] = value;
  return { ...head, data: () => [encodeWeights(values, head.type)] };
}

/** Random weights with this standard deviation: the same for the same seed and name. */
export function randomTensor(head: TensorHead, deviation: number, seed: number): Tensor {
  return repeatedTensor(head, (values) => {
    const random = randomStream(`${seed} ${head.name}`);
    for (let i = 0; i < values.length; i++) values[i] = spread(random, deviation);
  });
}

/** Random rows for the places where `wanted` says so; the other rows are zero. */
export function randomRowsTensor(
  head: TensorHead,
  deviation: number,
  seed: number,
  wanted: (row: number) => boolean,
): Tensor {
  const [width = 1, rows = 1] = head.shape;
  return {
    ...head,
    *data() {
      const random = randomStream(`${seed} ${head.name}`);
      const values = new Float32Array(width);
      for (let row = 0; row < rows; row++) {
        if (wanted(row)) for (let i = 0; i < width; i++) values[i] = spread(random, deviation);
        else values.fill(0);
        yield encodeWeights(values, head.type);
      }
    },
  };
}

/** Weights are made once for this many places and then repeated. A prime, so that no two rows of a matrix come out the same. */
const BLOCK_WEIGHTS = 262_139;

function repeatedTensor(head: TensorHead, fill: (values: Float32Array) => void): Tensor {
  const total = tensorBytes(head);
  return {
    ...head,
    *data() {
      const values = new Float32Array(Math.min(BLOCK_WEIGHTS, total / WEIGHT_TYPES[head.type].bytes));
      fill(values);
      const block = encodeWeights(values, head.type);
      for (let left = total; left > 0; left -= block.length) yield block.subarray(0, left);
    },
  };
}

function encodeWeights(values: Float32Array, type: WeightType): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * WEIGHT_TYPES[type].bytes);
  let at = 0;
  if (type === 'f32') for (const value of values) at = bytes.writeFloatLE(value, at);
  else for (const value of values) at = bytes.writeUInt16LE(halfBits(value), at);
  return bytes;
}
