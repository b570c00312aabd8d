import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { test } from 'vitest';
import { RawClient } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, rawUpstream, type Upstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

const handshake = (path: string, more = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n` +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n${more}\r\n`;

/** An engine that takes WebSockets and says back what it hears in capitals. */
async function shouter(): Promise<{ upstream: Upstream; heads: string[]; sockets: Socket[] }> {
  const heads: string[] = [];
  const sockets: Socket[] = [];
  const upstream = await rawUpstream((socket) => {
    socket.once('data', (head) => {
      heads.push(String(head));
      sockets.push(socket);
      const accept = `Sec-WebSocket-Accept: ${ACCEPT}\r\n`;
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${accept}\r\n`);
      socket.on('data', (text) => socket.write(String(text).toUpperCase()));
    });
  });
  return { upstream, heads, sockets };
}

test('a WebSocket reaches its engine and holds a lease until it is closed', async ({ expect, onTestFinished }) => {
  const { upstream, heads } = await shouter();
  const rig = await openRig({ upstream, backendHeaders: { authorization: 'Bearer engine' }, onTestFinished });
  const secret = 'Authorization: Bearer client\r\nCookie: a=b\r\nX-Request-Id: mine\r\n';
  const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?x=1&model=gpt-4o', secret));
  await waitFor('the switch', () => client.text.endsWith('\r\n\r\n'));
  expect(client.text).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
  expect(client.text.toLowerCase()).toContain(`sec-websocket-accept: ${ACCEPT}`.toLowerCase());
  expect(client.text).toContain('x-request-id: mine');

  const [head = ''] = heads;
  expect(head).toMatch(/^GET \/v1\/realtime\?x=1&model=alpha HTTP\/1\.1\r\n/);
  expect(head).toMatch(/authorization: Bearer engine\r\n/i);
  expect(head).toMatch(/x-request-id: mine\r\n/i);
  expect(head).toMatch(/x-forwarded-for: 127\.0\.0\.1\r\n/i);
  expect(head).not.toMatch(/Bearer client|cookie/i);

  client.say('hello');
  await waitFor('the echo', () => client.text.endsWith('HELLO'));
  expect(rig.admission.lease.settled).toEqual([]);
  expect(rig.admission.lease.news).toBeGreaterThan(1);
  client.leave();
  expect(await rig.record()).toMatchObject({ id: 'mine', path: '/v1/realtime', outcome: 'served', status: 101 });
  expect(rig.admission.lease.settled).toEqual(['served']);
  await waitFor('the engine to be free', () => upstream.open() === 0);
});

test('a page of another origin gets a WebSocket only where the config lets it in', async ({
  expect,
  onTestFinished,
}) => {
  const { upstream, heads } = await shouter();
  const rig = await openRig({ upstream, corsOrigins: ['https://chat.example.org'], onTestFinished });
  const from = (origin: string): RawClient =>
    new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha', `Origin: ${origin}\r\n`));
  const stranger = from('https://evil.example.org');
  await waitFor('the refusal', () => stranger.closed);
  expect(stranger.text).toMatch(/^HTTP\/1\.1 403 /);
  expect([rig.admission.asked, heads]).toEqual([[], []]);
  const guest = from('https://chat.example.org');
  await waitFor('the switch', () => guest.text.startsWith('HTTP/1.1 101 '));
});

test('what the client says before it is answered is not lost', async ({ onTestFinished }) => {
  const rig = await openRig({ upstream: (await shouter()).upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say(`${handshake('/v1/realtime?model=alpha')}early `);
  client.socket.once('connect', () => client.say('bird'));
  await waitFor('the echo', () => client.text.endsWith('EARLY BIRD'));
});

test('an engine that closes ends the WebSocket', async ({ expect, onTestFinished }) => {
  const { upstream, sockets } = await shouter();
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha'));
  await waitFor('the switch', () => client.text.includes('101'));
  sockets[0]?.end('bye');
  await waitFor('the end', () => client.closed);
  expect(client.text).toMatch(/bye$/);
  expect((await rig.record()).outcome).toBe('served');
});

test('a client that never closes its side does not hold the lease of an engine that has', async ({
  expect,
  onTestFinished,
}) => {
  const { upstream, sockets } = await shouter();
  const rig = await openRig({ upstream, onTestFinished });
  const client = connect({ port: rig.port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => void client.destroy());
  client.on('error', () => {}).resume();
  client.write(handshake('/v1/realtime?model=alpha'));
  await waitFor('the engine', () => sockets.length === 1);
  sockets[0]?.end('bye');
  expect((await rig.record()).outcome).toBe('served');
});

test('an engine that never closes its side does not hold the lease of a client that has', async ({
  expect,
  onTestFinished,
}) => {
  const upstream = await rawUpstream((socket) => {
    socket.allowHalfOpen = true;
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    });
  });
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha'));
  await waitFor('the switch', () => client.text.includes('101'));
  client.socket.end();
  expect((await rig.record()).outcome).toBe('served');
});

test.for([
  ['the lease is cut', 'drained'],
  ['the engine is gone', 'engine_died'],
] as const)('when %s the WebSocket is destroyed', async ([, code], { expect, onTestFinished }) => {
  const { upstream } = await shouter();
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha'));
  await waitFor('the switch', () => client.text.includes('101'));
  await waitFor('the lease', () => rig.admission.lease.news > 0);
  if (code === 'drained') rig.admission.lease.end('drained', 'alpha makes room');
  else rig.backend.die();
  await waitFor('the end', () => client.closed);
  expect(await rig.record()).toMatchObject({ outcome: 'broken', status: 101, code });
  await waitFor('the engine to be free', () => upstream.open() === 0);
});

test.for([
  ['Responses', '/v1/responses', 426, 'websocket_unsupported'],
  ['no model', '/v1/realtime', 400, 'model_missing'],
  ['an unknown model', '/v1/realtime?model=nope', 404, 'model_not_found'],
  ['a disabled model', '/v1/realtime?model=off', 403, 'model_disabled'],
  ['engine control', '/sleep?model=alpha', 403, 'forbidden'],
] as const)('%s: refused and closed', async ([, path, status, code], { expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say(handshake(path));
  await waitFor('the end', () => client.closed);
  expect(client.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*x-catnap-error: ${code}\r\n[^]*"code":"${code}"`));
  expect(await rig.record()).toMatchObject({ outcome: 'rejected', status, code });
  expect(rig.admission.asked).toEqual([]);
});

test('the stage may refuse', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  rig.admission.answering = { refuse: 'lane_full', retryAfterMs: 1_000 };
  const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha'));
  await waitFor('the end', () => client.closed);
  expect(client.text).toMatch(/^HTTP\/1\.1 429 [^]*retry-after: 1\r\n/);
});

test('a client that leaves while it waits takes its ticket along', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  rig.admission.answering = 'hold';
  const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha'));
  await waitFor('the ticket', () => rig.admission.asked.length === 1);
  client.leave();
  expect(await rig.record()).toMatchObject({ outcome: 'abandoned', status: 499 });
  expect(rig.admission.withdrawn).toBe(1);
});

