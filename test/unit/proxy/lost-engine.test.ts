import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { describe, test } from 'vitest';
import { ask, chat } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, rawUpstream, seen, type Upstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const sse = { 'content-type': 'text/event-stream' };
const stream = chat('alpha', { stream: true });

test('an engine that closes after each stream although it promised not to costs nobody a request', async ({
  expect,
  onTestFinished,
}) => {
  const upstream = await httpUpstream((req, res) => {
    void seen(req).then(() => {
      res.writeHead(200, { ...sse, connection: 'keep-alive', 'keep-alive': 'timeout=5, max=100' });
      res.write('data: x\n\n');
      res.end(() => res.socket?.destroy());
    });
  });
  const rig = await openRig({ upstream, onTestFinished });
  for (let i = 0; i < 60; i++) {
    const replies = await Promise.all([1, 2, 3].map(() => ask(rig.port, '/v1/chat/completions', { body: stream })));
    const told = replies.map(({ status, text, whole }) => [status, text, whole]);
    expect(told).toEqual(Array(3).fill([200, 'data: x\n\n', true]));
  }
});

test('a kept connection that dies when the next request is written costs nobody a request', async ({
  expect,
  onTestFinished,
}) => {
  let asked = 0;
  const upstream = await rawUpstream((socket) => {
    let first = true;
    socket.on('data', () => {
      asked++;
      if (first) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      else socket.resetAndDestroy();
      first = false;
    });
  });
  const rig = await openRig({ upstream, onTestFinished });
  for (let i = 0; i < 4; i++) expect((await ask(rig.port, '/v1/embeddings', { body: chat('alpha') })).text).toBe('ok');
  // Once each, and again for the three that met a dead connection.
  expect(asked).toBe(7);
});

describe('before the first byte', () => {
  test('a connection that is closed is not asked twice: the request may be why', async ({ expect, onTestFinished }) => {
    let asked = 0;
    const upstream = await rawUpstream((socket) => {
      socket.once('data', () => {
        asked++;
        socket.destroy();
      });
    });
    const rig = await openRig({ upstream, onTestFinished });
    const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([502, 'engine_unreachable']);
    expect(reply.headers['retry-after']).toBe('5');
    expect(asked).toBe(1);
    expect(await rig.record()).toMatchObject({ outcome: 'failed', status: 502, code: 'engine_unreachable' });
    expect(rig.admission.lease.settled).toEqual(['failed']);
  });

  test('an engine whose end is told a moment later has died', async ({ expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => {
      socket.once('data', () => {
        socket.resetAndDestroy();
        setImmediate(() => rig.backend.die());
      });
    });
    const rig = await openRig({ upstream, onTestFinished });
    const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([502, 'engine_died']);
    expect(JSON.parse(reply.text)).toMatchObject({ error: { type: 'server_error', code: 'engine_died' } });
  });

  test('a kept connection that ends with its engine is not asked again', async ({ expect, onTestFinished }) => {
    let asked = 0;
    const upstream = await rawUpstream((socket) => {
      socket.on('data', () => {
        asked++;
        if (asked === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        else rig.backend.die();
      });
    });
    const rig = await openRig({ upstream, onTestFinished });
    await ask(rig.port, '/v1/embeddings', { body: chat('alpha') });
    const reply = await ask(rig.port, '/v1/embeddings', { body: chat('alpha') });
    expect([reply.headers['x-catnap-error'], asked]).toEqual(['engine_died', 2]);
  });

  test('an engine that is gone already is not asked', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    rig.backend.die();
    const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([502, 'engine_died']);
    expect(rig.upstream.connections()).toBe(0);
  });

  test('nobody listens', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    await rig.upstream.close();
    const reply = await ask(rig.port, '/v1/messages', { body: chat('alpha') });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([502, 'engine_unreachable']);
    expect(JSON.parse(reply.text)).toMatchObject({ type: 'error', error: { type: 'api_error' } });
  });

  test('an engine that refuses a connection for a moment is asked again', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const port = Number(new URL(rig.upstream.origin).port);
    await rig.upstream.close();
    const asked = ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    await waitFor('the lease', () => rig.admission.leases.length > 0);
    const late = createServer((_, res) => res.end('late')).listen(port, '127.0.0.1');
    onTestFinished(() => {
      late.close();
      late.closeAllConnections();
    });
    expect((await asked).text).toBe('late');
  });

  test.for([
    ['garbage', 'lorem ipsum\r\n\r\n'],
    ['half a head', 'HTTP/1.1 200 OK\r\nContent-Le'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['a head that is too long', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
  ] as const)('%s is answered 502', async ([, answer], { expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => socket.once('data', () => socket.end(answer)));
    const rig = await openRig({ upstream, onTestFinished });
    const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([502, 'engine_unreachable']);
    expect(reply.text).toContain('did not answer in HTTP');
    expect(rig.admission.lease.settled).toEqual(['failed']);
  });

  test('an engine that never answers is answered for', async ({ expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => socket.resume());
    const rig = await openRig({ upstream, responseMs: 50, onTestFinished });
    const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([504, 'engine_timeout']);
    await waitFor('the connection to be given up', () => upstream.open() === 0);
  });

  test('an engine that reads no body is answered for', async ({ expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => socket.pause());
    const rig = await openRig({ upstream, responseMs: 100, onTestFinished });
    const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha', { x: 'x'.repeat(20_000_000) }) });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([504, 'engine_timeout']);
  });

  test('a lease that is cut', async ({ expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => {
      socket.once('data', () => rig.admission.lease.end('drained', 'alpha makes room for beta'));
    });
    const rig = await openRig({ upstream, onTestFinished });
    const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([503, 'drained']);
    expect(reply.text).toContain('alpha makes room for beta');
    expect(rig.admission.lease.settled).toEqual(['failed']);
    await waitFor('the connection to be given up', () => upstream.open() === 0);
  });
});

