import { describe, test } from 'vitest';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';
import { APP, bearer, BOSS, keysOf, TOKENS } from '../access/scene.ts';

const CHAT = '/v1/chat/completions';
const JSON_TYPE = { 'content-type': 'application/json' };
const withKey = { ...JSON_TYPE, ...bearer(TOKENS.app) };

describe('a client without a key that fits', () => {
  test('is answered 401 in the shape it reads, and no model is asked', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ door: { keys: keysOf(APP) }, onTestFinished });
    const openai = await ask(rig.port, CHAT, { body: chat('alpha') });
    expect(openai.status).toBe(401);
    expect(openai.headers).toMatchObject({ 'www-authenticate': 'Bearer realm="catnap"', 'x-should-retry': 'false' });
    expect(JSON.parse(openai.text)).toMatchObject({ error: { type: 'authentication_error', code: 'key_missing' } });
    const headers = { 'x-api-key': TOKENS.wrong };
    for (const path of ['/v1/messages', '/upstream/alpha/v1/messages']) {
      const anthropic = await ask(rig.port, path, { body: chat('alpha'), headers });
      expect([anthropic.status, JSON.parse(anthropic.text)]).toMatchObject([
        401,
        { type: 'error', error: { type: 'authentication_error' } },
      ]);
    }
    const socket = new RawClient(rig.port, onTestFinished).say(
      'GET /v1/realtime?model=alpha HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    await waitFor('the socket to be refused', () => socket.closed);
    expect(socket.text).toMatch(/^HTTP\/1\.1 401 .*key_missing/s);
    expect(rig.admission.asked).toEqual([]);
    const codes = rig.records().map(({ code, key, outcome }) => [code, key, outcome]);
    expect(codes).toEqual([
      ['key_missing', undefined, 'rejected'],
      ['invalid_api_key', undefined, 'rejected'],
      ['invalid_api_key', undefined, 'rejected'],
      ['key_missing', undefined, 'rejected'],
    ]);
  });

  test('is told so while it still sends', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ door: { keys: keysOf(APP) }, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.say(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{`);
    await waitFor('the answer', () => client.text.includes('key_missing'));
    expect(client.text).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe('a client with a key', () => {
  test('is served, the key goes no further, and its name is told', async ({ expect, onTestFinished }) => {
    let seen = '';
    const upstream = await httpUpstream((req, res) => {
      seen = JSON.stringify(req.rawHeaders);
      res.end('{}');
    });
    const rig = await openRig({ upstream, door: { keys: keysOf(APP) }, onTestFinished });
    const reply = await ask(rig.port, CHAT, { body: chat('alpha'), headers: { ...withKey, 'x-api-key': TOKENS.app } });
    expect(reply.status).toBe(200);
    expect(seen).not.toContain(TOKENS.app);
    expect(await rig.record()).toMatchObject({ key: 'app', outcome: 'served' });
    expect(JSON.stringify(rig.facts)).not.toContain(TOKENS.app);
  });

  test('finds other models than its own not to be there, by whatever way it names them', async ({
    expect,
    onTestFinished,
  }) => {
    const keys = keysOf({ ...APP, models: ['alp*'] });
    const rig = await openRig({ door: { keys }, onTestFinished });
    const asked = async (path: string, body?: string, method = 'POST') => {
      const { status, headers } = await ask(rig.port, path, { method, headers: withKey, ...(body && { body }) });
      return `${status} ${String(headers['x-catnap-error'] ?? '')}`.trim();
    };
    expect(await asked(CHAT, chat('alpha'))).toBe('200');
    expect(await asked(CHAT, chat('gpt-4o'))).toBe('200');
    expect(await asked(CHAT, chat('beta'))).toBe('404 model_not_found');
    expect(await asked('/upstream/beta/x', undefined, 'GET')).toBe('404 model_not_found');
    expect(await asked('/props?model=beta', undefined, 'GET')).toBe('404 model_not_found');
    expect(await asked(`${CHAT}?model=beta`, '{}')).toBe('404 model_not_found');
    const unknown = await ask(rig.port, CHAT, { body: chat('beta'), headers: withKey });
    const absent = await ask(rig.port, CHAT, { body: chat('zeta'), headers: withKey });
    expect(unknown.text.replaceAll('beta', 'zeta')).toBe(absent.text);
    expect([...new Set(rig.admission.asked)]).toEqual(['alpha']);
  });

  test('has no more requests open than it may, and gets its place back with the answer', async ({
    expect,
    onTestFinished,
  }) => {
    const rig = await openRig({ door: { keys: keysOf({ ...APP, max_in_flight: 1 }) }, onTestFinished });
    rig.admission.answering = 'hold';
    const first = ask(rig.port, CHAT, { body: chat('alpha'), headers: withKey });
    await waitFor('the first to wait', () => rig.admission.asked.length === 1);
    const second = await ask(rig.port, CHAT, { body: chat('alpha'), headers: withKey });
    expect([second.status, second.headers['retry-after'], second.headers['x-catnap-error']]).toEqual([
      429,
      '1',
      'concurrency_limit_exceeded',
    ]);
    rig.admission.grantHeld();
    expect((await first).status).toBe(200);
    rig.admission.answering = 'grant';
    await waitFor('both to be told of', () => rig.records().length === 2);
    expect((await ask(rig.port, CHAT, { body: chat('alpha'), headers: withKey })).status).toBe(200);
    // One that leaves gives its place back too.
    rig.admission.answering = 'hold';
    const leaver = new RawClient(rig.port, onTestFinished);
    const body = chat('alpha');
    leaver.say(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKENS.app}\r\n`);
    leaver.say(`Content-Length: ${body.length}\r\n\r\n${body}`);
    await waitFor('it to wait', () => rig.admission.asked.length === 3);
    leaver.leave();
    await waitFor('it to be told of', () => rig.records().length === 4);
    rig.admission.answering = 'grant';
    expect((await ask(rig.port, CHAT, { body, headers: withKey })).status).toBe(200);
  });

  test('that may wake nobody is served by models that are awake, and joins no line of another', async ({
    expect,
    onTestFinished,
  }) => {
    const rig = await openRig({
      door: { keys: keysOf({ ...APP, may_swap: false }, { ...BOSS, priority: 'high' }) },
      onTestFinished,
    });
    const asked = async (headers: Record<string, string>) => {
      const { status, headers: head } = await ask(rig.port, CHAT, { body: chat('alpha'), headers });
      return [status, head['x-catnap-error'], head['x-should-retry']];
    };
    expect(await asked(withKey)).toEqual([200, undefined, undefined]);
    rig.admission.awake = false;
    expect(await asked(withKey)).toEqual([409, 'model_not_loaded', 'false']);
    expect(await asked(bearer(TOKENS.boss))).toEqual([200, undefined, undefined]);
    const socket = new RawClient(rig.port, onTestFinished).say(
      `GET /v1/realtime?model=alpha HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Api-Key: ${TOKENS.app}\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    await waitFor('the socket to be refused', () => socket.closed);
    expect(socket.text).toMatch(/^HTTP\/1\.1 409 /);
    expect(rig.admission.wishes).toMatchObject([
      { bound: true },
      { bound: true },
      { bound: false, priority: 'high' },
      { bound: true },
    ]);
  });

  test('has a rate, told with every answer', async ({ expect, onTestFinished }) => {
    const keys = keysOf({ ...APP, requests_per_second: 0.01, burst: 2 }, BOSS);
    const rig = await openRig({ door: { keys }, onTestFinished });
    const statuses = [];
    for (let n = 0; n < 3; n += 1) {
      const { status, headers } = await ask(rig.port, CHAT, { body: chat('alpha'), headers: withKey });
      statuses.push([status, headers['x-ratelimit-limit-requests'], headers['x-catnap-error']]);
    }
    expect(statuses).toEqual([
      [200, '2', undefined],
      [200, '2', undefined],
      [429, '2', 'rate_limit_exceeded'],
    ]);
    // It is one key's rate.
    expect((await ask(rig.port, CHAT, { body: chat('alpha'), headers: bearer(TOKENS.boss) })).status).toBe(200);
  });
});
