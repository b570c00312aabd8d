import { JSON_BODY } from '../helpers/catnap.ts';
import { test } from '../helpers/e2e.ts';
import { startLlama } from '../helpers/llama.ts';
import { sayModel } from '../helpers/models.ts';
import { teeBefore } from '../helpers/tee.ts';

const ALPHA = 'I am alpha.';
const BETA = 'I am beta.';

test('the model that is named answers, whoever was awake before', async ({ expect, start, llama }) => {
  const catnap = await start({
    models: { alpha: await llama.says(ALPHA, { aliases: ['gpt-4o'] }), beta: await llama.says(BETA) },
  });
  const answers = [];
  for (const name of ['alpha', 'beta', 'gpt-4o', 'beta']) {
    const { status, text } = await catnap.chat(name);
    const { model, choices } = JSON.parse(text);
    answers.push([status, model, choices[0].message.content]);
  }
  expect(answers).toEqual([
    [200, 'alpha', ALPHA],
    [200, 'beta', BETA],
    [200, 'alpha', ALPHA],
    [200, 'beta', BETA],
  ]);
});

test('a name that nobody has is answered 404 and starts nothing', async ({ expect, start, llama }) => {
  const catnap = await start({ models: { alpha: await llama.says(ALPHA) } });
  const { status, headers, text } = await catnap.chat('alfa');
  expect([status, headers['x-catnap-error'], headers['x-should-retry']]).toEqual([404, 'model_not_found', 'false']);
  expect(JSON.parse(text).error).toMatchObject({ code: 'model_not_found', param: 'model' });
  expect(JSON.parse(text).error.message).toContain('GET /v1/models');
  expect(await catnap.model('alpha')).toMatchObject({ runtime_state: 'unloaded' });
  expect(await catnap.told('swap-planned')).toEqual([]);
});

const USER = [{ role: 'user', content: 'Hello' }];

test('every inference path reaches the engine and brings its answer back', async ({ expect, start, llama }) => {
  const catnap = await start({ models: { alpha: await llama.says(ALPHA, { aliases: ['gpt-4o'] }) } });
  const post = async (path: string, body: object) => {
    const reply = await catnap.ask(path, { headers: JSON_BODY, body: JSON.stringify({ model: 'gpt-4o', ...body }) });
    expect([path, reply.status, reply.headers['x-request-id'] !== undefined]).toEqual([path, 200, true]);
    return JSON.parse(reply.text);
  };
  expect((await post('/v1/completions', { prompt: 'Hello' })).choices[0].text).toBe(ALPHA);
  expect((await post('/v1/chat/completions', { messages: USER })).choices[0].message.content).toBe(ALPHA);
  expect((await post('/v1/responses', { input: 'Hello' })).output[0].content[0].text).toBe(ALPHA);
  expect((await post('/v1/messages', { messages: USER, max_tokens: 99 })).content[0].text).toBe(ALPHA);
  expect((await post('/v1/messages/count_tokens', { messages: USER })).input_tokens).toBeGreaterThan(0);
  expect((await post('/tokenize', { content: 'alpha' })).tokens).not.toEqual([]);
});

test('a stream is what the engine sent, byte for byte', async ({ expect, start, llama }) => {
  await using engine = await startLlama({ server: llama.server, model: await sayModel(ALPHA) });
  await using tee = await teeBefore(engine.origin);
  const catnap = await start({ models: { alpha: { backend: 'openai_remote', url: `${tee.origin}/v1` } } });
  const asks = [
    ['/v1/chat/completions', { messages: USER, stream_options: { include_usage: true } }, 'data: [DONE]\n\n'],
    ['/v1/completions', { prompt: 'Hello' }, 'data: [DONE]\n\n'],
    ['/v1/responses', { input: 'Hello' }, '\n\n'],
    ['/v1/messages', { messages: USER, max_tokens: 99 }, '\n\n'],
  ] as const;
  for (const [at, [path, body, end]] of asks.entries()) {
    const asked = JSON.stringify({ model: 'alpha', stream: true, ...body });
    const { status, headers, body: got, text, whole } = await catnap.ask(path, { headers: JSON_BODY, body: asked });
    const sent = Buffer.concat(tee.answers[at] ?? []);
    expect([path, status, headers['content-type'], whole]).toEqual([path, 200, 'text/event-stream', true]);
    expect(text).toContain('alpha');
    expect(text.endsWith(end)).toBe(true);
    expect(got.equals(sent)).toBe(true);
  }
});

test('a model that makes vectors makes the same through catnap', async ({ expect, start, llama }) => {
  const catnap = await start({ models: { vectors: await llama.embeds() } });
  const asking = { headers: JSON_BODY, body: JSON.stringify({ model: 'vectors', input: 'a few words' }) };
  const { status, text } = await catnap.ask('/v1/embeddings', asking);
  const { port } = await catnap.engine('vectors');
  const direct = await fetch(`http://127.0.0.1:${port}/v1/embeddings`, { method: 'POST', ...asking });
  const vector = JSON.parse(text).data[0].embedding;
  expect([status, vector.length]).toEqual([200, 64]);
  expect(vector).toEqual(JSON.parse(await direct.text()).data[0].embedding);
});
