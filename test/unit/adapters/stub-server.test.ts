import { connect } from 'node:net';
import { test as base } from 'vitest';
import { stubServers } from '../../../src/adapters/stub-server.ts';
import type { StubServer, StubSpec } from '../../../src/ports/stub-server.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const SPEC: StubSpec = { model: 'alpha', text: 'one two three', tokens: undefined, firstTokenMs: 0, tokenMs: 0 };

type Open = (spec?: Partial<StubSpec>) => Promise<{ server: StubServer; url: string }>;

const test = base.extend<{ open: Open }>({
  open: async ({}, use) => {
    const opened: StubServer[] = [];
    await use(async (spec = {}) => {
      const server = await stubServers.open({ ...SPEC, ...spec });
      opened.push(server);
      server.set('awake');
      return { server, url: `http://127.0.0.1:${server.port}` };
    });
    await Promise.all(opened.map((server) => server.close()));
  },
});

const post = (url: string, body: object, signal?: AbortSignal): Promise<Response> =>
  fetch(url, { method: 'POST', body: JSON.stringify(body), ...(signal && { signal }) });

const CHAT = { model: 'alpha', messages: [] };

/** What the events of a stream say. */
const events = (text: string): unknown[] =>
  text
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line): unknown => JSON.parse(line.slice(6)));

test('a chat, a completion and an embedding name the model', async ({ open, expect }) => {
  const { url } = await open();
  const chat = await post(`${url}/v1/chat/completions`, CHAT);
  expect(await chat.json()).toMatchObject({
    model: 'alpha',
    choices: [{ message: { role: 'assistant', content: 'one two three' }, finish_reason: 'stop' }],
    usage: { completion_tokens: 3 },
  });
  const completion = await post(`${url}/v1/completions`, { model: 'alpha', prompt: 'x', max_tokens: 2 });
  expect(await completion.json()).toMatchObject({ choices: [{ text: 'one two ', finish_reason: 'length' }] });
  const embedding = await post(`${url}/v1/embeddings`, { model: 'alpha', input: ['a', 'b'] });
  expect(await embedding.json()).toMatchObject({ model: 'alpha', data: [{ index: 0 }, { index: 1 }] });
  const models = await fetch(`${url}/v1/models`);
  expect(await models.json()).toMatchObject({ data: [{ id: 'alpha' }] });
});

test('a stream is the same text token by token, with an end', async ({ open, expect }) => {
  const { url } = await open();
  const response = await post(`${url}/v1/chat/completions`, { ...CHAT, stream: true });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const text = await response.text();
  expect(events(text)).toMatchObject([
    { choices: [{ delta: { role: 'assistant' } }] },
    { choices: [{ delta: { content: 'one ' } }] },
    { choices: [{ delta: { content: 'two ' } }] },
    { choices: [{ delta: { content: 'three' } }] },
    { choices: [{ delta: {}, finish_reason: 'stop' }] },
  ]);
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
});

test('more tokens than words start the text over', async ({ open, expect }) => {
  const { url } = await open({ tokens: 5 });
  const answer = await post(`${url}/v1/completions`, { prompt: 'x' });
  expect(await answer.json()).toMatchObject({ choices: [{ text: 'one two three one two ' }] });
});

test('while it loads it answers 503 to everything, while it sleeps to work only', async ({ open, expect }) => {
  const { server, url } = await open();
  server.set('loading');
  expect((await fetch(`${url}/health`)).status).toBe(503);
  server.set('asleep');
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await post(`${url}/v1/completions`, { prompt: 'x' })).status).toBe(503);
});

test('another model name, an unknown route and a body that is no object are refused', async ({ open, expect }) => {
  const { url } = await open();
  expect((await post(`${url}/v1/completions`, { model: 'beta' })).status).toBe(404);
  expect((await post(`${url}/v1/responses`, CHAT)).status).toBe(404);
  expect((await fetch(`${url}/v1/completions`, { method: 'POST', body: '[1]' })).status).toBe(400);
  expect((await fetch(`${url}/v1/completions`, { method: 'POST', body: '{' })).status).toBe(400);
  expect((await post(`${url}/v1/completions`, { stub_fault: 'typo' })).status).toBe(400);
});

test('each fault that a request asks for goes wrong in its own way', async ({ open, expect }) => {
  const { url } = await open();
  const path = `${url}/v1/chat/completions`;
  expect((await post(path, { ...CHAT, stub_fault: 'error' })).status).toBe(500);
  await expect(post(path, { ...CHAT, stub_fault: 'reset' })).rejects.toThrow();
  const broken = await post(path, { ...CHAT, stream: true, stub_fault: 'break' });
  expect(broken.status).toBe(200);
  await expect(broken.text()).rejects.toThrow();
  const whole = await post(path, { ...CHAT, stub_fault: 'break' });
  await expect(whole.text()).rejects.toThrow();
});

test('a hung request ends with its client, and the next is answered', async ({ open, expect }) => {
  const { url } = await open();
  const client = new AbortController();
  const hung = post(`${url}/v1/completions`, { stub_fault: 'hang' }, client.signal);
  expect((await post(`${url}/v1/completions`, {})).status).toBe(200);
  client.abort();
  await expect(hung).rejects.toThrow();
});

test('a deaf engine answers its health route and nothing else', async ({ open, expect }) => {
  const { url } = await open();
  const clients = new AbortController();
  const first = post(`${url}/v1/completions`, { stub_fault: 'deaf' }, clients.signal);
  const answers = (): Promise<boolean> =>
    fetch(`${url}/v1/models`, { signal: AbortSignal.timeout(100) }).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitFor('the engine to go deaf', async () => !(await answers()));
  expect((await fetch(`${url}/health`)).ok).toBe(true);
  clients.abort();
  await expect(first).rejects.toThrow();
});

test('a crash ends every connection and is told', async ({ open, expect }) => {
  const { server, url } = await open({ tokenMs: 60_000 });
  const other = await post(`${url}/v1/chat/completions`, { ...CHAT, stream: true });
  await expect(post(`${url}/v1/completions`, { stub_fault: 'crash' })).rejects.toThrow();
  expect(await server.crashed).toContain('went down');
  await expect(other.text()).rejects.toThrow();
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});

test('closing cuts what is under way and gives the port back; a second close is none', async ({ open, expect }) => {
  const { server, url } = await open({ tokenMs: 60_000 });
  const response = await post(`${url}/v1/chat/completions`, { ...CHAT, stream: true });
  await Promise.all([server.close(), server.close()]);
  await expect(response.text()).rejects.toThrow();
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});

test('after a stream the connection is closed although nothing announced it', async ({ open, expect }) => {
  const { server } = await open();
  const socket = connect(server.port, '127.0.0.1');
  const body = JSON.stringify({ ...CHAT, stream: true });
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  expect(text).toContain('Connection: keep-alive');
  expect(text).toContain('[DONE]');
});
