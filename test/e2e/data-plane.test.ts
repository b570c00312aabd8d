import { test } from 'vitest';
import { ask, chat, RawClient } from '../helpers/client.ts';
import { requireLlama } from '../helpers/llama.ts';
import { countModel, sayModel } from '../helpers/models.ts';
import { startCatnap, type RunningCatnap } from '../helpers/running-catnap.ts';
import { waitFor } from '../helpers/wait-for.ts';

const CHAT = '/v1/chat/completions';
const ONE_THREAD = ['--threads', '1'];

/** catnap with two real models: `alpha`, which says who it is, and `counter`, which counts to 400. */
async function twoModels(context: {
  skip(reason?: string): never;
  onTestFinished: (clean: () => Promise<void>) => void;
}): Promise<RunningCatnap> {
  const server = await requireLlama(context);
  const common = { backend: 'llama_server', llama_server_n_ctx: 2_048, extra_args: ONE_THREAD } as const;
  return startCatnap(
    {
      llama_server_command: server,
      models: {
        alpha: { ...common, model_path: await sayModel('I am alpha.'), aliases: ['gpt-4o'] },
        counter: { ...common, model_path: await countModel(400) },
      },
    },
    context.onTestFinished,
  );
}

const said = (sse: string): string =>
  sse
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => (JSON.parse(line.slice(6)) as { choices: { delta: { content?: string } }[] }).choices)
    .map(([choice]) => choice?.delta.content ?? '')
    .join('');

/** Longer than any test looks at it. */
const ENDLESS = { ignore_eos: true, max_tokens: 4_000 };

const numbers = (count: number): string => Array.from({ length: count }, (_, i) => ` ${i + 1}`).join('');

test('a model answers under its own name and under another, and says what the answer cost', async (context) => {
  const { expect } = context;
  const { port } = await twoModels(context);
  const first = await ask(port, CHAT, { body: chat('gpt-4o'), headers: { 'x-request-id': 'mine' } });
  expect(first.status).toBe(200);
  expect(JSON.parse(first.text)).toMatchObject({ model: 'alpha', choices: [{ message: { content: 'I am alpha.' } }] });
  expect(first.headers['x-request-id']).toBe('mine');
  expect(first.headers['server-timing']).toMatch(/queue;dur=[\d.]+, swap;dur=[1-9][\d.]*, engine;dur=[\d.]+/);
  const second = await ask(port, CHAT, { body: chat('alpha') });
  expect(second.headers['server-timing']).toMatch(/swap;dur=0, /);
  const models = await ask(port, '/v1/models', { method: 'GET', headers: { 'x-request-id': 'mine' } });
  expect(models.headers['x-request-id']).toBe('mine');
});

test('a server that closes its connection after every stream costs nobody a request', async (context) => {
  const { expect } = context;
  const { port } = await twoModels(context);
  const body = chat('alpha', { stream: true });
  for (let round = 0; round < 20; round++) {
    const replies = await Promise.all([1, 2, 3].map(() => ask(port, CHAT, { body })));
    expect(replies.map(({ status, text, whole }) => [status, said(text), whole])).toEqual(
      Array(3).fill([200, 'I am alpha.', true]),
    );
  }
});

test('no token of a stream is lost or doubled', async (context) => {
  const { expect } = context;
  const { port } = await twoModels(context);
  const reply = await ask(port, CHAT, { body: chat('counter', { stream: true }) });
  expect(said(reply.text)).toBe(numbers(400));
  expect(reply.text.trimEnd().endsWith('data: [DONE]')).toBe(true);
});

test('a client that leaves stops the engine, also when it asked it to go on without it', async (context) => {
  const { expect } = context;
  const catnap = await twoModels(context);
  await ask(catnap.port, CHAT, { body: chat('counter', { max_tokens: 1 }) });
  const { port: enginePort } = await catnap.engine('counter');
  const body = chat('counter', { stream: true, ...ENDLESS });
  const client = new RawClient(catnap.port, context.onTestFinished).say(
    `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nX-Conversation-Id: c1\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await waitFor('the first words', () => client.text.includes('data: {'));
  client.leave();
  const atEngine = async (path: string): Promise<string> => (await ask(enginePort ?? 0, path, { method: 'GET' })).text;
  await waitFor('the engine to be idle', async () => !(await atEngine('/slots')).includes('"is_processing":true'));
  const made = Number(/^llamacpp:tokens_predicted_total (\d+)$/m.exec(await atEngine('/metrics'))?.[1]);
  expect(made).toBeLessThan(3_000);
  await waitFor('the lease to be settled', async () => {
    const { text } = await ask(catnap.port, '/v1/admin/models', { method: 'GET' });
    return !text.includes('"runtime_inflight":1');
  });
});

test('an engine that is killed ends its stream visibly, and the next request gets a new one', async (context) => {
  const { expect } = context;
  const catnap = await twoModels(context);
  await ask(catnap.port, CHAT, { body: chat('counter', { max_tokens: 1 }) });
  const before = await catnap.engine('counter');
  const client = new RawClient(catnap.port, context.onTestFinished).post(
    CHAT,
    chat('counter', { stream: true, ...ENDLESS }),
  );
  await waitFor('the first words', () => client.text.includes('data: {'));
  process.kill(before.pid ?? 0, 'SIGKILL');
  await waitFor('the end', () => client.closed);
  expect(client.text).toMatch(
    /data: \{"error":\{"message":"[^"]*","type":"server_error","param":null,"code":"engine_died"\}\}/,
  );
  expect(client.text).not.toContain('[DONE]');
  expect(client.text.endsWith('\r\n0\r\n\r\n')).toBe(false);

  const next = await ask(catnap.port, CHAT, { body: chat('counter', { max_tokens: 3 }) });
  expect([next.status, JSON.parse(next.text)]).toMatchObject([200, { choices: [{ message: { content: ' 1 2 3' } }] }]);
  expect((await catnap.engine('counter')).pid).not.toBe(before.pid);
});
