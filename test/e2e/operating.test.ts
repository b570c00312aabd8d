import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ModelList } from '../../src/api/admin/contract.ts';
import { configFile, stateDir, writeConfig } from '../helpers/catnap.ts';
import { freePort, test } from '../helpers/e2e.ts';

const ENGINE = join(import.meta.dirname, '../fixtures/engine.ts');

test('catnap status shows a person and a program what is awake', async ({ expect, start, run, llama, folder }) => {
  const models = { alpha: await llama.says('I am alpha.'), beta: await llama.says('I am beta.') };
  const catnap = await start({ models });
  await catnap.chat('alpha');
  const { pid, port } = await catnap.engine('alpha');
  const human = await run(['status', '--url', catnap.url]);
  expect([human.code, human.err]).toEqual([0, '']);
  expect(human.out).toContain('alpha is awake.');
  expect(human.out).toMatch(new RegExp(`^alpha +loaded .* pid ${pid} port ${port}$`, 'm'));
  expect(human.out).toMatch(/^beta +unloaded /m);
  expect(human.out).not.toContain('\u001b');

  const json = await run(['status', '--json', '--url', catnap.url]);
  expect(json.code).toBe(0);
  const list = ModelList.parse(JSON.parse(json.out));
  expect(list.models.map(({ name, is_loaded }) => [name, is_loaded])).toEqual([
    ['alpha', true],
    ['beta', false],
  ]);

  // Without an address it asks where the config in the folder says that catnap listens.
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ port: catnap.port, models }));
  expect((await run(['status'])).out).toContain('alpha is awake.');
  await catnap.stop();
  const gone = await run(['status']);
  expect([gone.code, gone.out]).toEqual([1, '']);
  expect(gone.err).toContain(catnap.url);
});

test('the exit codes tell bad usage and a bad config from what failed', async ({ expect, run, llama, folder }) => {
  writeConfig(folder, { models: { alpha: await llama.says('I am alpha.') } });
  const check = await run(['config', 'check', '--config', configFile(folder)]);
  expect([check.code, check.out]).toEqual([0, expect.stringContaining('can be served: 1 model (alpha)')]);
  writeFileSync(configFile(folder), JSON.stringify({ prot: 3000, models: { alpha: { backend: 'llama_server' } } }));
  for (const args of [['config', 'check'], []]) {
    const { code, out, err } = await run([...args, '--config', configFile(folder)]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/prot.*port/);
    expect(err).toContain('models.alpha.model_path');
    expect(err).not.toContain('listens');
  }
  expect((await run(['stauts'])).code).toBe(2);
  expect((await run(['status', '--url', `http://127.0.0.1:${await freePort()}`])).code).toBe(1);
});

test('what an engine prints is kept in a file that is private and bounded, and with -v is shown', async ({
  expect,
  start,
  llama,
  folder,
}) => {
  const command: [string, ...string[]] = [process.execPath, ENGINE, '--port', '${PORT}', '--print', '3'];
  const catnap = await start(
    {
      models: { noisy: { backend: 'command', command }, alpha: await llama.says('I am alpha.') },
      log_max_mib: 0.25,
      log_keep: 1,
    },
    { args: ['-v'], env: { CATNAP_LOG: '' } },
  );
  await catnap.chat('noisy');
  const logs = join(stateDir(folder), 'logs');
  const sizes = () =>
    readdirSync(logs)
      .filter((name) => name.startsWith('noisy'))
      .map((name) => statSync(join(logs, name)).size);
  await expect.poll(() => sizes().filter((size) => size > 0.25 * 1_048_576)).toEqual([]);
  await expect.poll(() => sizes().length).toBeLessThanOrEqual(2);

  await catnap.chat('alpha');
  const [file = ''] = readdirSync(logs).filter((name) => name.startsWith('alpha'));
  // What it prints is written on its own way, which an answer may overtake.
  await expect.poll(() => readFileSync(join(logs, file), 'utf8')).toContain('model loaded');
  await catnap.fact('engine-output', { model: 'alpha' });
  const modes = [stateDir(folder), logs, join(stateDir(folder), 'engines'), join(logs, file)].map(
    (path) => statSync(path).mode & 0o077,
  );
  expect(modes).toEqual([0, 0, 0, 0]);
});

test('an engine gets none of the environment that would change what it does', async ({ expect, start, llama }) => {
  const leaks = {
    LLAMA_ARG_PORT: '1',
    LLAMA_ARG_CTX_SIZE: '64',
    LLAMA_API_KEY: 'leaked',
    AIP_MODE: 'PREDICTION',
    AIP_HTTP_PORT: '1',
    npm_config_leaked: 'leaked',
    npm_lifecycle_event: 'start',
    NODE_OPTIONS: '--no-warnings',
    OPENAI_API_KEY: 'leaked',
    PATH: `/somewhere/node_modules/.bin:${process.env['PATH'] ?? ''}`,
  };
  const models = {
    alpha: await llama.says('I am alpha.', { env: { GIVEN: 'on purpose', LLAMA_ARG_CTX_SIZE: '2048' } }),
  };
  const catnap = await start({ models }, { env: { ...leaks, HF_HOME: '/models' } });
  expect((await catnap.chat('alpha')).status).toBe(200);
  const { pid } = await catnap.engine('alpha');
  const environ = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
  const env = Object.fromEntries(
    environ.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  const { PATH, LLAMA_ARG_CTX_SIZE: _, ...mustNot } = leaks;
  expect(Object.keys(env)).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(npm_|AIP_|NODE_|CATNAP_(?!ENGINE))/)]),
  );
  for (const name of Object.keys(mustNot)) expect([name, env[name]]).toEqual([name, undefined]);
  expect(env).toMatchObject({ GIVEN: 'on purpose', LLAMA_ARG_CTX_SIZE: '2048', HF_HOME: '/models' });
  expect(PATH.endsWith(env['PATH'] ?? '-')).toBe(true);
  expect(env['PATH']).not.toContain('node_modules/.bin');
});
