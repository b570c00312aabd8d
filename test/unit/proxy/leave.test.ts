import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { test } from 'vitest';
import { chat, RawClient } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, rawUpstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const sse = { 'content-type': 'text/event-stream' };

test('a client that leaves while it sends costs nothing', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  const client = new RawClient(rig.port, onTestFinished);
  client.say('POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"model"');
  client.socket.once('connect', () => setImmediate(() => client.leave()));
  expect(await rig.record()).toMatchObject({ outcome: 'abandoned', status: 499 });
  expect(rig.admission.asked).toEqual([]);
});

test('a client that leaves while it waits takes its ticket along', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  rig.admission.answering = 'hold';
  const client = new RawClient(rig.port, onTestFinished).post('/v1/x', chat('alpha'));
  await waitFor('the ticket', () => rig.admission.asked.length === 1);
  client.leave();
  expect(await rig.record()).toMatchObject({ model: 'alpha', outcome: 'abandoned', status: 499, code: undefined });
  expect(rig.admission.withdrawn).toBe(1);
  expect(rig.upstream.connections()).toBe(0);
});

test('a client that half-closes has left as well', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  rig.admission.answering = 'hold';
  const client = new RawClient(rig.port, onTestFinished).post('/v1/x', chat('alpha'));
  await waitFor('the ticket', () => rig.admission.asked.length === 1);
  client.socket.end();
  expect((await rig.record()).outcome).toBe('abandoned');
});

test('both of two pipelined requests end when their client leaves', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ onTestFinished });
  rig.admission.answering = 'hold';
  const client = new RawClient(rig.port, onTestFinished).post('/v1/x', chat('alpha')).post('/v1/x', chat('beta'));
  await waitFor('both tickets', () => rig.admission.asked.length === 2);
  client.leave();
  await waitFor('both records', () => rig.records().length === 2);
  expect(rig.admission.withdrawn).toBe(2);
});

test('a client that leaves before the engine answers frees it at once', async ({ expect, onTestFinished }) => {
  const upstream = await rawUpstream((socket) => socket.resume());
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).post('/v1/x', chat('alpha'));
  await waitFor('the engine to be asked', () => upstream.connections() === 1);
  client.leave();
  await waitFor('the connection to be given up', () => upstream.open() === 0);
  expect(await rig.record()).toMatchObject({ outcome: 'aborted', status: 499, firstByteMs: undefined });
  expect(rig.admission.lease.settled).toEqual(['aborted']);
});

test('a client that leaves in the middle of a stream frees the engine at once', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream((_, res) => {
    const tick = (): void => {
      if (!res.destroyed) res.write('data: x\n\n', () => setImmediate(tick));
    };
    res.writeHead(200, sse);
    tick();
  });
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished).post('/v1/x', chat('alpha'));
  await waitFor('the stream', () => client.text.includes('data: x'));
  client.leave();
  await waitFor('the connection to be given up', () => upstream.open() === 0);
  const record = await rig.record();
  expect(record).toMatchObject({ outcome: 'aborted', status: 499 });
  expect(record.firstByteMs).toBeGreaterThanOrEqual(0);
  expect(rig.admission.lease.settled).toEqual(['aborted']);
});

test('an answer is never faster than its client, and none of it is lost', async ({ expect, onTestFinished }) => {
  const whole = randomBytes(20_000_000);
  let written = 0;
  const upstream = await httpUpstream((_, res) => {
    res.writeHead(200, { 'content-length': whole.length });
    const next = (): void => {
      while (written < whole.length) {
        const piece = whole.subarray(written, (written += 65_536));
        if (!res.write(piece)) return void res.once('drain', next);
      }
      res.end();
    };
    next();
  });
  const rig = await openRig({ upstream, onTestFinished });
  const socket = connect(rig.port, '127.0.0.1').pause();
  onTestFinished(() => void socket.destroy());
  const body = chat('alpha');
  socket.write(`POST /v1/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  // Nobody reads: what is under way comes to rest in the buffers of the sockets between the two.
  let before = -1;
  await waitFor('the engine to be held back', () => written > 0 && before === (before = written), { every: 100 });
  expect(written).toBeLessThan(whole.length);

  const got: Buffer[] = [];
  for await (const chunk of socket) got.push(chunk as Buffer);
  const answer = Buffer.concat(got);
  expect(answer.subarray(answer.indexOf('\r\n\r\n') + 4).equals(whole)).toBe(true);
});

test('a client that does not read at all is given up', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream((_, res) => {
    const flood = (): void => {
      if (!res.destroyed && res.write(Buffer.alloc(65_536))) setImmediate(flood);
      else res.once('drain', flood);
    };
    flood();
  });
  const rig = await openRig({ upstream, limits: { slowReaderMs: 100 }, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished);
  client.socket.pause();
  client.post('/v1/x', chat('alpha'));
  expect(await rig.record()).toMatchObject({ outcome: 'aborted', status: 499 });
  await waitFor('the connection to be given up', () => upstream.open() === 0);
});
