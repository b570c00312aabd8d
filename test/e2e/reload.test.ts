import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Reloaded } from '../../src/api/admin/contract.ts';
import type { ConfigInput, ModelInput } from '../../src/config/schema.ts';
import { configFile, writeConfig, type Catnap } from '../helpers/catnap.ts';
import { test } from '../helpers/e2e.ts';

const ENGINE = join(import.meta.dirname, '../fixtures/engine.ts');

/** Told apart by its arguments: `--print 0` says nothing more than to leave it out. */
const engine = (...args: string[]): ModelInput => ({
  backend: 'command',
  command: [process.execPath, ENGINE, '--port', '${PORT}', ...args],
  footprint: { gpu_mib: 1 },
});
const room = { gpu: { capacity_mib: 10 } };

const pidOf = async (catnap: Catnap, model: string): Promise<string> => {
  const { status, text } = await catnap.chat(model);
  return status === 200 ? (/"content":"(\d+) /.exec(text)?.[1] ?? text) : `${status} ${text}`;
};
const lives = (pid: string): boolean => {
  try {
    return process.kill(Number(pid), 0);
  } catch {
    return false;
  }
};

test('a reload changes what the config changes, and nothing else', async ({ expect, start, run, folder }) => {
  const holds = join(folder, 'holds');
  writeFileSync(holds, '');
  const beta = engine('--hang-while', holds);
  const models = { alpha: engine(), beta, gamma: engine(), same: engine() };
  const catnap = await start({ ...room, models });
  const write = (config: ConfigInput): string => writeConfig(folder, { ...room, ...config });
  const reload = async (query = ''): Promise<{ status: number; text: string }> =>
    catnap.ask(`/v1/admin/reload${query}`, {});
  const [alpha, gamma, same] = [
    await pidOf(catnap, 'alpha'),
    await pidOf(catnap, 'gamma'),
    await pidOf(catnap, 'same'),
  ];
  const stream = await catnap.stream('beta');

  // Models come, change and go while another one streams.
  const next = { alpha: engine('--print', '0'), beta, delta: engine(), same: models.same };
  write({ models: next, policy: { max_waiting: 5 } });
  const answer = await reload();
  expect(answer.status).toBe(200);
  expect(Reloaded.parse(JSON.parse(answer.text))).toEqual({
    added: ['delta'],
    removed: ['gamma'],
    changed: [{ model: 'alpha', keys: [{ key: 'command', holds: 'restart' }] }],
    settings: [{ key: 'policy.max_waiting', holds: 'at_once' }],
    unchanged: 2,
    restarting: [],
  });
  await catnap.fact('model-forgotten', { model: 'gamma' });
  expect(lives(gamma)).toBe(false);
  expect(lives(alpha)).toBe(true);
  const renewed = await pidOf(catnap, 'alpha');
  expect(renewed).toMatch(/^\d+$/);
  expect(renewed).not.toBe(alpha);
  expect(lives(alpha)).toBe(false);
  expect(await pidOf(catnap, 'same')).toBe(same);
  expect(await pidOf(catnap, 'delta')).toMatch(/^\d+$/);
  expect((await catnap.chat('gamma')).status).toBe(404);
  expect((await catnap.models()).models.map(({ name }) => name)).toEqual(['alpha', 'beta', 'delta', 'same']);

  // A config that is wrong, or that wants what cannot be, changes nothing and says why.
  write({ models: { alpha: { backend: 'stub', tokns: 3 } as unknown as ModelInput } });
  const wrong = await reload();
  expect([wrong.status, JSON.parse(wrong.text)]).toMatchObject([400, { error: { code: 'invalid_config' } }]);
  expect(wrong.text).toContain('models.alpha.tokns');
  catnap.signal('SIGHUP');
  await catnap.fact('config-refused', { by: 'SIGHUP' });
  write({ models: next, port: 1, log_keep: 7 });
  const fixed = await reload();
  expect([fixed.status, JSON.parse(fixed.text)]).toMatchObject([
    409,
    {
      error: {
        code: 'needs_restart',
        problems: ['port: needs a restart of catnap', 'log_keep: needs a restart of catnap'],
      },
    },
  ]);
  expect((await catnap.get('/metrics')).text).toMatch(/^catnap_config_last_reload_successful 0$/m);
  expect((await catnap.get('/metrics')).text).toMatch(/^catnap_config_reloads_total\{result="refused"\} 3$/m);
  expect(await pidOf(catnap, 'alpha')).toBe(renewed);

  // On the command line, and at once.
  write({ models: { ...next, alpha: engine() }, watch_config: true });
  const told = await run(['reload', '--now', '--url', catnap.url]);
  expect([told.code, told.err]).toEqual([0, '']);
  expect(told.out).toMatch(/^changed {2}alpha: command \(now: it starts anew\)$/m);
  await expect.poll(() => lives(renewed)).toBe(false);

  // From now on the file is watched; editors put another one in its place.
  const file = configFile(folder);
  const aside = `${file}.new`;
  writeFileSync(
    aside,
    JSON.stringify({ port: 0, metrics_port: 0, state_dir: join(folder, 'state'), ...room, models: next }),
  );
  renameSync(aside, file);
  await catnap.fact('config-reloaded', { by: 'watch_config' });

  expect(stream.over).toBe(false);
  rmSync(holds);
  expect(await stream.closed).toBe('whole');
  expect(stream.body).toContain('"content"');
  expect(await catnap.told('leases-cut')).toEqual([]);
});

test('keys that change are other keys from then on, and what is open stays', async ({ expect, start, folder }) => {
  const [ann, bob] = ['ann-0123456789abcdef', 'bob-0123456789abcdef'];
  const holds = join(folder, 'holds');
  writeFileSync(holds, '');
  const keyed = (name: string): ConfigInput => ({
    models: { beta: engine('--hold-while', holds) },
    keys: [{ name: 'client', key_env: name }],
  });
  const catnap = await start(keyed('ANN'), { env: { ANN: ann, BOB: bob } });
  const asks = async (key: string): Promise<number> =>
    (await catnap.ask('/v1/models', { method: 'GET', headers: { authorization: `Bearer ${key}` } })).status;
  expect([await asks(ann), await asks(bob)]).toEqual([200, 401]);
  const open = catnap.ask('/v1/chat/completions', {
    body: JSON.stringify({ model: 'beta', messages: [{ role: 'user', content: 'Hello' }] }),
    headers: { authorization: `Bearer ${ann}`, 'content-type': 'application/json' },
  });
  await catnap.fact('request-granted');
  writeConfig(folder, keyed('BOB'));
  catnap.signal('SIGHUP');
  await catnap.fact('config-reloaded');
  expect([await asks(ann), await asks(bob)]).toEqual([401, 200]);
  rmSync(holds);
  expect((await open).status).toBe(200);
});
