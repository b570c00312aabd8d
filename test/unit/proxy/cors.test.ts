import { test } from 'vitest';
import { ask, chat } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream } from '../../helpers/upstream.ts';

const PAGE = 'https://chat.example.org';
const CHAT = '/v1/chat/completions';
const PREFLIGHT = {
  origin: PAGE,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization, content-type',
};

/** An engine that lets every page read its answers. */
const lax = () =>
  httpUpstream((_, res) => {
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.setHeader('Access-Control-Allow-Credentials', 'true');
    res.writeHead(200, ['X-Twice', '1', 'X-Twice', '2']).end('{}');
  });

const corsOf = (headers: object): string[] => Object.keys(headers).filter((name) => name.startsWith('access-control-'));

test('no page may read what models answer unless the config says so, whatever the engine says', async ({
  expect,
  onTestFinished,
}) => {
  const rig = await openRig({ upstream: await lax(), onTestFinished });
  const reply = await ask(rig.port, CHAT, { body: chat('alpha'), headers: { origin: PAGE } });
  expect([reply.status, corsOf(reply.headers)]).toEqual([403, []]);
  const own = await ask(rig.port, CHAT, { body: chat('alpha') });
  expect([own.status, corsOf(own.headers)]).toEqual([200, []]);
  const preflight = await ask(rig.port, CHAT, { method: 'OPTIONS', headers: PREFLIGHT });
  expect([preflight.status, corsOf(preflight.headers)]).toEqual([403, []]);
  expect(rig.admission.asked).toEqual(['alpha']);
});

test('a page that is let in may ask and read, and no other', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ upstream: await lax(), corsOrigins: [PAGE], onTestFinished });
  const preflight = await ask(rig.port, CHAT, { method: 'OPTIONS', headers: PREFLIGHT });
  expect([preflight.status, preflight.text]).toEqual([204, '']);
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': PAGE,
    'access-control-allow-headers': 'authorization, content-type',
    vary: 'Origin',
  });
  expect(preflight.headers['access-control-allow-methods']).toContain('POST');
  const reply = await ask(rig.port, CHAT, { body: chat('alpha'), headers: { origin: PAGE } });
  expect(reply.headers).toMatchObject({ 'access-control-allow-origin': PAGE, vary: 'Origin', 'x-twice': '1, 2' });
  expect(reply.headers['access-control-allow-credentials']).toBeUndefined();
  const refused = await ask(rig.port, CHAT, { body: '{}', headers: { origin: PAGE } });
  expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([400, PAGE]);
  const stranger = { ...PREFLIGHT, origin: 'https://evil.example.org' };
  expect((await ask(rig.port, CHAT, { method: 'OPTIONS', headers: stranger })).status).toBe(403);
  const foreign = await ask(rig.port, CHAT, { body: chat('alpha'), headers: { origin: stranger.origin } });
  expect(corsOf(foreign.headers)).toEqual([]);
});

test('any page may where the config says `*`, but none may ask the admin API', async ({ expect, onTestFinished }) => {
  const rig = await openRig({
    corsOrigins: ['*'],
    control: (req, res) => {
      if (req.url !== '/v1/models' && req.url !== '/v1/admin/models') return false;
      res.end('{}');
      return true;
    },
    onTestFinished,
  });
  const get = { method: 'GET', headers: { origin: PAGE } };
  expect((await ask(rig.port, '/v1/models', get)).headers['access-control-allow-origin']).toBe('*');
  expect(corsOf((await ask(rig.port, '/v1/admin/models', get)).headers)).toEqual([]);
  for (const path of ['/v1/admin/models', '/control/pin', '/control?x', '/control']) {
    expect((await ask(rig.port, path, { method: 'OPTIONS', headers: PREFLIGHT })).status, path).toBe(403);
  }
  expect((await ask(rig.port, '/controls', { method: 'OPTIONS', headers: PREFLIGHT })).status).toBe(204);
});

test('a preflight is never an engine’s to answer', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ upstream: await lax(), onTestFinished });
  const reply = await ask(rig.port, '/upstream/alpha/x', { method: 'OPTIONS', headers: PREFLIGHT });
  expect([reply.status, rig.admission.asked]).toEqual([403, []]);
});
