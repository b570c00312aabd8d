import { test } from 'vitest';
import { gpusIn, ranksIn } from '../../../src/core/ranks.ts';

const words = (line: string): readonly string[] => line.split(' ').filter((word) => word !== '');

/** What the arguments say: so many work together, on so many GPUs of this engine's own. */
const CASES: readonly (readonly [family: 'vllm_serve' | 'sglang', line: string, ranks: number, gpus: number])[] = [
  ['vllm_serve', '', 1, 1],
  ['vllm_serve', '-tp 2', 2, 2],
  ['vllm_serve', '-dp 2', 2, 2],
  ['vllm_serve', '--tensor-parallel-size=2 -pp 2 --data-parallel-size 3', 12, 12],
  // The last one counts, as vLLM reads them.
  ['vllm_serve', '-tp 2 --tensor_parallel_size 4', 4, 4],
  // Copies that are elsewhere talk to those here and are on no GPU here.
  ['vllm_serve', '-tp 2 -dp 4 -dpl 1', 8, 2],
  ['vllm_serve', '-tp 2 -dp 4 --data-parallel-rank 0', 8, 2],
  ['vllm_serve', '-tp many', 1, 1],
  ['sglang', '--tp 2 --dp-size 2', 4, 4],
  // The copies are of the attention alone.
  ['sglang', '--tp 8 --dp 8 --enable-dp-attention', 8, 8],
  ['sglang', '-tp 2', 1, 1],
];

for (const [family, line, ranks, gpus] of CASES)
  test(`${family} ${line || 'without flags'}: ${ranks} on ${gpus}`, ({ expect }) => {
    expect([ranksIn(family, words(line)), gpusIn(family, words(line))]).toEqual([ranks, gpus]);
  });
