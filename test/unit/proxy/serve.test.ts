import { createHash, randomBytes } from 'node:crypto';
import { test } from 'vitest';
import { modelId } from '../../../src/core/kinds.ts';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, rawUpstream, seen, type Seen, type Upstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const sse = { 'content-type': 'text/event-stream' };

/** An engine that says back what it was asked, and remembers it. */
async function echo(): Promise<{ upstream: Upstream; asked: Seen[] }> {
  const asked: Seen[] = [];
  const upstream = await httpUpstream((req, res) => {
    void seen(req).then((it) => {
      asked.push(it);
      res.writeHead(201, 'Made Up', ['X-Engine', 'yes', 'x-twice', '1', 'X-Twice', '2', 'Server-Timing', 'gpu;dur=1']);
      res.end(it.body);
    });
  });
  return { upstream, asked };
}

test('question and answer pass with status, headers and bytes as they are', async ({ expect, onTestFinished }) => {
  const { upstream, asked } = await echo();
  const rig = await openRig({ upstream, onTestFinished });
  const body = ' {"messages" : [ ] ,"model":"alpha", "x":1.0}';
  const reply = await ask(rig.port, '/v1/chat/completions?a=%2F&b', {
    body,
    headers: { 'Content-Type': 'application/json', Authorization: 'Bearer client', 'X-Request-Id': 'mine-1' },
  });

  expect(reply.status).toBe(201);
  expect(reply.text).toBe(body);
  expect(reply.rawHeaders.join()).toContain('X-Engine,yes,x-twice,1,X-Twice,2');
  expect(reply.headers['server-timing']).toMatch(/^gpu;dur=1, queue;dur=10, swap;dur=20, engine;dur=\d/);
  expect(reply.headers['x-request-id']).toBe('mine-1');
  expect(reply.whole).toBe(true);
  expect(asked).toHaveLength(1);
  expect(asked[0]).toMatchObject({ method: 'POST', url: '/v1/chat/completions?a=%2F&b' });
  expect(asked[0]?.headers).toMatchObject({ 'x-request-id': 'mine-1', 'content-length': String(body.length) });
  expect(asked[0]?.headers.authorization).toBe(undefined);

  const record = await rig.record();
  expect(record).toMatchObject({ id: 'mine-1', model: 'alpha', outcome: 'served', status: 201, queuedMs: 30 });
  expect(record).toMatchObject({ path: '/v1/chat/completions', bytesIn: body.length, bytesOut: body.length });
  expect(rig.admission.lease.settled).toEqual(['served']);
});

test('the engine reads the name it knows, wherever the client wrote another', async ({ expect, onTestFinished }) => {
  const { upstream, asked } = await echo();
  const rig = await openRig({ upstream, servedName: '/models/"a".gguf', onTestFinished });
  const body = '{"x":"é","model" : "gpt-4o","model":"gpt-4\\u006f","y":{"model":"gpt-4o"}}';
  const reply = await ask(rig.port, '/v1/embeddings?k=1&model=alpha', { body });

  const name = '"/models/\\"a\\".gguf"';
  expect(reply.text).toBe(`{"x":"é","model" : ${name},"model":${name},"y":{"model":"gpt-4o"}}`);
  expect(asked[0]?.url).toBe('/v1/embeddings?k=1&model=%2Fmodels%2F%22a%22.gguf');
  expect(asked[0]?.headers['content-length']).toBe(String(Buffer.byteLength(reply.text)));
  expect(rig.admission.asked).toEqual(['alpha']);
});

test('a body that names the model as the engine does is not touched', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ upstream: (await echo()).upstream, onTestFinished });
  const body = '{"model":"\\u0061lpha"}';
  expect((await ask(rig.port, '/v1/embeddings', { body })).text).toBe(body);
});

