import { test } from 'vitest';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { EventStream } from '../../helpers/event-stream.ts';
import { openRig, type Rig, type RigOptions } from '../../helpers/rig.ts';
import { httpUpstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const CHAT = '/v1/chat/completions';
const EVENTS = 'data: {"n":1}\n\ndata: [DONE]\n\n';
const SOON = { commentAfterMs: 20, commentEveryMs: 20 };

const streams = () =>
  httpUpstream((_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream', 'server-timing': 'gpu;dur=1' });
    res.end(EVENTS);
  });

/** A data plane behind which everybody waits. */
async function held(options: RigOptions): Promise<Rig> {
  const rig = await openRig({ limits: SOON, ...options });
  rig.admission.answering = 'hold';
  return rig;
}

const open = (rig: Rig, path = CHAT): Promise<EventStream> =>
  EventStream.open(rig.port, path, chat('alpha', { stream: true }));

/** The answer without its comments. */
const told = (body: string): string => body.replace(/^: .*\n\n/gm, '').replace(/^\n/, '');

test('a stream that waits is told why, again and again, and then gets the bytes of the engine', async ({
  expect,
  onTestFinished,
}) => {
  const rig = await held({ upstream: await streams(), onTestFinished });
  const stream = await open(rig);
  expect(stream.status).toBe(200);
  expect(stream.headers['content-type']).toContain('text/event-stream');
  expect(stream.headers['x-request-id']).toBeTruthy();
  await waitFor('three comments', () => stream.body.split(': catnap: alpha wakes\n\n').length > 3);
  rig.admission.grantHeld();
  expect(await stream.closed).toBe('whole');
  // The head has left already, so the timing comes as the last comment.
  const timing = /: server-timing: gpu;dur=1, queue;dur=10, swap;dur=20, engine;dur=[\d.]+\n\n/;
  const comments = /^(: catnap: alpha wakes\n\n){3,}/;
  expect(stream.body).toMatch(
    new RegExp(`${comments.source}${timing.source}data: \\{"n":1\\}\n\ndata: \\[DONE\\]\n\n$`),
  );
  expect(await rig.record()).toMatchObject({ outcome: 'served', status: 200, bytesOut: EVENTS.length });
});

test('a stream that gets its turn in time is as the engine made it', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream((_, res) => res.writeHead(418).end('no'));
  const rig = await openRig({ upstream, onTestFinished, limits: SOON });
  const reply = await ask(rig.port, CHAT, { body: chat('alpha', { stream: true }) });
  expect([reply.status, reply.text]).toEqual([418, 'no']);
});

test('a stream that has its turn is not told anything while the engine thinks', async ({ expect, onTestFinished }) => {
  let answer: (() => void) | undefined;
  const upstream = await httpUpstream((_, res) => {
    answer = () => res.writeHead(400).end('bad');
  });
  const rig = await openRig({ upstream, onTestFinished, limits: { commentAfterMs: 5, commentEveryMs: 5 } });
  rig.admission.answering = 'grant';
  const reply = ask(rig.port, CHAT, { body: chat('alpha', { stream: true }) });
  const late = await waitFor('the engine to be asked', () => answer);
  // Whoever waits is told by now.
  rig.admission.answering = 'hold';
  await open(rig);
  late();
  expect((await reply).status).toBe(400);
});

test('a stream that fails while it waits is told by an error event and cut off', async ({ expect, onTestFinished }) => {
  const rig = await held({ onTestFinished });
  const stream = await open(rig);
  rig.admission.refuseHeld('engine_failed', 'alpha would not start');
  expect(await stream.closed).toBe('cut');
  const event: unknown = JSON.parse(told(stream.body).replace('data: ', ''));
  expect(event).toMatchObject({ error: { code: 'engine_failed', message: 'alpha would not start.' } });
  expect(await rig.record()).toMatchObject({ outcome: 'failed', status: 200, code: 'engine_failed' });
});

