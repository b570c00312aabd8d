import { test } from 'vitest';
import { definitionOf } from '../../../src/api/admin/definition.ts';
import { configFrom } from '../../../src/config/load.ts';
import type { ModelInput } from '../../../src/config/schema.ts';

function shown(model: ModelInput): unknown {
  const loaded = configFrom({ state_dir: '/tmp/never-used', models: { a: model } }, 'test', {}, {});
  const settings = loaded.kind === 'loaded' ? loaded.config.models['a'] : undefined;
  if (settings === undefined) throw new Error(JSON.stringify(loaded));
  return JSON.parse(JSON.stringify(definitionOf(settings)));
}

test('secrets are masked, wherever they were put', ({ expect }) => {
  const extra_args = ['--api-key', 'hunter2', '--api_key=hunter2', '--seed', '7'];
  const text = JSON.stringify(
    shown({ model_path: 'org/m', api_key: 'hunter2', env: { HF_TOKEN: 'hunter2' }, extra_args }),
  );
  expect(text).not.toContain('hunter2');
  expect(text).toContain('"--api-key","***"');
  expect(text).toContain('"HF_TOKEN":"***"');
  expect(text).toContain('"--seed","7"');
});

test('those in hooks too', ({ expect }) => {
  const text = JSON.stringify(
    shown({
      model_path: 'org/m',
      hooks: {
        before_start: { command: ['/bin/mount', '--token', 'hunter2', '-v'] },
        after_stop: { url: 'http://127.0.0.1:9000/x?token=hunter2' },
      },
    }),
  );
  expect(text).not.toContain('hunter2');
  expect(text).toContain('["/bin/mount","--token","***","-v"]');
  expect(text).toContain('http://127.0.0.1:9000/x?token=***');
});

test('keys of its own backend are there, null where nobody set them, and no others', ({ expect }) => {
  const definition = shown({ model_path: 'org/m', vllm_max_model_len: 512, device: 'cuda:0' });
  expect(definition).toMatchObject({
    backend: 'vllm_serve',
    model_path: 'org/m',
    device: 'cuda:0',
    prompt_format: null,
    enabled: true,
    replicas: 1,
    replica_max: 1,
    target_inflight: 32,
    host: '127.0.0.1',
    port: null,
    vllm_max_model_len: 512,
    vllm_kv_cache_dtype: null,
  });
  expect(JSON.stringify(definition)).not.toContain('llama_server');
});
