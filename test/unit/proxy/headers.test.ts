import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'vitest';
import { headersForClient, headersForEngine } from '../../../src/proxy/headers.ts';
import { requestId } from '../../../src/proxy/request-id.ts';
import { isOnlyComments } from '../../../src/proxy/sse.ts';

/** A request as node:http gives it. */
function asked(...raw: string[]): IncomingMessage {
  const req = new IncomingMessage(new Socket());
  req.rawHeaders = raw;
  for (let i = 0; i < raw.length; i += 2) req.headers[(raw[i] ?? '').toLowerCase()] = raw[i + 1];
  return req;
}

const sent = (req: IncomingMessage, own: Record<string, string> = {}): Map<string, string> => {
  const flat = headersForEngine(req, { id: 'id-1', own, contentLength: 5 });
  return new Map(flat.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), flat[i + 1] ?? '']] : [])));
};

test('what belongs to the connection or to the client does not reach an engine', ({ expect }) => {
  const hop = ['Host', 'Keep-Alive', 'Proxy-Authorization', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade', 'Expect'];
  const secrets = ['Authorization', 'X-Api-Key', 'Api-Key', 'Cookie', 'X-Conversation-Id'];
  const raw = [...hop, ...secrets].flatMap((name) => [name, 'x']);
  const got = sent(asked(...raw, 'Connection', 'close, X-Mine', 'X-Mine', '1', 'Content-Length', '99', 'X-Kept', '1'));
  for (const name of [...hop, ...secrets, 'connection', 'x-mine']) {
    expect(got.has(name.toLowerCase()), name).toBe(false);
  }
  expect(got.get('x-kept')).toBe('1');
  expect(got.get('content-length')).toBe('5');
});

test("the backend's own headers take the place of the client's", ({ expect }) => {
  const got = sent(asked('Authorization', 'Bearer client', 'X-Tenant', 'client'), {
    authorization: 'Bearer engine',
    'x-tenant': 'ours',
  });
  expect(got.get('authorization')).toBe('Bearer engine');
  expect(got.get('x-tenant')).toBe('ours');
});

test('the engine is told the id and who asked', ({ expect }) => {
  const from = ['X-Request-Id', 'client', 'X-Forwarded-For', '10.0.0.1', 'traceparent', '00-1'];
  const got = sent(asked('Host', 'catnap:3000', ...from));
  expect(got.get('x-request-id')).toBe('id-1');
  expect(got.get('x-forwarded-for')).toMatch(/^10\.0\.0\.1, /);
  expect(got.get('x-forwarded-host')).toBe('catnap:3000');
  expect(got.get('traceparent')).toBe('00-1');
});

test('an answer keeps its headers, their case and their repetition', ({ expect }) => {
  const raw = ['X-A', '1', 'x-a', '2', 'Connection', 'keep-alive, X-Hop', 'X-Hop', '1', 'Keep-Alive', 'timeout=5'];
  expect(headersForClient(raw, 'id-1', { queueMs: 10.04, swapMs: 0, engineMs: 3.26 })).toEqual([
    'X-A',
    '1',
    'x-a',
    '2',
    'x-request-id',
    'id-1',
    'server-timing',
    'queue;dur=10, swap;dur=0, engine;dur=3.3',
  ]);
});

test('a sane request id is kept, any other is replaced', ({ expect }) => {
  expect(requestId('trace-1.a:b')).toBe('trace-1.a:b');
  for (const bad of [undefined, '', 'a b', 'a\r\nb', 'ü', 'x'.repeat(129), ['a', 'b']]) {
    expect(requestId(bad)).toMatch(/^[0-9a-f-]{36}$/);
  }
});

test('only comments are no news of the engine', ({ expect }) => {
  const quiet = [':\n\n', ': ping\n\n', '\n', ':a\r\n\r\n', ': a\n: b\n\n'];
  const news = ['data: x\n\n', ': a\n\ndata: x\n\n', 'event: x\n', ' ', 'x', ': a\nx'];
  for (const text of quiet) expect(isOnlyComments(Buffer.from(text)), text).toBe(true);
  for (const text of news) expect(isOnlyComments(Buffer.from(text)), text).toBe(false);
});