test("the engine's own key is sent, and its base path kept", async ({ expect, onTestFinished }) => {
  const { upstream, asked } = await echo();
  const based = { ...upstream, origin: `${upstream.origin}/base` };
  const rig = await openRig({ upstream: based, backendHeaders: { authorization: 'Bearer engine' }, onTestFinished });
  await ask(rig.port, '/v1/embeddings', { body: chat('alpha'), headers: { authorization: 'Bearer client' } });
  expect(asked[0]?.url).toBe('/base/v1/embeddings');
  expect(asked[0]?.headers.authorization).toBe('Bearer engine');
});

test('a model in the query is enough for what is neither JSON nor a form', async ({ expect, onTestFinished }) => {
  const { upstream, asked } = await echo();
  const rig = await openRig({ upstream, onTestFinished });
  const body = randomBytes(1_000);
  const headers = { 'content-type': 'audio/wav' };
  const posted = await ask(rig.port, '/v1/audio/transcriptions?model=gpt-4o', { body, headers });
  expect(posted.body.equals(body)).toBe(true);
  const got = await ask(rig.port, '/v1/audio/voices?model=gpt-4o', { method: 'GET' });
  expect(got.status).toBe(201);
  expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'POST /v1/audio/transcriptions?model=alpha',
    'GET /v1/audio/voices?model=alpha',
  ]);
  expect(asked[1]?.headers['content-length']).toBe(undefined);
});

test('20 MB go there and back, with a new name in them', async ({ expect, onTestFinished }) => {
  const { upstream, asked } = await echo();
  const rig = await openRig({ upstream, servedName: 'engine-name', onTestFinished });
  const image = randomBytes(15_000_000).toString('base64');
  const body = `{"messages":[{"content":"${image}"}],"model":"gpt-4o"}`;
  const reply = await ask(rig.port, '/v1/chat/completions', { body, headers: { 'transfer-encoding': 'chunked' } });
  const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
  expect(digest(reply.text)).toBe(digest(body.replace('gpt-4o', 'engine-name')));
  expect(asked[0]?.headers['transfer-encoding']).toBe(undefined);
});

