import { Agent } from 'node:http';
import { test } from 'vitest';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { openRig, type Rig } from '../../helpers/rig.ts';
import { httpUpstream, seen, type Seen } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const wrongs = (rig: Rig): string[] => rig.facts.flatMap((fact) => (fact.kind === 'client-error' ? [fact.reason] : []));

test('the control plane is asked first and may decline', async ({ expect, onTestFinished }) => {
  const rig = await openRig({
    onTestFinished,
    control: (req, res) => {
      if (req.url !== '/health') return false;
      res.end('well');
      return true;
    },
  });
  expect((await ask(rig.port, '/health', { method: 'GET' })).text).toBe('well');
  expect((await ask(rig.port, '/v1/x', { body: chat('alpha') })).text).toBe('{}');
  expect(rig.records()).toHaveLength(1);
});

test('answers of the control plane carry the request id, and it may read a body that asks first', async ({
  expect,
  onTestFinished,
}) => {
  const rig = await openRig({
    onTestFinished,
    control: (req, res) => {
      void req.toArray().then((body) => res.end(Buffer.concat(body)));
      return true;
    },
  });
  const client = new RawClient(rig.port, onTestFinished);
  client.say('POST /x HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
  await waitFor('the go-ahead', () => client.text.includes('100 Continue'));
  client.say('hi');
  await waitFor('the answer', () => client.text.includes('\r\n\r\nhi') || client.text.includes('2\r\nhi\r\n'));
  expect(client.text).toContain('x-request-id: mine\r\n');
});

test.for([
  ['no HTTP at all', 'lorem ipsum\r\n\r\n', 400],
  ['two lengths', 'POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx', 400],
  [
    'a length and chunks',
    'POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
  ],
  ['a folded header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n', 400],
  ['a bare CR', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n', 400],
  ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['a head that is too large', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
] as const)('%s is answered and closed', async ([, bytes, status], { expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say(bytes);
  await waitFor('the end', () => client.closed);
  expect(client.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(rig.admission.asked).toEqual([]);
  expect((await ask(rig.port, '/v1/x', { body: chat('alpha') })).status).toBe(200);
});

test('what cannot be read is told in JSON, with what to change', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).say('lorem ipsum\r\n\r\n');
  await waitFor('the end', () => client.closed);
  expect(client.text).toMatch(/"error":\{"message":"The request is not valid HTTP: .*"code":"invalid_request"\}\}$/);
  expect(wrongs(rig)).toHaveLength(1);
});

test('a body that ceases to be HTTP is answered and recorded as what it is', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  const head = 'POST /v1/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
  const client = new RawClient(rig.port, onTestFinished).say(`${head}8\r\n{"model"\r\nnonsense\r\n`);
  await waitFor('the end', () => client.closed);
  expect(client.text).toMatch(/^HTTP\/1\.1 400 /);
  expect(await rig.record()).toMatchObject({ outcome: 'rejected', status: 400, code: 'invalid_request', bytesIn: 8 });
  expect(rig.admission.asked).toEqual([]);
});

test('nonsense in the middle of an answer ends the connection without a word', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream((_, res) => res.write('half'));
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).post('/v1/x', chat('alpha'));
  await waitFor('the half', () => client.text.includes('half'));
  const before = client.text;
  client.say('\0\0\0\r\n\r\n');
  await waitFor('the end', () => client.closed);
  expect(client.text).toBe(before);
  expect((await rig.record()).outcome).toBe('aborted');
});

test('a head that does not come is not waited for', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ limits: { headerMs: 50 }, onTestFinished });
  const slow = new RawClient(rig.port, onTestFinished).say('POST /v1/x HTTP/1.1\r\nHost: x\r\n');
  await waitFor('the end', () => slow.closed);
  expect(slow.text).toMatch(/^HTTP\/1\.1 408 /);
});

test('an idle connection is kept for a while and not longer', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ limits: { keepAliveMs: 50 }, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).post('/v1/x', chat('alpha'));
  await waitFor('the answer', () => client.text.includes('200 OK'));
  expect(client.closed).toBe(false);
  await waitFor('the end', () => client.closed);
});

test('more connections than allowed are closed, and told of', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ limits: { maxConnections: 2 }, onTestFinished });
  const clients = [1, 2].map(() => new RawClient(rig.port, onTestFinished).say('GET / HTTP/1.1\r\n'));
  await waitFor('both to be in', () => clients.every(({ socket }) => socket.bytesWritten > 0));
  const third = new RawClient(rig.port, onTestFinished);
  await waitFor('the third to be closed', () => third.closed);
  expect(clients.map(({ closed }) => closed)).toEqual([false, false]);
  expect(wrongs(rig).join()).toContain('max_connections');
});

test('a request to upgrade to something else is answered as if it had not asked', async ({
  expect,
  onTestFinished,
}) => {
  const asked: Seen[] = [];
  const upstream = await httpUpstream((req, res) => {
    void seen(req).then((it) => {
      asked.push(it);
      res.end(it.body);
    });
  });
  const rig = await openRig({ upstream, onTestFinished });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const headers = {
    connection: 'Upgrade, HTTP2-Settings',
    upgrade: 'h2c',
    'http2-settings': 'AAMAAABkAARAAAAAAAIAAAAA',
  };
  for (const i of [1, 2, 3]) {
    const body = chat('alpha', { i, x: 'é'.repeat(50_000) });
    const reply = await ask(rig.port, '/v1/x', { body, headers: { ...headers, 'x-kept': 'yes' }, agent });
    expect([reply.status, reply.text]).toEqual([200, body]);
  }
  expect(asked.map(({ headers: { upgrade, 'x-kept': kept } }) => [upgrade, kept])).toEqual(
    Array(3).fill([undefined, 'yes']),
  );
});

test('a port that is taken is told with what to change', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  await expect(openRig({ onTestFinished, port: rig.port, upstream: rig.upstream })).rejects.toThrow(
    `cannot listen on 127.0.0.1:${rig.port}: another program uses it; set \`port\` to a free one`,
  );
});

test('closing lets what runs finish, takes no more, and closes idle connections', async ({
  expect,
  onTestFinished,
}) => {
  const answers: (() => void)[] = [];
  const upstream = await httpUpstream((_, res) => void answers.push(() => res.end('done')));
  const rig = await openRig({ upstream, limits: { keepAliveMs: 60_000 }, onTestFinished });
  const idle = new RawClient(rig.port, onTestFinished).say('GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitFor('the idle one', () => idle.text.includes('404'));
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const running = ask(rig.port, '/v1/x', { body: chat('alpha'), agent });
  await waitFor('the running one', () => answers.length === 1);

  let closed = false;
  const closing = rig.listener.close(60_000).then(() => (closed = true));
  await waitFor('the idle one to be closed', () => idle.closed);
  await expect(ask(rig.port, '/v1/x', { body: chat('alpha') })).rejects.toThrow('ECONNREFUSED');
  expect(closed).toBe(false);
  answers[0]?.();
  expect((await running).text).toBe('done');
  await closing;
  await waitFor('the connections to the engine to be closed', () => upstream.open() === 0);
});

test('closing ends what does not finish in time, and sooner when asked again', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream((_, res) => res.write('for ever'));
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).post('/v1/x', chat('alpha'));
  await waitFor('the answer', () => client.text.includes('for ever'));
  const first = rig.listener.close(60_000);
  await Promise.all([first, rig.listener.close(10)]);
  expect((await rig.record()).outcome).toBe('aborted');
});
