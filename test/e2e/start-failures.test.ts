import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { configFile, writeConfig, type Line } from '../helpers/catnap.ts';
import { test } from '../helpers/e2e.ts';
import { sayModel } from '../helpers/models.ts';
import { survivors } from '../helpers/survivors.ts';

/** Somebody else's server on a port of its own. */
async function occupyPort(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((socket) => socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

test('a model that cannot start says why and when to come back, and keeps no other from its turn', async ({
  expect,
  start,
  llama,
  folder,
}) => {
  await using stranger = await occupyPort();
  const file = await sayModel('I am alpha.');
  const broken = join(folder, 'broken.gguf');
  writeFileSync(broken, 'this is no model');
  const gate = llama.gated();
  const command = (...argv: string[]) => ({ backend: 'command', command: argv });
  const slow = { llama_server_command: gate.command };
  // What the operator is told, what clients are told, and whether it is any use to them to try again.
  const reasons = {
    'broken-file': [llama.file(broken), 'invalid magic', 'its model file cannot be used', false],
    'no-file': [llama.file(join(folder, 'absent.gguf')), 'absent.gguf', 'a file it needs is missing', false],
    'bad-flag': [
      llama.file(file, { extra_args: ['--metricz'] }),
      '--metricz is not known: write --metrics',
      'does not take one of its flags',
      false,
    ],
    'no-program': [
      llama.file(file, { llama_server_command: '/nowhere/llama-server' }),
      'set llama_server_command',
      'is not installed',
      false,
    ],
    'no-command': [command('no-such-server', '${PORT}'), 'on PATH', 'is not installed', false],
    'taken-port': [
      llama.file(file, { port: stranger.port }),
      'change models.taken-port.port',
      'its port is in use',
      true,
    ],
    'never-ready': [
      llama.file(file, { ...slow, startup_timeout_secs: 1 }),
      'startup_timeout_secs',
      'it was not ready in time',
      true,
    ],
    silent: [
      llama.file(file, { ...slow, startup_stall_secs: 0.2 }),
      'startup_stall_secs',
      'it was not ready in time',
      true,
    ],
    'gives-up': [command('sh', '-c', 'echo out of sorts on ${PORT}; exit 3'), 'out of sorts', 'did not start', true],
  } as const;
  const failing = Object.fromEntries(Object.entries(reasons).map(([name, [model]]) => [name, model]));
  const catnap = await start({
    probe_timeout_secs: 0.5,
    restart: { first_delay_secs: 30 },
    models: { ...failing, good: llama.file(file) },
  });
  for (const [name, [, reason, brief, mayPass]] of Object.entries(reasons)) {
    const [bad, good] = await Promise.all([catnap.chat(name), catnap.chat('good')]);
    const { code, message } = JSON.parse(bad.text).error;
    expect([name, bad.status, code]).toEqual([name, 503, 'engine_failed']);
    expect(message).toContain(`${name} cannot be served: `);
    expect(message).toContain(brief);
    for (const secret of [folder, reason, String(stranger.port)]) expect(message).not.toContain(secret);
    expect([name, bad.headers['x-should-retry']]).toEqual([name, mayPass ? undefined : 'false']);
    const retryAfter = bad.headers['retry-after'];
    if (mayPass) expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
    if (mayPass) expect(Number(retryAfter)).toBeLessThanOrEqual(30);
    else expect(retryAfter).toBe(undefined);
    expect([name, good.status]).toEqual([name, 200]);
    expect((await catnap.model(name)).last_error).toContain(reason);
  }
  // What failed left nothing: there is catnap, and the one engine that is awake.
  expect(survivors(folder)).toHaveLength(2);
});

test('a model that failed is left alone for a while, and tried again when that is over', async ({
  expect,
  start,
  llama,
  folder,
}) => {
  const file = join(folder, 'model.gguf');
  const good = await sayModel('I am alpha.');
  const catnap = await start({ models: { alpha: llama.file(file) }, restart: { first_delay_secs: 3 } });
  const first = await catnap.chat('alpha');
  expect(first.status).toBe(503);
  expect(first.headers['x-should-retry']).toBe('false');
  copyFileSync(good, file);
  await expect.poll(async () => (await catnap.chat('alpha')).status).toBe(200);
  // It was asked for all the time, and started once more when the pause was over. Lines may be written later than what they tell.
  const [failed] = await catnap.told('engine-failed');
  const [, again, ...more] = await catnap.told('engine-moved', { to: 'starting' });
  expect(timeOf(again) - timeOf(failed)).toBeGreaterThan(1_500);
  expect(more).toEqual([]);
});

const timeOf = (line: Line | undefined): number => Date.parse(String(line?.['time']));

test('a port of an engine that was taken can be had once it is free', async ({ expect, start, llama }) => {
  const stranger = await occupyPort();
  const models = { alpha: await llama.says('I am alpha.', { port: stranger.port }) };
  const catnap = await start({ models, restart: { first_delay_secs: 0 } });
  expect((await catnap.chat('alpha')).status).toBe(503);
  await stranger[Symbol.asyncDispose]();
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect((await catnap.engine('alpha')).port).toBe(stranger.port);
});

test('a taken port of its own ends catnap before anything is started, and the message names the key', async ({
  expect,
  run,
  llama,
  folder,
}) => {
  await using stranger = await occupyPort();
  const models = { alpha: await llama.says('I am alpha.') };
  for (const key of ['port', 'metrics_port']) {
    writeConfig(folder, { models, [key]: stranger.port });
    const { code, err } = await run(['--config', configFile(folder)]);
    expect([key, code]).toEqual([key, 2]);
    expect(err).toContain(`\`${key}\``);
    expect(err).toContain(String(stranger.port));
  }
});

test('a default port for metrics that is taken is a warning, and the metrics are on the main port', async ({
  expect,
  start,
  llama,
}) => {
  const stranger = createServer().listen(9_090, '127.0.0.1');
  // If somebody has it already, so much the better.
  await Promise.race([once(stranger, 'listening'), once(stranger, 'error').catch(() => {})]);
  const catnap = await start({ metrics_port: undefined, models: { alpha: await llama.says('I am alpha.') } });
  await new Promise((resolve) => stranger.close(resolve));
  expect(await catnap.told('warned')).toMatchObject([
    { level: 'warn', msg: expect.stringContaining('`metrics_port`') },
  ]);
  expect((await catnap.get('/metrics')).text).toContain('catnap_accepting 1');
});