test('a body that comes byte by byte is read like any other', async ({ expect, onTestFinished }) => {
  const { upstream, asked } = await echo();
  const rig = await openRig({ upstream, onTestFinished });
  const body = chat('alpha', { padding: 'x'.repeat(20_000) });
  const client = new RawClient(rig.port, onTestFinished);
  const chunks = Array.from(body, (letter) => `1\r\n${letter}\r\n`).join('');
  client.say(`POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
  await waitFor('the engine to be asked', () => asked.length > 0);
  expect(asked[0]?.body.toString()).toBe(body);
});

test('a stream passes as it comes: head first, then each piece, then its end', async ({ expect, onTestFinished }) => {
  const steps: (() => void)[] = [];
  const upstream = await httpUpstream((_, res) => {
    steps.push(
      () => res.writeHead(200, sse).flushHeaders(),
      () => res.write('data: one\n\n'),
      () => res.write('data: tw'),
      () => res.end('o\n\n'),
    );
  });
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).post('/v1/chat/completions', chat('alpha', { stream: true }));
  await waitFor('the request', () => steps.length > 0);
  const seenAfter = async (step: number, text: string): Promise<void> => {
    steps[step]?.();
    await waitFor(`${text} after step ${step}`, () => client.text.includes(text));
  };
  await seenAfter(0, 'text/event-stream');
  expect(client.text).not.toContain('data:');
  await seenAfter(1, 'data: one\n\n');
  await seenAfter(2, 'data: tw');
  await seenAfter(3, '\r\n0\r\n\r\n');
  expect((await rig.record()).outcome).toBe('served');
});

test('an error of the engine passes like any answer', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream((_, res) => res.writeHead(500).end('{"error":"its own"}'));
  const rig = await openRig({ upstream, onTestFinished });
  const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
  expect([reply.status, reply.text, reply.headers['x-catnap-error']]).toEqual([500, '{"error":"its own"}', undefined]);
  expect(await rig.record()).toMatchObject({ outcome: 'served', status: 500, code: undefined });
});

test.for([
  ['no body', 'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n', 204, ''],
  [
    'an interim answer',
    'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    200,
    'ok',
  ],
  ['no length', 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end', 200, 'until the end'],
  ['no reason', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', 200, 'ok'],
] as const)('an answer with %s keeps its shape', async ([, answer, status, text], { expect, onTestFinished }) => {
  const upstream = await rawUpstream((socket) => socket.once('data', () => socket.end(answer)));
  const rig = await openRig({ upstream, onTestFinished });
  const reply = await ask(rig.port, '/v1/x', { body: chat('alpha') });
  expect([reply.status, reply.text, reply.whole]).toEqual([status, text, true]);
});

test('HEAD and HTTP/1.0 get what they understand', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream((_, res) => res.setHeader('content-length', 5).end('hello'));
  const rig = await openRig({ upstream, onTestFinished });
  const head = await ask(rig.port, '/v1/voices?model=alpha', { method: 'HEAD' });
  expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', '5']);
  const old = new RawClient(rig.port, onTestFinished).say('GET /v1/voices?model=alpha HTTP/1.0\r\n\r\n');
  await waitFor('the end', () => old.closed);
  expect(old.text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nhello$/);
});

test('only what is more than a comment counts as heard', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream((_, res) => {
    res.writeHead(200, sse).write(':\n\n');
    setImmediate(() => res.end(': still here\n\n'));
  });
  const rig = await openRig({ upstream, onTestFinished });
  await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
  await rig.record();
  const forTheHead = 1;
  expect(rig.admission.lease.news).toBe(forTheHead);
});

test('connections to the engine are used again', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  for (let i = 0; i < 5; i++) expect((await ask(rig.port, '/v1/embeddings', { body: chat('alpha') })).status).toBe(200);
  expect(rig.upstream.connections()).toBe(1);
});

test('many at once each get their own answer', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ upstream: (await echo()).upstream, onTestFinished });
  const bodies = Array.from({ length: 100 }, (_, i) => chat('alpha', { i }));
  const replies = await Promise.all(bodies.map((body) => ask(rig.port, '/v1/embeddings', { body })));
  expect(replies.map(({ text }) => text)).toEqual(bodies);
  await waitFor('all records', () => rig.records().length === 100);
  expect(rig.admission.leases.map(({ settled }) => settled)).toEqual(Array(100).fill(['served']));
});

test('pipelined requests are answered in order', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ upstream: (await echo()).upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished);
  for (const i of [1, 2, 3]) client.post('/v1/embeddings', chat('alpha', { i }));
  await waitFor('three answers', () => client.text.split('HTTP/1.1 201').length === 4);
  const order = await waitFor('the last body', () => {
    const found = [...client.text.matchAll(/"i":(\d)/g)].map(([, i]) => i);
    return found.length === 3 && found;
  });
  expect(order).toEqual(['1', '2', '3']);
});

test.for<[what: string, type: string, body: string]>([
  ['JSON', 'application/json', '{"messages":[]}'],
  ['no body', 'application/json', ''],
  ['a form', 'multipart/form-data; boundary=x', '--x--'],
  ['what is not read', 'audio/wav', 'RIFF'],
])('%s that names no model goes to the default as it is', async ([, type, body], { expect, onTestFinished }) => {
  const { upstream, asked } = await echo();
  const served = { responseMs: 10_000, idleMs: Infinity, totalMs: Infinity };
  const thinking = { modes: ['default'], told: 'template' } as const;
  const plain = { rewrite: undefined, thinking, translates: false };
  const target = { model: modelId('beta'), enabled: true, ...served, ...plain };
  const rig = await openRig({ upstream, unnamed: () => target, onTestFinished });
  const reply = await ask(rig.port, '/v1/infill', { body, headers: { 'content-type': type } });
  expect([reply.status, asked[0]?.body.toString()]).toEqual([201, body]);
  expect(rig.admission.asked).toEqual(['beta']);
});
