import { test } from 'vitest';
import type { ModelInput } from '../../../src/config/schema.ts';
import { failureOf, oneEngine, order, startUp, watched } from './one-engine.ts';
import { answered, HANG } from './scripted-ports.ts';

type VllmInput = Extract<ModelInput, { backend?: 'vllm_serve' | 'vllm' | undefined }>;

const vllm = (more: Partial<VllmInput> = {}, root: object = {}) =>
  oneEngine({ model_path: 'Qwen/Qwen3-0.6B', ...more }, { root });

test('a model without a backend is served by vLLM under its own name, quietly and on 127.0.0.1', async ({ expect }) => {
  const engine = vllm({ port: 8_011, extra_args: ['--max-model-len', '16k'] }, { vllm_command: ['uv', 'run', 'vllm'] });
  await startUp(engine);
  expect(engine.processes.specs[0]).toMatchObject({
    argv: [
      ...['uv', 'run', 'vllm', 'serve', 'Qwen/Qwen3-0.6B', '--port', '8011', '--host', '127.0.0.1'],
      ...['--served-model-name', 'alpha', '--enable-sleep-mode', '--max-model-len', '16k'],
    ],
    env: { NO_COLOR: '1', VLLM_NO_USAGE_STATS: '1', DO_NOT_TRACK: '1', VLLM_SERVER_DEV_MODE: '1' },
  });
  expect(engine.driver.backend).toMatchObject({ origin: 'http://127.0.0.1:8011', servedName: 'alpha' });
});

test('the served name and the key that the user passes are those that requests carry', async ({ expect }) => {
  const engine = vllm({ extra_args: ['--served-model-name', 'qwen', 'q', '--api-key=k'] });
  await startUp(engine);
  expect(engine.driver.backend).toMatchObject({ servedName: 'qwen', headers: { authorization: 'Bearer k' } });
});

test('a configured key reaches it by the environment, and what the user sets there wins', async ({ expect }) => {
  const engine = vllm({ api_key: 'k1', env: { NO_COLOR: '0' } });
  await startUp(engine);
  expect(engine.processes.specs[0]?.env).toMatchObject({ VLLM_API_KEY: 'k1', NO_COLOR: '0' });
  expect(engine.driver.backend?.headers).toEqual({ authorization: 'Bearer k1' });
});

test('what it is not to be put to leaves no trace in how it is started, and the user has the last word', async ({
  expect,
}) => {
  const only5 = vllm({ levels_allowed: [5] });
  await startUp(only5);
  expect(only5.processes.specs[0]?.argv).not.toContain('--enable-sleep-mode');
  expect(only5.processes.specs[0]?.env).not.toHaveProperty('VLLM_SERVER_DEV_MODE');
  const own = vllm({ extra_args: ['--enable-sleep-mode'] });
  await startUp(own);
  expect(own.processes.specs[0]?.argv.filter((arg) => arg === '--enable-sleep-mode')).toHaveLength(1);
});

test('a missing vLLM is told with the key that names it', async ({ expect }) => {
  const engine = vllm();
  engine.programs.set('vllm', undefined);
  const start = watched(engine.driver.start(order().order));
  await engine.clock.advance(10);
  expect(failureOf(start)).toContain('set vllm_command');
});

test('its health route alone proves nothing, a token does', async ({ expect }) => {
  const engine = vllm();
  await startUp(engine);
  const ask = async (): Promise<boolean | undefined> => {
    const limit = new AbortController();
    let found: boolean | undefined;
    void engine.driver.prove(limit.signal).then((proven) => (found = proven));
    await engine.clock.advance(15_000);
    limit.abort();
    await engine.clock.advance(0);
    return found;
  };
  engine.http.reply = ({ method }) => (method === 'POST' ? HANG : answered(200));
  expect(await ask()).toBe(false);
  engine.http.reply = () => answered(200);
  expect(await ask()).toBe(true);
});

