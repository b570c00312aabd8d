import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { Catnap } from '../helpers/catnap.ts';
import { test } from '../helpers/e2e.ts';
import { LONG } from '../helpers/event-stream.ts';
import { waitFor } from '../helpers/wait-for.ts';

const ALPHA = 'I am alpha.';
const USER = [{ role: 'user' as const, content: 'Hello' }];

type OpenAiTerms = ConstructorParameters<typeof OpenAI>[0];

const openai = ({ url }: Catnap, terms: OpenAiTerms = {}): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-of-a-client', maxRetries: 0, ...terms });

const anthropic = ({ url }: Catnap): Anthropic =>
  new Anthropic({ baseURL: url, apiKey: 'sk-ant-of-a-client', maxRetries: 0 });

/** A template that llama-server knows the tool calls of. */
const HERMES =
  '{% if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>' +
  '<tool_call>{"name": <function-name>, "arguments": <args-dict>}</tool_call>{% endif %}' +
  '{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}' +
  '{% for call in message.tool_calls %}<tool_call>\n{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}' +
  '<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';

/** What a call fails with. */
async function failure(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

/** All that a stream says, in one piece. */
async function read(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<string> {
  let said = '';
  for await (const { choices } of stream) said += choices[0]?.delta.content ?? '';
  return said;
}

test("OpenAI's client: chat, stream, completion, responses, models", async ({ expect, start, llama }) => {
  const catnap = await start({ models: { alpha: await llama.says(ALPHA), beta: await llama.says('I am beta.') } });
  const client = openai(catnap);
  const chat = await client.chat.completions.create({ model: 'alpha', messages: USER });
  expect(chat.choices[0]?.message.content).toBe(ALPHA);
  const stream = await client.chat.completions.create({ model: 'beta', messages: USER, stream: true });
  expect(await read(stream)).toBe('I am beta.');
  expect((await client.completions.create({ model: 'alpha', prompt: 'Hello' })).choices[0]?.text).toBe(ALPHA);
  expect((await client.responses.create({ model: 'alpha', input: 'Hello' })).output_text).toBe(ALPHA);
  const { data } = await client.models.list();
  expect(data.map(({ id }) => id)).toEqual(['alpha', 'beta']);
});

test("OpenAI's client: embeddings, which it decodes itself", async ({ expect, start, llama }) => {
  const catnap = await start({ models: { vectors: await llama.embeds() } });
  const { data } = await openai(catnap).embeddings.create({ model: 'vectors', input: ['Hello', 'again'] });
  expect(data).toHaveLength(2);
  expect(data[0]?.embedding.length).toBeGreaterThan(1);
  expect(data[0]?.embedding.every((value) => Number.isFinite(value))).toBe(true);
});

test("OpenAI's client: a tool is called", async ({ expect, start, llama }) => {
  const call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Ankara"}}\n</tool_call>';
  const template = ['--jinja', '--chat-template', HERMES];
  const catnap = await start({ models: { alpha: await llama.says(call, { extra_args: template }) } });
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const reply = await openai(catnap).chat.completions.create({
    model: 'alpha',
    messages: USER,
    tools: [{ type: 'function', function: { name: 'weather', parameters } }],
    max_tokens: 200,
  });
  const [tool] = reply.choices[0]?.message.tool_calls ?? [];
  expect(tool).toMatchObject({ type: 'function', function: { name: 'weather', arguments: '{"city": "Ankara"}' } });
});

test("OpenAI's client: an error of ours and one of the engine are told apart by what they say", async ({
  expect,
  start,
  llama,
}) => {
  const catnap = await start({ models: { alpha: await llama.says(ALPHA) } });
  const { completions } = openai(catnap).chat;
  expect(await failure(completions.create({ model: 'alfa', messages: USER }))).toMatchObject({
    status: 404,
    code: 'model_not_found',
    param: 'model',
  });
  // @ts-expect-error -- what the engine must refuse
  const wrong = await failure(completions.create({ model: 'alpha', messages: USER, temperature: 'hot' }));
  if (!(wrong instanceof OpenAI.APIError)) throw wrong;
  expect(wrong.headers?.get('x-catnap-error')).toBeNull();
  expect(wrong.headers?.get('x-request-id')).toBeTruthy();
});

test("OpenAI's client: an image of 20 MB reaches the engine whole", async ({ expect, start, llama }) => {
  const catnap = await start({ models: { alpha: await llama.says(ALPHA) } });
  const image = `data:image/png;base64,${Buffer.alloc(15_000_000, 'catnap').toString('base64')}`;
  const content = [{ type: 'image_url' as const, image_url: { url: image } }];
  const call = openai(catnap).chat.completions.create({ messages: [{ role: 'user', content }], model: 'alpha' });
  // A model that sees nothing says so once it has read everything.
  expect(String(await failure(call))).toMatch(/image input is not supported/);
  expect((await catnap.fact('request-ended'))['bytesIn']).toBeGreaterThan(20_000_000);
});

test("OpenAI's client: a stream that is aborted frees the engine", async ({ expect, start, llama }) => {
  const catnap = await start({ models: { alpha: await llama.counts(200) } });
  const body = { model: 'alpha', messages: USER, stream: true as const, ...LONG };
  const stream = await openai(catnap).chat.completions.create(body);
  for await (const { choices } of stream) if (choices[0]?.delta.content) break;
  stream.controller.abort();
  await catnap.fact('request-ended', { outcome: 'aborted', status: 499 });
  const slots = async (): Promise<string> => (await catnap.get('/slots?model=alpha')).text;
  await waitFor('the slot to be free', async () => !(await slots()).includes('"is_processing":true'));
  expect(await catnap.model('alpha')).toMatchObject({ runtime_inflight: 0 });
});

test("OpenAI's client: a call that would time out is answered before, a stream is kept company", async ({
  expect,
  start,
  llama,
}) => {
  const gate = llama.gated();
  const alpha = await llama.says(ALPHA, { llama_server_command: gate.command });
  const catnap = await start({ models: { alpha } });
  // It says as ever how long it waits, and then waits for as long as that takes on a machine that is slow.
  const patient: typeof fetch = (input, init) => fetch(input, { ...init, signal: null });
  const { completions } = openai(catnap, { fetch: patient }).chat;
  const stream = completions.create({ model: 'alpha', messages: USER, stream: true }, { timeout: 2_000 });
  const late = await failure(completions.create({ model: 'alpha', messages: USER }, { timeout: 2_000 }));
  expect(late).toMatchObject({ status: 503, code: 'wait_timeout' });
  expect(String(late)).toContain('alpha starts');
  const waited = await stream;
  gate.open();
  expect(await read(waited)).toBe(ALPHA);
});

test("OpenAI's client: it tries again when its engine is lost", async ({ expect, start, llama }) => {
  const catnap = await start({ models: { alpha: await llama.says(ALPHA) } });
  await catnap.chat('alpha');
  const { pid } = await catnap.engine('alpha');
  process.kill(pid, 'SIGSTOP');
  const call = openai(catnap, { maxRetries: 2 }).chat.completions.create({ model: 'alpha', messages: USER });
  const answer = call.then(({ choices }) => choices[0]?.message.content);
  await catnap.fact('request-granted', {}, 2);
  process.kill(pid, 'SIGKILL');
  expect(await answer).toBe(ALPHA);
  expect((await catnap.told('request-ended')).map(({ code }) => code)).toContain('engine_died');
});

test('both clients throw when a stream that waits comes to nothing', async ({ expect, start, llama }) => {
  const catnap = await start({
    models: { alpha: await llama.counts(200), beta: await llama.says('I am beta.') },
    policy: { request_timeout_secs: 0.6 },
    wait_comment_after_secs: 0.1,
    wait_comment_every_secs: 0.1,
  });
  await catnap.chat('alpha', { max_tokens: 1 });
  const { pid } = await catnap.engine('alpha');
  const alpha = await (await catnap.stream('alpha', LONG)).begun();
  process.kill(pid, 'SIGSTOP');
  const beta = { model: 'beta', messages: USER, stream: true as const };
  const byOpenAi = openai(catnap).chat.completions.create(beta).then(read);
  const byAnthropic = anthropic(catnap)
    .messages.stream({ ...beta, max_tokens: 9 })
    .finalMessage();
  const [first, second] = await Promise.all([failure(byOpenAi), failure(byAnthropic)]);
  expect(first).toBeInstanceOf(OpenAI.APIError);
  expect(first).toMatchObject({ code: 'wait_timeout' });
  expect(second).toBeInstanceOf(Anthropic.APIError);
  expect(String(second)).toContain('alpha is draining');
  process.kill(pid, 'SIGCONT');
  alpha.leave();
});

test("Anthropic's client: messages, streams, counts, errors", async ({ expect, start, llama }) => {
  const catnap = await start({ models: { alpha: await llama.says(ALPHA) } });
  const { messages } = anthropic(catnap);
  const asked = { model: 'alpha', messages: USER, max_tokens: 99 };
  expect((await messages.create(asked)).content).toMatchObject([{ type: 'text', text: ALPHA }]);
  expect(await messages.stream(asked).finalText()).toBe(ALPHA);
  expect((await messages.countTokens({ model: 'alpha', messages: USER })).input_tokens).toBeGreaterThan(0);
  const unknown = await failure(messages.create({ ...asked, model: 'alfa' }));
  expect(unknown).toBeInstanceOf(Anthropic.NotFoundError);
  expect(unknown).toMatchObject({ error: { type: 'error', error: { type: 'not_found_error' } } });
});
