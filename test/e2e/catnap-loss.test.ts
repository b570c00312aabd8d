import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/config/schema.ts';
import { configFile, stateDir } from '../helpers/catnap.ts';
import { freePort, isAlive, test } from '../helpers/e2e.ts';
import { LONG } from '../helpers/event-stream.ts';
import { startLlama } from '../helpers/llama.ts';
import { countModel } from '../helpers/models.ts';
import { survivors } from '../helpers/survivors.ts';
import { waitFor } from '../helpers/wait-for.ts';

const ENGINE = join(import.meta.dirname, '../fixtures/engine.ts');

test('after a kill -9 the next start ends the engine that was left, has its port again, and touches no stranger', async ({
  expect,
  start,
  llama,
}) => {
  await using stranger = await startLlama({ server: llama.server, model: await countModel(200) });
  const config = { models: { alpha: await llama.counts(200, { port: await freePort() }) } };
  const first = await start(config);
  const stream = await (await first.stream('alpha', LONG)).begun();
  const { pid, port } = await first.engine('alpha');
  expect((await first.stop('SIGKILL')).signal).toBe('SIGKILL');
  expect(await stream.closed).toBe('cut');
  expect(isAlive(pid)).toBe(true);

  const second = await start(config);
  expect(await second.told('leftover-reaped')).toMatchObject([{ model: 'alpha', pid, port, gone: true }]);
  expect(isAlive(pid)).toBe(false);
  expect((await second.chat('alpha')).status).toBe(200);
  expect((await second.engine('alpha')).port).toBe(port);
  expect((await fetch(`${stranger.origin}/health`)).status).toBe(200);
});

test('a leftover that was just being started is ended, and so is one that was sent away and hears only SIGKILL', async ({
  expect,
  launch,
  start,
  llama,
  folder,
}) => {
  const gate = llama.gated();
  const alpha = await llama.says('I am alpha.', { llama_server_command: gate.command });
  const command: [string, ...string[]] = [process.execPath, ENGINE, '--port', '${PORT}', '--stubborn', '--fork'];
  const config: ConfigInput = { models: { alpha, beta: { backend: 'command', command } } };
  const first = await start(config);
  const lost = expect(first.chat('alpha')).rejects.toThrow();
  await waitFor('alpha to start', () => first.engine('alpha').catch(() => false));
  await first.stop('SIGKILL');
  await lost;
  expect(survivors(folder)).not.toEqual([]);

  const second = await start(config);
  expect(await second.told('leftover-reaped')).toMatchObject([{ model: 'alpha', gone: true }]);
  expect(survivors(folder)).toMatchObject([{ pid: second.pid }]);
  await second.chat('beta');
  // The server, and the child that it sent away.
  expect(survivors(folder)).toHaveLength(3);
  const server = await second.engine('beta');
  await second.stop('SIGKILL');
  process.kill(server.pid, 'SIGKILL');
  await waitFor('the child to be alone', () => survivors(folder).length === 1);

  // Told to stop while it does so, it ends well once that is done.
  const third = launch(config);
  await waitFor('it to be asked to end', () => logsIn(folder).includes('SIGTERM, no'));
  expect(await third.stop()).toEqual({ code: 0, signal: null });
  expect(third.facts('leftover-reaped')).toMatchObject([{ model: 'beta', gone: true }]);
  expect(survivors(folder)).toEqual([]);
});

/** All that engines have printed. */
const logsIn = (folder: string): string =>
  readdirSync(join(stateDir(folder), 'logs'))
    .map((name) => readFileSync(join(stateDir(folder), 'logs', name), 'utf8'))
    .join('');

test('a second catnap with the same state folder is refused, and the first serves on', async ({
  expect,
  start,
  run,
  llama,
  folder,
}) => {
  const catnap = await start({ models: { alpha: await llama.says('I am alpha.') } });
  await catnap.chat('alpha');
  const { pid } = await catnap.engine('alpha');
  const { code, err } = await run(['--config', configFile(folder)]);
  expect(code).toBe(2);
  expect(err).toContain(`process ${catnap.pid}`);
  expect(err).toContain('state_dir');
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect((await catnap.engine('alpha')).pid).toBe(pid);
});
