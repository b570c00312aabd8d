import { chatBody } from '../helpers/catnap.ts';
import { RawClient } from '../helpers/client.ts';
import { test } from '../helpers/e2e.ts';
import { errorIn, EventStream, LONG } from '../helpers/event-stream.ts';

const WELL = { code: 0, signal: null };

test('SIGTERM lets in nobody new, and ends once what runs and what waits is answered', async ({
  expect,
  start,
  llama,
}) => {
  const valve = llama.valved();
  const alpha = await llama.counts(1_000, { llama_server_command: valve.command });
  const catnap = await start({ models: { alpha, beta: await llama.says('I am beta.') } });
  const running = await (await catnap.stream('alpha')).begun();
  const waiting = catnap.chat('beta');
  await catnap.fact('swap-planned', { to: 'beta' });
  expect((await catnap.get('/readyz')).status).toBe(200);
  catnap.signal('SIGTERM');
  await catnap.fact('shutdown-asked', { by: 'SIGTERM', inFlight: 1, waiting: 1 });

  expect((await catnap.get('/readyz')).status).toBe(503);
  expect((await catnap.get('/livez')).status).toBe(200);
  expect(await catnap.models()).toMatchObject({ accepting: false });
  for (const name of ['alpha', 'beta']) {
    const { status, headers, text } = await catnap.chat(name);
    expect([status, JSON.parse(text).error.code]).toEqual([503, 'shutting_down']);
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
  }
  valve.open();
  expect(await running.closed).toBe('whole');
  expect(running.said.endsWith(' 999 1000')).toBe(true);
  expect(JSON.parse((await waiting).text).choices[0].message.content).toBe('I am beta.');
  expect(await catnap.exited).toEqual(WELL);
});

test('SIGINT ends it as well, though clients keep their connections', async ({
  expect,
  start,
  llama,
  onTestFinished,
}) => {
  const catnap = await start({ models: { alpha: await llama.says('I am alpha.') } });
  await catnap.chat('alpha');
  const idle = new RawClient(catnap.port, onTestFinished).say('GET /health HTTP/1.1\r\nhost: a\r\n\r\n');
  await expect.poll(() => idle.text).toContain('200 OK');
  const silent = new RawClient(catnap.port, onTestFinished);
  expect(await catnap.stop('SIGINT')).toEqual(WELL);
  await expect.poll(() => idle.closed && silent.closed).toBe(true);
});

test('what takes longer than shutdown_timeout_secs is cut', async ({ expect, start, llama }) => {
  const catnap = await start({
    models: { alpha: await llama.counts(200), beta: await llama.says('I am beta.') },
    shutdown_timeout_secs: 0.3,
    stop_grace_secs: 0.1,
  });
  await catnap.chat('alpha', { max_tokens: 1 });
  const { pid } = await catnap.engine('alpha');
  const stream = await (await catnap.stream('alpha', LONG)).begun();
  process.kill(pid, 'SIGSTOP');
  const unanswered = catnap.chat('alpha');
  const waiting = catnap.chat('beta');
  await catnap.fact('request-granted', { model: 'alpha' }, 3);
  await catnap.fact('request-arrived', { model: 'beta' });
  expect(await catnap.stop()).toEqual(WELL);
  expect(await stream.closed).toBe('cut');
  expect(errorIn(stream.body)?.code).toBe('shutting_down');
  for (const { status, text } of [await unanswered, await waiting])
    expect([status, JSON.parse(text).error.code]).toEqual([503, 'shutting_down']);
});

test('a second signal ends it at once, with the code of that signal', async ({ expect, start, llama }) => {
  const catnap = await start({
    models: { alpha: await llama.counts(200) },
    // Longer than this test may take.
    shutdown_timeout_secs: 400,
    stop_grace_secs: 100,
    stop_timeout_secs: 400,
  });
  await catnap.chat('alpha', { max_tokens: 1 });
  const { pid } = await catnap.engine('alpha');
  const stream = await (await catnap.stream('alpha', LONG)).begun();
  process.kill(pid, 'SIGSTOP');
  catnap.signal('SIGTERM');
  await catnap.fact('shutdown-asked');
  expect(await catnap.stop('SIGINT')).toEqual({ code: 130, signal: null });
  expect(await stream.closed).toBe('cut');
});

test('a signal that comes twice at once, as when npm passes on what everybody was told, is one wish', async ({
  expect,
  start,
  llama,
}) => {
  const catnap = await start({ models: { alpha: await llama.counts(200) } });
  await catnap.chat('alpha', { max_tokens: 1 });
  catnap.signal('SIGTERM');
  expect(await catnap.stop('SIGTERM')).toEqual(WELL);
});

test('SIGTERM while a model starts waits for those who asked for it', async ({ expect, start, llama }) => {
  const gate = llama.gated();
  const models = { alpha: await llama.says('I am alpha.', { llama_server_command: gate.command }) };
  const catnap = await start({ models });
  const asked = catnap.chat('alpha');
  await catnap.fact('engine-moved', { to: 'starting' });
  catnap.signal('SIGTERM');
  await catnap.fact('shutdown-asked', { waiting: 1 });
  gate.open();
  expect((await asked).status).toBe(200);
  expect(await catnap.exited).toEqual(WELL);
});

test('SIGTERM does not wait for a start that nobody waits for', async ({ expect, start, llama }) => {
  const gate = llama.gated();
  const models = { alpha: await llama.says('I am alpha.', { llama_server_command: gate.command }) };
  const catnap = await start({ models });
  const leaving = new AbortController();
  const path = '/v1/chat/completions';
  const left = expect(EventStream.open(catnap.port, path, chatBody('alpha'), leaving.signal)).rejects.toThrow();
  await catnap.fact('engine-moved', { to: 'starting' });
  leaving.abort();
  await left;
  await catnap.fact('request-ended', { outcome: 'abandoned' });
  expect(await catnap.stop()).toEqual(WELL);
});