test('on several GPUs its workers get our extension, where it can be of use and nobody else has the place', async ({
  expect,
}) => {
  const flags = ['--tensor-parallel-size', '2', '--enforce-eager', '--disable-custom-all-reduce'];
  const extended = vllm({ extra_args: flags, env: { PYTHONPATH: '/own' } });
  await startUp(extended);
  const [spec] = extended.processes.specs;
  expect(spec?.argv.join(' ')).toContain('--worker-extension-cls catnap_vllm.CatnapWorker');
  expect(spec?.env['PYTHONPATH']).toBe('/opt/python:/own');
  const others: Partial<VllmInput>[] = [
    { extra_args: flags.slice(2) },
    { extra_args: flags.slice(0, 3) },
    { extra_args: flags, levels_allowed: [1, 3, 5] },
    { extra_args: [...flags, '--worker-extension-cls', 'somebody.Elses'] },
  ];
  for (const more of others) {
    const plain = vllm(more);
    await startUp(plain);
    expect(plain.processes.specs[0]?.argv).not.toContain('catnap_vllm.CatnapWorker');
    expect(plain.processes.specs[0]?.env).not.toHaveProperty('PYTHONPATH');
  }
});

test('going to disk as it is takes no sleep mode', async ({ expect }) => {
  const engine = vllm({ levels_allowed: [4, 5] }, { checkpoint: { sleep_first: 'none' } });
  await startUp(engine);
  expect(engine.processes.specs[0]?.argv).not.toContain('--enable-sleep-mode');
  expect(engine.processes.specs[0]?.env).toMatchObject({ USE_LIBUV: '0' });
});

test('a mixture of experts that runs out of memory with sleep mode on is told what to change', async ({ expect }) => {
  const lack = 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.';
  const fails = async (more: Partial<VllmInput>, line = lack): Promise<string | undefined> => {
    const { driver, processes, clock } = vllm(more);
    const start = watched(driver.start(order().order));
    await clock.advance(10);
    processes.child.print(
      `(APIServer pid=1) INFO 11-20 12:00:00 [api_server.py:1] vLLM API server version 0.29.0`,
      line,
    );
    processes.child.exit(1);
    await clock.advance(10);
    return failureOf(start);
  };
  const remedy = /out of memory: .*2\.00 GiB\. \(from vLLM 0\.21 on .*"levels_allowed": \[3, 5\]/;
  for (const model_path of ['Qwen/Qwen3-30B-A3B', 'mistralai/Mixtral-8x7B-Instruct-v0.1', 'openai/gpt-oss-20b'])
    expect(await fails({ model_path })).toMatch(remedy);
  expect(await fails({ model_path: 'Qwen/Qwen3-30B-A3B', levels_allowed: [3, 5] })).not.toMatch('0.21');
  expect(await fails({ model_path: 'Qwen/Qwen3-0.6B' })).not.toMatch('0.21');
  expect(await fails({ model_path: 'Qwen/Qwen3-30B-A3B' }, 'OSError: no such thing')).not.toMatch('0.21');
});

test('each process is asked for its version until it has told it, and no more', async ({ expect }) => {
  const engine = vllm({ levels_allowed: [1, 5] });
  const { driver, http, processes, clock } = engine;
  const asked: string[] = [];
  let says = answered(503);
  const hindered = async (): Promise<string | undefined> =>
    driver.hindrance(1, new AbortController().signal).then((why) => why?.split(',')[0]);
  const start = async (epoch: number): Promise<void> => {
    http.reply = ({ url }) => {
      if (url.endsWith('/version')) asked.push(url);
      return url.endsWith('/version') ? says : answered(200, '{"is_sleeping":false}');
    };
    const started = watched(driver.start(order(epoch).order));
    await clock.advance(100);
    expect(started.end?.kind).toBe('done');
    asked.length = 0;
  };
  await start(1);
  expect(await hindered()).toBeUndefined();
  says = answered(200, '{"version":"0.17.0"}');
  for (let times = 0; times < 3; times += 1) expect(await hindered()).toBeUndefined();
  expect(asked).toHaveLength(2);

  says = answered(200, '{"version":"0.15.1"}');
  processes.child.onSignal = () => processes.child.exit(0);
  const stopped = watched(driver.stop(order(2).order));
  await clock.advance(100);
  expect(stopped.end?.kind).toBe('done');
  await start(3);
  expect(await hindered()).toContain('cannot be put to level 1');
});
