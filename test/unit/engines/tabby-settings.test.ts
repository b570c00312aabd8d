import { describe, test } from 'vitest';
import type { ModelInput } from '../../../src/config/schema.ts';
import type { LoadOverride } from '../../../src/ports/load-override.ts';
import { waitFor } from '../../helpers/wait-for.ts';
import { placeOf } from '../../../src/engines/tabby-settings.ts';
import { oneEngine, order } from './one-engine.ts';
import { answered } from './scripted-ports.ts';

type TabbyInput = Extract<ModelInput, { backend: 'exllamav3' }>;

/** What TabbyAPI is started with and asked to load. */
async function started(more: Partial<TabbyInput>, override: LoadOverride = {}) {
  const engine = oneEngine(
    { backend: 'exllamav3', model_path: '/models/qwen', ...more },
    { override, root: { exllamav3_command: ['python', '/opt/tabby/main.py'] } },
  );
  engine.http.reply = ({ url }) => answered(url.endsWith('/health') ? 200 : 500);
  engine.driver.start(order().order).catch(() => {});
  await engine.clock.advance(100);
  const load = await waitFor('the load', () => engine.http.calls.find(({ url }) => url.endsWith('/v1/model/load')));
  return { spec: engine.processes.specs[0], files: engine.files.get('alpha#0'), load };
}

test('it is started without a model, in a folder of its own that holds its keys, and asked for one with the right to', async ({
  expect,
}) => {
  const { spec, files, load } = await started({ api_key: 'sk-1', env: { A: '1' } });
  expect(spec?.argv.slice(0, 4)).toEqual(['python', '/opt/tabby/main.py', '--host', '127.0.0.1']);
  expect(spec?.argv.slice(6)).toEqual([
    ...['--disable-auth', 'false', '--model-dir', '/models', '--inline-model-loading', 'false'],
  ]);
  expect(spec).toMatchObject({ cwd: '/private/alpha#0', env: { TABBY_LOG_LEVEL: 'WARNING', A: '1' } });
  const [, admin] = /^api_key: "sk-1"\nadmin_key: "(.+)"\n$/.exec(files?.['api_tokens.yml'] ?? '') ?? [];
  expect(load).toMatchObject({
    headers: { authorization: 'Bearer sk-1', 'x-admin-key': admin },
    json: { model_name: 'qwen' },
  });
});

describe('what is loaded', () => {
  test.for([
    [{}, {}, {}],
    [
      { exllama_cache_size: 512, exllama_cache_quant: '8', exllama_max_rq_tokens: 256 },
      {},
      { cache_size: 512, cache_mode: '8,8', max_seq_len: 256 },
    ],
    [{ exllama_cache_quant: '8,4' }, {}, { cache_mode: '8,4' }],
    [{ exllama_cache_quant: '8,4' }, { exllama_cache_quant: null }, { cache_mode: 'FP16' }],
    [{ exllama_cache_quant: '8' }, { exllama_cache_quant: '6' }, { cache_mode: '6,6' }],
    [{}, { exllama_cache_k_bits: 8, exllama_cache_v_bits: 4 }, { cache_mode: '8,4' }],
    [{ exllama_cache_quant: '8' }, { exllama_cache_k_bits: null, exllama_cache_v_bits: null }, { cache_mode: 'FP16' }],
    [{ exllama_cache_size: 512 }, { exllama_cache_size: null }, {}],
  ] as const)('%j with %j is %j', async ([model, override, asked], { expect }) => {
    expect((await started(model, override)).load.json).toEqual({ model_name: 'qwen', ...asked });
  });

  test('what the user sets holds for a load by call, and what the load decides is not his', async ({ expect }) => {
    const extra_args = [
      '--cache-size=256',
      '--gpu-split',
      '20',
      '24',
      '--output-chunking',
      'False',
      '--vision',
      'true',
    ];
    const { spec, load } = await started({ extra_args }, { exllama_cache_size: 1_024 });
    expect(load.json).toEqual({ model_name: 'qwen', gpu_split: [20, 24], output_chunking: false, cache_size: 1_024 });
    expect(spec?.argv.slice(12)).toEqual([
      ...['--gpu-split', '20', '24', '--output-chunking', 'False', '--vision', 'true'],
      ...['--use-as-default', 'gpu_split', 'output_chunking', 'vision'],
    ]);
  });

  test('defaults that the user lists himself stay listed', async ({ expect }) => {
    const { spec } = await started({ extra_args: ['--use-as-default', 'cache_mode', '--vision', 'true'] });
    expect(spec?.argv.slice(-3)).toEqual(['--use-as-default', 'cache_mode', 'vision']);
  });
});

test.for([
  ['/models/qwen/', '/models', 'qwen'],
  ['/qwen', '/', 'qwen'],
  ['/a/b c', '/a', 'b c'],
] as const)('%s lies in %s as %s', ([path, folder, name], { expect }) => {
  expect(placeOf(path)).toEqual({ folder, name });
});
