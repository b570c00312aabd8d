import { test } from 'vitest';
import { problemsOf } from '../../helpers/config.ts';

const one = (model: unknown): unknown => ({ models: { a: model } });

test.for([
  [{ backend: 'sglang', model_path: 'x' }, '--model-path', 'Set `model_path` in its place.'],
  [{ model_path: 'x' }, '--uds=/tmp/x', 'Engines listen on 127.0.0.1.'],
  [{ backend: 'exllamav3', model_path: '/x' }, '--model_name', 'Set `model_path` in its place.'],
  [
    { backend: 'exllamav3', model_path: '/x' },
    '--config',
    'TabbyAPI would read nothing else: put its settings into `extra_args`.',
  ],
] as const)('what leads one engine away is not for its extra_args: %j %s', ([model, flag, fix], { expect }) => {
  expect(problemsOf(one({ ...model, extra_args: [flag] }))).toEqual([
    `models.a.extra_args[0] is ${flag}, which catnap sets itself. ${fix}`,
  ]);
});

test('the cache of ExLlamaV3 comes in steps, and its bits in one or two numbers', ({ expect }) => {
  const model = { backend: 'exllamav3', model_path: 'm/x', exllama_cache_size: 300, exllama_cache_quant: '9' };
  expect(problemsOf(one(model))).toEqual([
    'models.a.model_path must be a whole path: TabbyAPI runs in a folder of its own',
    'models.a.exllama_cache_size must be a multiple of 256',
    'models.a.exllama_cache_quant must be like "8" or "8,4": bits from 2 to 8',
  ]);
});
