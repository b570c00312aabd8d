import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, test } from '../helpers/e2e.ts';
import { errorIn, LONG } from '../helpers/event-stream.ts';
import { waitFor } from '../helpers/wait-for.ts';

const ENGINE = join(import.meta.dirname, '../fixtures/engine.ts');

test('an engine that is killed while nobody needs it is started again by the next request, and not before', async ({
  expect,
  start,
  llama,
}) => {
  const catnap = await start({ models: { alpha: await llama.says('I am alpha.') } });
  await catnap.chat('alpha');
  const { pid } = await catnap.engine('alpha');
  process.kill(pid, 'SIGKILL');
  await catnap.fact('engine-failed', { model: 'alpha' });
  await catnap.fact('engine-moved', { to: 'failed' });
  expect(await catnap.model('alpha')).toMatchObject({
    is_loaded: false,
    last_error: expect.stringContaining('SIGKILL'),
    last_failure: { during: 'awake', attempts: 1 },
  });
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect((await catnap.engine('alpha')).pid).not.toBe(pid);
  expect(await catnap.model('alpha')).toMatchObject({ is_loaded: true, last_error: null });
  expect(await catnap.told('engine-started')).toHaveLength(2);
});

test('an engine that is killed while it answers ends each answer so that nobody takes it for a whole one', async ({
  expect,
  start,
  llama,
}) => {
  const catnap = await start({ models: { alpha: await llama.counts(200) } });
  await catnap.chat('alpha', { max_tokens: 1 });
  const { pid } = await catnap.engine('alpha');
  const stream = await (await catnap.stream('alpha', LONG)).begun();
  process.kill(pid, 'SIGSTOP');
  const unanswered = catnap.chat('alpha');
  await catnap.fact('request-granted', {}, 3);
  process.kill(pid, 'SIGKILL');

  expect(await stream.closed).toBe('cut');
  expect(errorIn(stream.body)).toMatchObject({ code: 'engine_died' });
  expect(stream.body).not.toContain('[DONE]');
  const { status, headers, text } = await unanswered;
  expect([status, JSON.parse(text).error.code, headers['x-catnap-error']]).toEqual([502, 'engine_died', 'engine_died']);
  expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect(await catnap.model('alpha')).toMatchObject({ is_loaded: true, runtime_inflight: 0 });
});

test('an engine that is killed while it starts: who waits is told why, and the next request is answered', async ({
  expect,
  start,
  llama,
}) => {
  const gate = llama.gated();
  const catnap = await start({
    models: { alpha: await llama.says('I am alpha.', { llama_server_command: gate.command }) },
    restart: { first_delay_secs: 0 },
  });
  const asked = catnap.chat('alpha');
  const { pid } = await waitFor('alpha to start', () => catnap.engine('alpha').catch(() => false));
  process.kill(pid, 'SIGKILL');
  const { status, headers, text } = await asked;
  expect([status, JSON.parse(text).error.code]).toEqual([503, 'engine_failed']);
  expect(JSON.parse(text).error.message).toContain('its engine did not start');
  expect((await catnap.model('alpha')).last_error).toContain('SIGKILL');
  expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
  gate.open();
  expect((await catnap.chat('alpha')).status).toBe(200);
});

test('an engine that is killed while it stops, or cannot stop by itself, keeps nobody waiting', async ({
  expect,
  start,
  llama,
}) => {
  const catnap = await start({
    models: { alpha: await llama.says('I am alpha.'), beta: await llama.says('Beta.', { stop_grace_secs: 0.2 }) },
    // Longer than this test may take.
    stop_grace_secs: 100,
    stop_timeout_secs: 400,
  });
  await catnap.chat('alpha');
  const alpha = await catnap.engine('alpha');
  // A process that is halted takes no notice of SIGTERM.
  process.kill(alpha.pid, 'SIGSTOP');
  const asked = catnap.chat('beta');
  await catnap.fact('engine-moved', { model: 'alpha', to: 'stopping' });
  process.kill(alpha.pid, 'SIGKILL');
  expect((await asked).status).toBe(200);

  const beta = await catnap.engine('beta');
  process.kill(beta.pid, 'SIGSTOP');
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect(isAlive(beta.pid)).toBe(false);
  expect(await catnap.told('engine-failed')).toEqual([]);
});

test('an engine that hangs in the middle of a stream is found out and restarted', async ({ expect, start, llama }) => {
  const catnap = await start({
    models: { alpha: await llama.counts(200) },
    stall_timeout_secs: 0.5,
    // Long enough for one that is well, on a machine that has much to do.
    stall_probe_timeout_secs: 5,
    stop_grace_secs: 0.1,
  });
  await catnap.chat('alpha', { max_tokens: 1 });
  const { pid } = await catnap.engine('alpha');
  const stream = await (await catnap.stream('alpha', LONG)).begun();
  process.kill(pid, 'SIGSTOP');
  expect(await stream.closed).toBe('cut');
  expect(errorIn(stream.body)?.code).toBe('engine_died');
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect(isAlive(pid)).toBe(false);
  expect(await catnap.told('engine-failed')).toMatchObject([
    { failure: { during: 'awake', reason: expect.stringContaining('sent nothing for 0.5 s') } },
  ]);
});

test('an engine that hangs and still says that it is healthy is not believed', async ({ expect, start, folder }) => {
  const hangs = join(folder, 'hangs');
  const catnap = await start({
    models: {
      alpha: { backend: 'command', command: [process.execPath, ENGINE, '--port', '${PORT}', '--hang-while', hangs] },
    },
    stall_timeout_secs: 0.5,
    stall_probe_timeout_secs: 5,
  });
  expect((await catnap.chat('alpha')).status).toBe(200);
  const { pid, port } = await catnap.engine('alpha');
  writeFileSync(hangs, '');
  expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
  const stream = await catnap.stream('alpha');
  expect(await stream.closed).toBe('cut');
  expect(errorIn(stream.body)?.code).toBe('engine_died');
  rmSync(hangs);
  expect((await catnap.chat('alpha')).status).toBe(200);
  expect((await catnap.engine('alpha')).pid).not.toBe(pid);
});

test('an engine that works on one long answer in silence is left to it', async ({ expect, start, llama }) => {
  const catnap = await start({ models: { alpha: await llama.counts(200) }, stall_timeout_secs: 0.2 });
  await catnap.chat('alpha', { max_tokens: 1 });
  const { pid } = await catnap.engine('alpha');
  const { status, text } = await catnap.chat('alpha', { ...LONG, max_tokens: 1_500 });
  expect([status, JSON.parse(text).usage.completion_tokens]).toEqual([200, 1_500]);
  expect((await catnap.engine('alpha')).pid).toBe(pid);
});