test('the error event is in the dialect of the route', async ({ expect, onTestFinished }) => {
  const rig = await held({ onTestFinished });
  const stream = await open(rig, '/v1/messages');
  rig.admission.refuseHeld('wait_timeout', 'alpha got no turn');
  await stream.closed;
  expect(told(stream.body)).toMatch(/^event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error"/);
});

const misfits: [what: string, status: number, type: string, body: string, expected: object][] = [
  [
    'an error',
    400,
    'application/json',
    '{"error":{"message":"too\\nlong","code":400}}',
    { message: 'too\nlong', code: 400 },
  ],
  ['an error in words', 500, 'text/plain', 'out of memory', { code: 'engine_misfit' }],
  ['no stream', 200, 'application/json', '{"choices":[]}', { code: 'engine_misfit' }],
];
test.for(misfits)(
  'an engine that answers a waiting stream with %s is told as an error event',
  async ([, status, type, body, expected], { expect, onTestFinished }) => {
    const upstream = await httpUpstream((_, res) => res.writeHead(status, { 'content-type': type }).end(body));
    const rig = await held({ upstream, onTestFinished });
    const stream = await open(rig);
    rig.admission.grantHeld();
    expect(await stream.closed).toBe('cut');
    const events = told(stream.body);
    expect(JSON.parse(events.replace('data: ', ''))).toMatchObject({ error: expected });
    expect(events.trimEnd().split('\n')).toHaveLength(1);
  },
);

test('an engine that is lost in the middle of a stream that had waited ends it with an error', async ({
  expect,
  onTestFinished,
}) => {
  const upstream = await httpUpstream((_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write('data: {"n":1}\n\n', () => res.destroy());
  });
  const rig = await held({ upstream, onTestFinished });
  const stream = await open(rig);
  rig.admission.grantHeld();
  expect(await stream.closed).toBe('cut');
  expect(told(stream.body)).toMatch(/^data: \{"n":1\}\n\n\n?data: \{"error":\{.*"code":"engine_died"/);
});

test('a client that leaves while its stream waits is let go', async ({ expect, onTestFinished }) => {
  const rig = await held({ onTestFinished });
  (await open(rig)).leave();
  expect(await rig.record()).toMatchObject({ outcome: 'abandoned', status: 499 });
  expect(rig.admission.withdrawn).toBe(1);
});

test('who accepts events without a word in the body waits for a stream; who says no does not', async ({
  expect,
  onTestFinished,
}) => {
  const rig = await held({ upstream: await streams(), onTestFinished });
  const accept = { accept: 'text/event-stream' };
  const streamed = new RawClient(rig.port, onTestFinished);
  const plain = ask(rig.port, CHAT, { body: chat('alpha', { stream: false }), headers: accept });
  await waitFor('one to wait', () => rig.admission.asked.length === 1);
  const body = chat('alpha');
  streamed.say(
    `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await waitFor('the comment', () => streamed.text.includes(': catnap'));
  rig.admission.grantHeld();
  expect((await plain).text).toBe(EVENTS);
});

test('a client that says how long it listens is answered before it gives up', async ({ expect, onTestFinished }) => {
  const rig = await held({ onTestFinished, limits: { commentAfterMs: 60_000, commentEveryMs: 60_000 } });
  const headers = { 'x-stainless-read-timeout': '0.05' };
  const reply = await ask(rig.port, CHAT, { body: chat('alpha'), headers });
  expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([503, 'wait_timeout']);
  expect(reply.headers['retry-after']).toBe('5');
  expect(await rig.record()).toMatchObject({ outcome: 'expired' });
  expect(rig.admission.withdrawn).toBe(1);
});

test('a stream of such a client is told why it waits before the client gives up', async ({
  expect,
  onTestFinished,
}) => {
  const rig = await held({ upstream: await streams(), onTestFinished, limits: { commentAfterMs: 60_000 } });
  const body = chat('alpha', { stream: true });
  const head = `Host: x\r\nX-Stainless-Timeout: 0.05\r\nContent-Length: ${body.length}`;
  const client = new RawClient(rig.port, onTestFinished).say(`POST ${CHAT} HTTP/1.1\r\n${head}\r\n\r\n${body}`);
  await waitFor('two comments', () => client.text.split(': catnap: alpha wakes').length > 2);
  rig.admission.grantHeld();
  expect(await rig.record()).toMatchObject({ outcome: 'served' });
  await waitFor('the last event', () => client.text.includes('[DONE]'));
});
