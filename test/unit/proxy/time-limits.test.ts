import { test } from 'vitest';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, type Upstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const CHAT = '/v1/chat/completions';
const BODY = chat('alpha', { stream: true });

/** Streams an event every few milliseconds, this many of them, and then says nothing more. */
const ticking = (events: number): Promise<Upstream> =>
  httpUpstream((req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    let at = 0;
    const timer = setInterval(() => {
      if (at++ < events) res.write(`data: ${at}\n\n`);
    }, 10);
    res.once('close', () => clearInterval(timer));
  });

test('an engine that pauses for too long in its answer is given up, with an error event', async ({
  expect,
  onTestFinished,
}) => {
  const rig = await openRig({ upstream: await ticking(120), idleMs: 1_000, onTestFinished });
  const reply = await ask(rig.port, CHAT, { body: BODY });
  expect(reply.whole).toBe(false);
  // It was let go on for longer than it may pause.
  expect(reply.text).toContain('data: 120\n\n');
  expect(reply.text).toMatch(/"message":"[^"]*idle_timeout_secs[^"]*".*"code":"engine_timeout"/);
  expect(await rig.record()).toMatchObject({ outcome: 'broken', code: 'engine_timeout' });
  expect(rig.admission.lease.settled).toEqual(['broken']);
});

test('an answer that takes too long in all is ended, however busy its engine is', async ({
  expect,
  onTestFinished,
}) => {
  const rig = await openRig({ upstream: await ticking(100_000), totalMs: 1_000, onTestFinished });
  const reply = await ask(rig.port, CHAT, { body: BODY });
  expect(reply.whole).toBe(false);
  expect(reply.text).toMatch(/^data: 1\n\n[^]*total_timeout_secs/);
});

test('an answer that is never begun counts as well', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream((req) => void req.resume());
  const rig = await openRig({ upstream, totalMs: 50, onTestFinished });
  const reply = await ask(rig.port, CHAT, { body: BODY });
  expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([504, 'engine_timeout']);
});

test('a pause that is the doing of a slow client is not held against the engine', async ({
  expect,
  onTestFinished,
}) => {
  const size = 64 * 1_048_576;
  const upstream = await httpUpstream((req, res) => {
    req.resume();
    res.end(Buffer.alloc(size));
  });
  const rig = await openRig({ upstream, idleMs: 1_000, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished);
  client.post(CHAT, chat('alpha'));
  await waitFor('the answer to begin', () => client.text !== '');
  client.socket.pause();
  // Others who pause of their own accord are given up in the meantime.
  const other = await openRig({ upstream: await ticking(1), idleMs: 1_500, onTestFinished });
  await ask(other.port, CHAT, { body: BODY });
  client.socket.resume();
  expect(await rig.record()).toMatchObject({ outcome: 'served', bytesOut: size });
});