test('a client that leaves before the engine answers frees it at once', async ({ expect, onTestFinished }) => {
  const upstream = await rawUpstream((socket) => socket.resume());
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha'));
  await waitFor('the engine to be asked', () => upstream.open() === 1);
  client.leave();
  await waitFor('the engine to be free', () => upstream.open() === 0);
  expect(await rig.record()).toMatchObject({ outcome: 'aborted', status: 499 });
});

test.for([
  ['never answers', (socket: Socket) => socket.resume(), 504, 'engine_timeout', 100],
  ['closes at once', (socket: Socket) => socket.end(), 502, 'engine_unreachable'],
  ['resets', (socket: Socket) => socket.resetAndDestroy(), 502, 'engine_unreachable'],
  ['talks nonsense', (socket: Socket) => socket.end('lorem ipsum\r\n\r\n'), 502, 'engine_unreachable'],
] as const)(
  'an engine that %s is answered for',
  async ([, act, status, code, responseMs = 10_000], { expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => socket.once('data', () => act(socket)));
    const rig = await openRig({ upstream, responseMs, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha'));
    await waitFor('the end', () => client.closed);
    expect(client.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*x-catnap-error: ${code}\r\n`));
    expect(await rig.record()).toMatchObject({ outcome: 'failed', status, code });
    expect(rig.admission.lease.settled).toEqual(['failed']);
  },
);

test('an engine that does not speak WebSocket says so itself', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream((_, res) => res.writeHead(404).end('no such thing'));
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha'));
  await waitFor('the end', () => client.closed);
  expect(client.text).toMatch(/^HTTP\/1\.1 404 [^]*no such thing/);
  expect(await rig.record()).toMatchObject({ outcome: 'served', status: 404 });
});

test('an engine that is lost in the middle of saying so hangs nobody', async ({ expect, onTestFinished }) => {
  const half = 'HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nhalf';
  const upstream = await rawUpstream((socket) => socket.once('data', () => socket.end(half)));
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha'));
  await waitFor('the end', () => client.closed);
  expect((await rig.record()).outcome).toBe('broken');
});

test('closing the listener ends open WebSockets in time', async ({ expect, onTestFinished }) => {
  const { upstream } = await shouter();
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say(handshake('/v1/realtime?model=alpha'));
  await waitFor('the switch', () => client.text.includes('101'));
  await rig.listener.close(10);
  await waitFor('the end', () => client.closed);
  expect(rig.admission.lease.settled).toHaveLength(1);
});
