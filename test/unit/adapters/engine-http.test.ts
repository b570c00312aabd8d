import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, test } from 'vitest';
import { engineHttp } from '../../../src/adapters/engine-http.ts';
import type { EngineAnswer, EngineCall } from '../../../src/ports/engine-http.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const http = engineHttp();
const open = new Set<Server>();
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of open) server.close();
  sockets.clear();
  open.clear();
});

async function listening(server: Server): Promise<string> {
  open.add(server);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const served = (handler: RequestListener) => listening(createHttpServer(handler));
const raw = (onSocket: (socket: Socket) => void) => listening(createServer(onSocket));
const get = (url: string, terms: Partial<EngineCall> = {}) =>
  http.call({ method: 'GET', url, limitMs: 5_000, ...terms });

describe('engine http', () => {
  test('gives the status and the body, whatever the status is', async ({ expect }) => {
    const url = await served((request, response) => response.writeHead(503).end(`${request.method} ${request.url}`));
    expect(await get(`${url}/health?a=b%20c`)).toEqual({ kind: 'answered', status: 503, body: 'GET /health?a=b%20c' });
  });

  test('tells the lines of a stream as they come, and gives no body', async ({ expect }) => {
    const lines: string[] = [];
    const url = await served((_, response) => {
      response.write('data: 1\n\ndata: \u00e4'.slice(0, -1));
      setTimeout(() => response.end(Buffer.from('\u00e4\nlast')), 20);
    });
    const answer = await get(url, { onLine: (line) => void lines.push(line) });
    expect([answer, lines]).toEqual([{ kind: 'answered', status: 200, body: '' }, ['data: 1', '', 'data: ä', 'last']]);
  });

  test('gives the body of an answer that is no stream', async ({ expect }) => {
    const url = await served((_, response) => response.writeHead(401).end('no\nkey'));
    expect(await get(url, { onLine: () => expect.unreachable() })).toMatchObject({ status: 401, body: 'no\nkey' });
  });

  test('sends JSON and headers', async ({ expect }) => {
    const url = await served((request, response) => {
      const { authorization, 'content-type': type } = request.headers;
      void text(request).then((body) => response.end(JSON.stringify({ authorization, type, body })));
    });
    const answer = await get(url, { method: 'POST', json: { level: 1 }, headers: { authorization: 'Bearer k' } });
    expect(answer).toEqual({
      kind: 'answered',
      status: 200,
      body: JSON.stringify({ authorization: 'Bearer k', type: 'application/json', body: '{"level":1}' }),
    });
  });

  test('does not follow a redirect', async ({ expect }) => {
    const url = await served((_, response) => response.writeHead(302, { location: '/elsewhere' }).end());
    expect(await get(url)).toEqual({ kind: 'answered', status: 302, body: '' });
  });

  test('keeps no connection', async ({ expect }) => {
    const url = await served((request, response) => response.end(request.headers.connection));
    for (let round = 0; round < 3; round += 1) {
      expect(await get(url)).toMatchObject({ body: 'close' });
      await waitFor('the connection to close', () => sockets.size === 0);
    }
  });

  test('reads the first 64 KiB of a body that never ends, and hangs up', async ({ expect }) => {
    const url = await served((_, response) => {
      const more = () => void (response.write('x'.repeat(10_000)) ? setImmediate(more) : response.once('drain', more));
      more();
    });
    const answer = await get(url);
    expect(answer).toEqual({ kind: 'answered', status: 200, body: 'x'.repeat(65_536) });
    await waitFor('the connection to close', () => sockets.size === 0);
  });

  test('refused: nobody listens', async ({ expect }) => {
    const url = await raw(() => {});
    for (const server of open) server.close();
    expect(await get(url)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('ECONNREFUSED') });
  });

  test.for([
    ['closes at once', (socket: Socket) => socket.destroy()],
    ['closes in the middle of the head', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
    [
      'closes in the middle of the body',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'),
    ],
    ['resets', (socket: Socket) => socket.resetAndDestroy()],
    ['talks no HTTP', (socket: Socket) => socket.write('220 smtp.example ESMTP\r\n')],
    [
      'sends a head without end',
      (socket: Socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        const more = () => void (socket.destroyed || (socket.write(`x: ${'y'.repeat(4_000)}\r\n`), setImmediate(more)));
        more();
      },
    ],
  ] as const)('refused: a server that %s', async ([, behave], { expect }) => {
    const url = await raw((socket) => socket.once('data', () => behave(socket)));
    expect(await get(url)).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/\S/) });
    await waitFor('the connection to close', () => sockets.size === 0);
  });

  test.for([
    ['never answers', () => {}],
    ['sends half a head and hangs', (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-le')],
    [
      'sends half a body and hangs',
      (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'),
    ],
    [
      'drips',
      (socket: Socket) => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
        const drip = setInterval(() => socket.write('1\r\nx\r\n'), 5);
        socket.on('close', () => clearInterval(drip));
      },
    ],
  ] as const)('times out: a server that %s', async ([, behave], { expect }) => {
    const url = await raw((socket) => socket.once('data', () => behave(socket)));
    expect(await get(url, { limitMs: 60 })).toEqual({ kind: 'timeout' });
    await waitFor('the connection to close', () => sockets.size === 0);
  });

  test('is given up at once when the signal fires, before and during the call', async ({ expect }) => {
    const url = await raw((socket) => socket.resume());
    expect(await get(url, { signal: AbortSignal.abort() })).toMatchObject({ kind: 'refused' });
    const controller = new AbortController();
    const answer = get(url, { signal: controller.signal, limitMs: 60_000 });
    await waitFor('a connection', () => sockets.size === 1);
    controller.abort(new Error('no longer wanted'));
    expect(await answer).toEqual({ kind: 'refused', reason: 'the call was given up' });
    await waitFor('the connection to close', () => sockets.size === 0);
  });

  test(
    'times out while the connection is being made, and leaves no attempt behind',
    { timeout: 28_000 },
    async ({ expect }) => {
      // The time limit of this test is less than a second for each try, as much as a client takes that notices too late.
      // A listener that accepts nobody: the kernel takes a few connections for it and lets the next ones wait.
      const program = `const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('node:fs').writeSync(1, String(server.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
      const deaf = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
      try {
        const [port] = await once(deaf.stdout, 'data');
        const url = `http://127.0.0.1:${String(port)}`;
        const attempts = () => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')).length;
        const answers: EngineAnswer[] = [];
        for (let tries = 0; tries < 30; tries += 1) {
          const before = attempts();
          answers.push(await get(url, { limitMs: 50 }));
          await waitFor('the attempt to end', () => attempts() === before);
        }
        expect(answers).toEqual(Array(30).fill({ kind: 'timeout' }));
      } finally {
        deaf.kill('SIGKILL');
        await once(deaf, 'exit');
      }
    },
  );

  test('what cannot be sent is refused with the reason', async ({ expect }) => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    for (const terms of [{ url: 'not a url' }, { json: circle }, { headers: { 'bad header': 'x' } }]) {
      const answer = await http.call({ method: 'POST', url: 'http://127.0.0.1:9', limitMs: 1_000, ...terms });
      expect(answer).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/\S/) });
    }
  });
});