describe('after the first byte', () => {
  /** Sends a part of an answer and then lets the test do its worst. */
  const half = (head: string, part: string, then: (socket: Socket) => void): Promise<Upstream> =>
    rawUpstream((socket) => {
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${part}`, () => then(socket)));
    });
  const chunked = 'Content-Type: text/event-stream\r\nTransfer-Encoding: chunked';
  const one = 'b\r\ndata: one\n\n\r\n';

  test.for([
    ['closes', (socket: Socket) => socket.end()],
    ['is reset', (socket: Socket) => socket.resetAndDestroy()],
    ['talks nonsense', (socket: Socket) => socket.write('no chunk at all\r\n\r\n')],
  ] as const)(
    'a stream whose engine %s ends in an error event and an aborted connection',
    async ([, then], context) => {
      const { expect, onTestFinished } = context;
      const upstream = await half(
        chunked,
        one,
        (socket) => void waitFor('the piece', () => heard()).then(() => then(socket)),
      );
      const rig = await openRig({ upstream, onTestFinished });
      const heard = (): boolean => (rig.admission.leases[0]?.news ?? 0) > 1;
      const reply = await ask(rig.port, '/v1/chat/completions', { body: stream });
      expect(reply.status).toBe(200);
      expect(reply.text).toMatch(/^data: one\n\n\ndata: \{"error":\{.*"code":"engine_died"\}\}\n\n$/);
      expect(reply.whole).toBe(false);
      expect(await rig.record()).toMatchObject({ outcome: 'broken', status: 200, code: 'engine_died' });
      expect(rig.admission.lease.settled).toEqual(['broken']);
    },
  );

  test('the error event stands alone after half an event', async ({ expect, onTestFinished }) => {
    const upstream = await half(chunked, '8\r\ndata: {"\r\n', (socket) => socket.end());
    const rig = await openRig({ upstream, onTestFinished });
    const reply = await ask(rig.port, '/v1/messages', { body: stream });
    expect(reply.text).toMatch(/^data: \{"\n\nevent: error\ndata: \{"type":"error",.*\}\n\n$/);
  });

  test.for([
    ['what is no stream', 'Content-Length: 100', '{"half":'],
    ['a stream of a given length', 'Content-Type: text/event-stream\r\nContent-Length: 100', 'data: x\n\n'],
    ['a compressed stream', `${chunked}\r\nContent-Encoding: gzip`, '3\r\nxyz\r\n'],
  ] as const)('%s is cut without a word', async ([, head, part], { expect, onTestFinished }) => {
    const upstream = await half(head, part, (socket) => socket.end());
    const rig = await openRig({ upstream, onTestFinished });
    const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    expect(part).toContain(reply.text);
    expect(reply.whole).toBe(false);
    expect((await rig.record()).outcome).toBe('broken');
  });

  test('a lease that is cut ends the stream and the connection to the engine', async ({ expect, onTestFinished }) => {
    const upstream = await half(chunked, one, () => {});
    const rig = await openRig({ upstream, onTestFinished });
    const asked = ask(rig.port, '/v1/chat/completions', { body: stream });
    await waitFor('the stream', () => (rig.admission.leases[0]?.news ?? 0) > 1);
    rig.admission.lease.end('drained', 'alpha makes room for beta');
    const reply = await asked;
    expect(reply.text).toContain('"code":"drained"');
    expect(reply.whole).toBe(false);
    expect(rig.admission.lease.settled).toEqual(['broken']);
    await waitFor('the connection to be given up', () => upstream.open() === 0);
  });

  test('a process that is lost ends the stream', async ({ expect, onTestFinished }) => {
    const upstream = await half(chunked, one, () => {});
    const rig = await openRig({ upstream, onTestFinished });
    const asked = ask(rig.port, '/v1/chat/completions', { body: stream });
    await waitFor('the stream', () => (rig.admission.leases[0]?.news ?? 0) > 1);
    rig.backend.die();
    expect((await asked).text).toContain('"code":"engine_died"');
  });
});

test('a restarted engine is never asked over a connection to its predecessor', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  await ask(rig.port, '/v1/embeddings', { body: chat('alpha') });
  expect(rig.upstream.open()).toBe(1);
  rig.backend.die();
  await waitFor('the kept connection to be closed', () => rig.upstream.open() === 0);
});
