import { describe, test } from 'vitest';
import type { RequestSight } from '../../../src/ports/open-requests.ts';
import { ask, chat, RawClient, type Asking } from '../../helpers/client.ts';
import { errorIn, EventStream } from '../../helpers/event-stream.ts';
import { openRig, type Rig } from '../../helpers/rig.ts';
import { httpUpstream, rawUpstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const CHAT = '/v1/chat/completions';
const EVENT = 'data: {"choices":[{"delta":{"content":"so far"}}]}\n\n';

/** The only request that is open, once it has come this far. */
const only = (rig: Rig, leg: RequestSight['leg']): Promise<RequestSight> =>
  waitFor(`a request that is ${leg}`, () => rig.requests.list().find((sight) => sight.leg === leg));

const named = (id: string, more: Partial<Asking> = {}): Asking => ({
  body: chat('alpha'),
  ...more,
  headers: { 'x-request-id': id, ...more.headers },
});

/** Ends it, and says what was made of it. */
async function end(rig: Rig, leg: RequestSight['leg']): Promise<string | undefined> {
  const { number } = await only(rig, leg);
  return rig.requests.cancel(number);
}

describe('what operators see of a request', () => {
  test('while it waits: whose it is, how far it is and how it waits, and nothing that is said', async ({
    expect,
    onTestFinished,
  }) => {
    const rig = await openRig({ onTestFinished });
    rig.admission.answering = 'hold';
    const wishes = { 'x-catnap-priority': 'low', 'x-catnap-deadline-secs': '600' };
    const reply = ask(rig.port, `${CHAT}?secret=1`, named('mine', { headers: wishes }));
    const sight = await only(rig, 'waiting');
    expect(sight).toMatchObject({
      id: 'mine',
      model: 'alpha',
      method: 'POST',
      path: CHAT,
      client: '127.0.0.1',
      key: undefined,
      priority: 'low',
      bytesIn: chat('alpha').length,
      bytesOut: 0,
    });
    expect(sight.deadline).toBeGreaterThan(sight.at + 500_000);
    rig.admission.grantHeld();
    expect((await reply).status).toBe(200);
    expect(rig.requests.list()).toEqual([]);
  });

  test('while it is answered: how much has come', async ({ expect, onTestFinished }) => {
    const upstream = await httpUpstream((_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(EVENT);
    });
    const rig = await openRig({ upstream, onTestFinished });
    const stream = await EventStream.open(rig.port, CHAT, chat('alpha', { stream: true }));
    await stream.begun();
    expect(await only(rig, 'streaming')).toMatchObject({ bytesOut: EVENT.length, chunksOut: 1, waitedMs: 30 });
    stream.leave();
    await waitFor('it to be gone', () => rig.requests.list().length === 0);
  });
});

describe('a request that an operator ends', () => {
  test('while its body is on its way: it is told, and not waited for', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.say(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"model":"alpha"`);
    expect(await end(rig, 'arriving')).toBe('cancelled');
    await waitFor('the answer', () => client.text.includes('request_cancelled'));
    expect(client.text).toMatch(/^HTTP\/1\.1 503 /);
    expect(await rig.record()).toMatchObject({ outcome: 'cancelled', status: 503, code: 'request_cancelled' });
    expect(rig.admission.asked).toEqual([]);
  });

  test('while it waits: it is refused, and its ticket is withdrawn', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    rig.admission.answering = 'hold';
    const reply = ask(rig.port, CHAT, named('mine'));
    expect(await end(rig, 'waiting')).toBe('cancelled');
    const { status, headers, text } = await reply;
    expect([status, headers['x-catnap-error'], headers['x-should-retry']]).toEqual([503, 'request_cancelled', 'false']);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'request_cancelled', type: 'server_error' } });
    expect(rig.admission.withdrawn).toBe(1);
    expect(await rig.record()).toMatchObject({ id: 'mine', outcome: 'cancelled' });
  });

  test('while it waits only so long', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    rig.admission.answering = 'hold';
    const reply = ask(rig.port, CHAT, named('mine', { headers: { 'x-stainless-timeout': '600' } }));
    expect(await end(rig, 'waiting')).toBe('cancelled');
    expect((await reply).headers['x-catnap-error']).toBe('request_cancelled');
  });

  test('while it waits as a stream that has been told why: an error event and a cut', async ({
    expect,
    onTestFinished,
  }) => {
    const rig = await openRig({ limits: { commentAfterMs: 5, commentEveryMs: 5 }, onTestFinished });
    rig.admission.answering = 'hold';
    const stream = await EventStream.open(rig.port, CHAT, chat('alpha', { stream: true }));
    expect(await end(rig, 'waiting')).toBe('cancelled');
    expect(await stream.closed).toBe('cut');
    expect(errorIn(stream.body)?.code).toBe('request_cancelled');
    expect(await rig.record()).toMatchObject({ outcome: 'cancelled', status: 200 });
  });

  test('while its engine thinks: it is refused, and the engine hears of it', async ({ expect, onTestFinished }) => {
    const upstream = await rawUpstream(() => {});
    const rig = await openRig({ upstream, onTestFinished });
    const reply = ask(rig.port, CHAT, named('mine'));
    await waitFor('the engine to be asked', () => upstream.open() === 1);
    expect(await end(rig, 'granted')).toBe('cancelled');
    expect((await reply).status).toBe(503);
    await waitFor('the engine to be let go', () => upstream.open() === 0);
    expect(rig.admission.lease.settled).toEqual(['cancelled']);
  });

  test.for([
    ['a stream of events', { 'content-type': 'text/event-stream' }, true],
    ['anything else', { 'content-type': 'application/json', 'content-length': '1000' }, false],
  ] as const)(
    'in the middle of %s: it is cut, and never ends cleanly',
    async ([, headers, told], { expect, onTestFinished }) => {
      const upstream = await httpUpstream((_, res) => {
        res.writeHead(200, headers);
        res.write(EVENT);
      });
      const rig = await openRig({ upstream, onTestFinished });
      const reply = ask(rig.port, CHAT, { body: chat('alpha', { stream: true }) });
      expect(await end(rig, 'streaming')).toBe('cancelled');
      const { whole, text } = await reply;
      expect([whole, text.includes('request_cancelled')]).toEqual([false, told]);
      expect(await rig.record()).toMatchObject({ outcome: 'cancelled', status: 200, code: 'request_cancelled' });
      expect(rig.admission.lease.settled).toEqual(['cancelled']);
      await waitFor('the engine to be let go', () => upstream.open() === 0);
    },
  );

  test('while its body is passed on', async ({ expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => void socket.resume());
    const rig = await openRig({ upstream, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.say(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n{"model":"alpha","image":"`);
    client.say('x'.repeat(1_000_000));
    expect(await end(rig, 'granted')).toBe('cancelled');
    await waitFor('the answer', () => client.text.includes('request_cancelled'));
    expect(rig.admission.lease.settled).toEqual(['cancelled']);
  });

  test.for(['waiting', 'granted'] as const)('as a WebSocket that is %s', async (leg, { expect, onTestFinished }) => {
    const upstream = await rawUpstream(() => {});
    const rig = await openRig({ upstream, onTestFinished });
    if (leg === 'waiting') rig.admission.answering = 'hold';
    const client = new RawClient(rig.port, onTestFinished).say(
      'GET /v1/realtime?model=alpha HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    expect(await end(rig, leg)).toBe('cancelled');
    await waitFor('the answer', () => client.closed);
    expect(client.text).toMatch(/^HTTP\/1\.1 503 [^]*request_cancelled/);
    expect(await rig.record()).toMatchObject({ outcome: 'cancelled', status: 503 });
  });

  test('at the moment in which it ends by itself: whatever came first, told once, and both know it', async ({
    expect,
    onTestFinished,
  }) => {
    const rig = await openRig({ onTestFinished });
    rig.admission.answering = 'hold';
    const told: (string | undefined)[] = [];
    for (let round = 0; round < 20; round++) {
      const reply = ask(rig.port, CHAT, named(`r${round}`));
      const { number } = await only(rig, 'waiting');
      const ended = Promise.resolve().then(() => rig.requests.cancel(number));
      if (round % 2 === 0) rig.admission.grantHeld();
      const outcome = await ended;
      if (round % 2 !== 0) rig.admission.grantHeld();
      const { status } = await reply;
      told.push(outcome);
      const record = await waitFor('its record', () => rig.records()[round]);
      expect([record.outcome, record.status]).toEqual(outcome === 'served' ? ['served', 200] : ['cancelled', status]);
    }
    expect(rig.requests.cancel(1)).toBeUndefined();
    expect(told).toContain('cancelled');
    expect(rig.admission.leases.every(({ settled }) => settled.length === 1)).toBe(true);
  });

  test('who has left is not told, and twice is once', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    rig.admission.answering = 'hold';
    const reply = ask(rig.port, CHAT, named('mine'));
    const { number } = await only(rig, 'waiting');
    expect(await Promise.all([rig.requests.cancel(number), rig.requests.cancel(number)])).toEqual([
      'cancelled',
      'cancelled',
    ]);
    expect((await reply).status).toBe(503);
    expect(rig.records()).toHaveLength(1);
  });
});
