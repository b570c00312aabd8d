import { test } from 'vitest';
import { effectiveTarget } from '../../../src/config/inflight.ts';
import { configFrom } from '../../../src/config/load.ts';
import type { ModelInput } from '../../../src/config/schema.ts';

const llama = { backend: 'llama_server', model_path: '/m.gguf' } as const;
const vllm = { model_path: 'org/m' } as const;

test.for<[string, ModelInput, number]>([
  ['llama-server has four slots', llama, 4],
  ['or as many as its key says', { ...llama, llama_server_parallel: 8 }, 8],
  [
    'or its arguments, the last one',
    { ...llama, llama_server_parallel: 8, extra_args: ['-np', '2', '--parallel', '3'] },
    3,
  ],
  ['or fewer, if that is wanted', { ...llama, target_inflight: 2 }, 2],
  ['arguments that are no number say nothing', { ...llama, extra_args: ['--parallel', '-1'] }, 4],
  ['vLLM takes what it is given', vllm, 32],
  ['or what it is told to take', { ...vllm, extra_args: ['--max-num-seqs=16'] }, 16],
  ['others are not known', { backend: 'stub' }, 32],
])('an engine is given no more than it works on by itself: %s', ([, model, target], { expect }) => {
  const loaded = configFrom({ state_dir: '/tmp/never-used', models: { a: model } }, 'test', {}, {});
  const settings = loaded.kind === 'loaded' ? loaded.config.models['a'] : undefined;
  expect(settings && effectiveTarget(settings)).toBe(target);
});
