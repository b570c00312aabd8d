import { test } from 'vitest';
import { after } from '../../../src/core/kinds.ts';
import type { ModelInput } from '../../../src/config/schema.ts';
import { oneEngine, order, startUp, watched } from './one-engine.ts';
import { answered, HANG, REFUSED } from './scripted-ports.ts';

type CommandInput = Extract<ModelInput, { backend: 'command' }>;

const server = (more: Partial<CommandInput> = {}) =>
  oneEngine({ backend: 'command', command: 'srv "my model" --port=${PORT} --as ${MODEL}', ...more });

test('the command gets its port, its model and its path; folder, environment and key are as configured', async ({
  expect,
}) => {
  const engine = server({
    ...{ command: 'srv "my model" --port=${PORT} --as ${MODEL} ${MODEL_PATH}', model_path: '/m/a b' },
    ...{ cwd: '/srv', env: { A: '1' }, api_key: 'k', served_model_name: 'x' },
  });
  await startUp(engine);
  const port = engine.driver.running?.port;
  expect(engine.processes.specs[0]).toMatchObject({
    argv: ['srv', 'my model', `--port=${port}`, '--as', 'alpha', '/m/a b'],
    cwd: '/srv',
    env: { A: '1' },
  });
  expect(engine.driver.backend).toMatchObject({ servedName: 'x', headers: { authorization: 'Bearer k' } });
});

test('its own readiness path is asked, and only 200 means ready', async ({ expect }) => {
  const engine = server({ readiness_path: '/ready?deep=1' });
  const start = watched(engine.driver.start(order().order));
  engine.http.reply = () => answered(204);
  await engine.clock.advance(50);
  expect(start.end).toBeUndefined();
  engine.http.reply = ({ url }) => answered(url.endsWith('/ready?deep=1') ? 200 : 404);
  await engine.clock.advance(50);
  expect(start.end).toMatchObject({ kind: 'done' });
});

test('without a readiness path any answer will do, an error too', async ({ expect }) => {
  const engine = server({ readiness_path: 'none' });
  const start = watched(engine.driver.start(order().order));
  engine.http.reply = () => REFUSED;
  await engine.clock.advance(50);
  expect(start.end).toBeUndefined();
  engine.http.reply = () => answered(404);
  await engine.clock.advance(50);
  expect(start.end).toMatchObject({ kind: 'done' });
});

test('its own stop command is run in place of SIGTERM, with the process filled in', async ({ expect }) => {
  const engine = server({ stop_command: ['kill-it', '${PID}', '${PORT}', '${MODEL}'] });
  await startUp(engine);
  const { pid, port } = engine.driver.running ?? {};
  engine.processes.answer = () => {
    engine.processes.child.exit(0);
    return { code: 0, output: '' };
  };
  const stop = watched(engine.driver.stop(order(2).order));
  await engine.clock.advance(50);
  expect(stop.end).toMatchObject({ kind: 'done' });
  expect(engine.processes.asked).toEqual([['kill-it', String(pid), String(port), 'alpha']]);
  expect(engine.processes.child.signals).toEqual([]);
});

test('a stop command that fails is told to the owner, and the engine is stopped all the same', async ({ expect }) => {
  const engine = server({ stop_command: 'kill-it' });
  await startUp(engine);
  engine.processes.answer = () => ({ code: 2, output: 'no' });
  const stop = watched(engine.driver.stop(order(2).order));
  await engine.clock.advance(60_000);
  expect(stop.end).toMatchObject({ kind: 'done' });
  expect(engine.told.warned).toEqual(['the stop command kill-it ended with code 2: no']);
});

/** Asks for a sign of life for 15 s. */
async function proves(engine: ReturnType<typeof server>): Promise<boolean | undefined> {
  const limit = new AbortController();
  let found: boolean | undefined;
  void engine.driver.prove(limit.signal).then((proven) => (found = proven));
  await engine.clock.advance(15_000);
  limit.abort();
  await engine.clock.advance(0);
  return found;
}

test('a server that does not answer work is not alive', async ({ expect }) => {
  const engine = server();
  await startUp(engine);
  engine.http.reply = ({ method }) => (method === 'POST' ? HANG : answered(200));
  expect(await proves(engine)).toBe(false);
});

test('one that has no route for work we know, but answers, is taken for alive', async ({ expect }) => {
  const engine = server();
  await startUp(engine);
  engine.http.reply = () => answered(404);
  expect(await proves(engine)).toBe(true);
});

test('one that works on one long thing and prints its progress while it is asked is alive', async ({ expect }) => {
  const engine = server();
  await startUp(engine);
  engine.http.reply = () => HANG;
  engine.processes.child.print('step 7 of 50');
  expect(await proves(engine)).toBe(false);
  engine.clock.at(after(engine.clock.now(), 5_000), () => engine.processes.child.print('step 8 of 50'));
  expect(await proves(engine)).toBe(true);
});

test('CTranslate2 is what its command starts: the folder, the port and the device are filled in', async ({
  expect,
}) => {
  const command = 'ct2-server --model ${MODEL_PATH} --device ${DEVICE} --port ${PORT}';
  const engine = oneEngine({ backend: 'ct2', command, model_path: '/m/nllb', device: 'cuda:1', api_key: 'k' });
  await startUp(engine);
  const argv = ['ct2-server', '--model', '/m/nllb', '--device', 'cuda:1', '--port', `${engine.driver.running?.port}`];
  expect(engine.processes.specs[0]).toMatchObject({ argv, env: { CUDA_VISIBLE_DEVICES: '1' } });
  expect(engine.driver.backend).toMatchObject({ servedName: 'alpha', headers: { authorization: 'Bearer k' } });
});

test('a device that nobody named is the choice of the server', async ({ expect }) => {
  const engine = server({ command: 'srv ${PORT} --device ${DEVICE}' });
  await startUp(engine);
  expect(engine.processes.specs[0]?.argv.at(-1)).toBe('auto');
});
