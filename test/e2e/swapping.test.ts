import type { Reply } from '../helpers/client.ts';
import { chatBody, JSON_BODY, writeConfig } from '../helpers/catnap.ts';
import { test } from '../helpers/e2e.ts';
import { errorIn, EventStream, LONG } from '../helpers/event-stream.ts';

const BETA = 'I am beta.';

/** What a model that counts says. */
const numbers = (to: number): string => Array.from({ length: to }, (_, at) => ` ${at + 1}`).join('');

const answerIn = ({ text }: Reply): string => JSON.parse(text).choices[0].message.content;

const freeze = (pid: number): boolean => process.kill(pid, 'SIGSTOP');
const thaw = (pid: number): boolean => process.kill(pid, 'SIGCONT');

test('a stream is never cut by a request for another model, which is answered right after it', async ({
  expect,
  start,
  llama,
}) => {
  const valve = llama.valved();
  const alpha = await llama.counts(1_000, { llama_server_command: valve.command });
  const catnap = await start({ models: { alpha, beta: await llama.says(BETA) } });
  const stream = await (await catnap.stream('alpha')).begun();
  const beta = catnap.chat('beta');
  await catnap.fact('swap-planned', { to: 'beta' });

  const { models, swap } = await catnap.models();
  expect(models).toMatchObject([
    { name: 'alpha', runtime_state: 'unloading', runtime_inflight: 1 },
    { name: 'beta', runtime_state: 'loading', queue_depth: 1 },
  ]);
  expect(swap).toMatchObject({ from: ['alpha'], to: 'beta' });
  expect(stream.over).toBe(false);

  valve.open();
  expect(await stream.closed).toBe('whole');
  expect(stream.said).toBe(numbers(1_000));
  expect(stream.body.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(answerIn(await beta)).toBe(BETA);
});

test('requests are served in the order of their arrival, in batches', async ({ expect, start, llama }) => {
  const one = { target_inflight: 1 };
  const catnap = await start({ models: { alpha: await llama.counts(60, one), beta: await llama.says(BETA, one) } });
  await catnap.chat('alpha');
  const { pid } = await catnap.engine('alpha');
  freeze(pid);
  const asked: Promise<Reply>[] = [];
  for (const [at, name] of ['alpha', 'alpha', 'beta', 'alpha', 'beta', 'alpha'].entries()) {
    const headers = { ...JSON_BODY, 'x-request-id': `${name}-${at}` };
    asked.push(catnap.ask('/v1/chat/completions', { body: chatBody(name), headers }));
    // The first of alpha came before.
    const before = catnap.facts('request-arrived', { model: name }).length;
    await catnap.fact('request-arrived', { model: name }, before + 1);
  }
  thaw(pid);
  const replies = await Promise.all(asked);
  expect(replies.map(({ status }) => status)).toEqual(asked.map(() => 200));
  // Alpha's second came before anybody wanted beta, the others did not. All of beta's had come when it was its turn.
  const [, ...served] = (await catnap.told('request-ended')).map(({ id }) => id);
  expect(served).toEqual(['alpha-0', 'alpha-1', 'beta-2', 'beta-4', 'alpha-3', 'alpha-5']);
});

test('ten first requests for a cold model start it once', async ({ expect, start, llama }) => {
  const gate = llama.gated();
  const catnap = await start({
    models: { alpha: await llama.says('I am alpha.', { llama_server_command: gate.command }) },
    // Shorter than the start, which does not count as waiting for a turn.
    policy: { request_timeout_secs: 0.2 },
  });
  const asked = Array.from({ length: 10 }, () => catnap.chat('alpha'));
  const row = () => catnap.model('alpha');
  await expect.poll(row).toMatchObject({ runtime_state: 'loading', queue_depth: 10 });
  await expect.poll(async () => (await row()).oldest_wait_secs).toBeGreaterThan(0.4);
  gate.open();
  expect((await Promise.all(asked)).map(answerIn)).toEqual(Array.from({ length: 10 }, () => 'I am alpha.'));
  expect(await catnap.told('engine-started')).toHaveLength(1);
  expect(await catnap.told('swap-planned')).toHaveLength(1);
});

test('a request whose client left while it waited causes no swap', async ({ expect, start, llama }) => {
  const valve = llama.valved();
  const alpha = await llama.counts(1_000, { llama_server_command: valve.command });
  const catnap = await start({ models: { alpha, beta: await llama.says(BETA) } });
  const stream = await (await catnap.stream('alpha')).begun();
  const { pid } = await catnap.engine('alpha');
  const leaving = new AbortController();
  const beta = EventStream.open(catnap.port, '/v1/chat/completions', chatBody('beta'), leaving.signal);
  await catnap.fact('swap-planned', { to: 'beta' });
  leaving.abort();
  await expect(beta).rejects.toThrow();
  await catnap.fact('swap-finished', { to: 'beta', result: 'withdrawn' });
  valve.open();
  expect(await stream.closed).toBe('whole');
  expect(stream.said).toBe(numbers(1_000));
  expect((await catnap.chat('alpha', { max_tokens: 1 })).status).toBe(200);
  expect((await catnap.engine('alpha')).pid).toBe(pid);
  expect(await catnap.told('engine-moved', { model: 'beta' })).toEqual([]);
});

test('a start goes on when the client that caused it leaves', async ({ expect, start, llama }) => {
  const gate = llama.gated();
  const catnap = await start({
    models: { alpha: await llama.says('I am alpha.', { llama_server_command: gate.command }) },
  });
  const leaving = new AbortController();
  const asked = EventStream.open(catnap.port, '/v1/chat/completions', chatBody('alpha'), leaving.signal);
  await catnap.fact('engine-moved', { to: 'starting' });
  leaving.abort();
  await expect(asked).rejects.toThrow();
  await catnap.fact('request-ended', { outcome: 'abandoned' });
  gate.open();
  await catnap.fact('swap-finished', { to: 'alpha', result: 'done' });
  expect(await catnap.model('alpha')).toMatchObject({ is_loaded: true, runtime_inflight: 0 });
});

test('without draining, a swap cuts what is served: 503 before the first byte, an error event after it', async ({
  expect,
  start,
  llama,
}) => {
  const catnap = await start({
    models: { alpha: await llama.counts(200), beta: await llama.says(BETA) },
    policy: { drain_before_switch: false },
  });
  await catnap.chat('alpha', { max_tokens: 1 });
  const { pid } = await catnap.engine('alpha');
  const stream = await (await catnap.stream('alpha', LONG)).begun();
  freeze(pid);
  const unanswered = catnap.chat('alpha');
  await catnap.fact('request-granted', { model: 'alpha' }, 3);
  const beta = catnap.chat('beta');

  const { status, headers, text } = await unanswered;
  expect([status, JSON.parse(text).error.code]).toEqual([503, 'drained']);
  expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect(await stream.closed).toBe('cut');
  expect(errorIn(stream.body)?.code).toBe('drained');
  expect(stream.body).not.toContain('[DONE]');
  thaw(pid);
  expect(answerIn(await beta)).toBe(BETA);
});

test('a drain ends at its deadline', async ({ expect, start, llama }) => {
  const catnap = await start({
    models: { alpha: await llama.counts(200), beta: await llama.says(BETA) },
    policy: { drain_timeout_secs: 0.3 },
  });
  await catnap.chat('alpha', { max_tokens: 1 });
  const { pid } = await catnap.engine('alpha');
  const stream = await (await catnap.stream('alpha', LONG)).begun();
  freeze(pid);
  const beta = catnap.chat('beta');
  expect(await stream.closed).toBe('cut');
  expect(errorIn(stream.body)?.code).toBe('drained');
  thaw(pid);
  expect(answerIn(await beta)).toBe(BETA);
});

test('who waits too long or finds the line full is told when to come back, and causes no swap', async ({
  expect,
  start,
  llama,
  folder,
}) => {
  const models = { alpha: await llama.counts(200), beta: await llama.says(BETA) };
  const catnap = await start({ models, policy: { max_waiting: 1 } });
  await catnap.chat('alpha', { max_tokens: 1 });
  const { pid } = await catnap.engine('alpha');
  const stream = await (await catnap.stream('alpha', LONG)).begun();
  freeze(pid);
  const leaving = new AbortController();
  const waiting = EventStream.open(catnap.port, '/v1/chat/completions', chatBody('beta'), leaving.signal);
  await catnap.fact('swap-planned', { to: 'beta' });
  const full = await catnap.chat('beta');
  leaving.abort();
  await expect(waiting).rejects.toThrow();
  await catnap.fact('request-ended', { outcome: 'abandoned' });

  writeConfig(folder, { models, policy: { max_waiting: 1, request_timeout_secs: 0.5 } });
  expect((await catnap.ask('/v1/admin/reload')).status).toBe(200);
  const late = await catnap.chat('beta');
  for (const [reply, status, code] of [
    [full, 429, 'lane_full'],
    [late, 503, 'wait_timeout'],
  ] as const) {
    expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([status, code]);
    expect(Number(reply.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(reply.headers['retry-after'])).toBeLessThanOrEqual(60);
  }
  expect(JSON.parse(late.text).error.message).toContain('alpha is draining');
  thaw(pid);
  stream.leave();
  expect(answerIn(await catnap.chat('alpha'))).toBe(numbers(200));
  expect(await catnap.told('engine-moved', { model: 'beta' })).toEqual([]);
});
