import { describe, test } from 'vitest';
import { ACCESS, type AccessRow } from '../../../src/config/access.ts';
import { APP, bearer, BOSS, keysOf, knock, openDoor, TOKENS, verdict, type Asking } from './scene.ts';

const HERE = '127.0.0.1';
const ELSEWHERE = '192.168.1.9';

const sample = ({ path }: AccessRow): string =>
  path.replace('/*', '/x').replace('{id}', 'x').replace('?model=', '?model=x');
const methodOf = ({ methods }: AccessRow): string => (methods[0] === 'any' ? 'POST' : (methods[0] ?? 'GET'));

type Who = 'nobody' | 'wrong' | 'app' | 'boss';
/** What each comes to, asked from this machine and from another one. */
type Verdicts = Readonly<Record<Who, readonly [here: string, elsewhere: string]>>;

const same = (verdict: string) => [verdict, verdict] as const;
const everybody = { nobody: same('in'), wrong: same('in'), app: same('in'), boss: same('in') };
const onlyHere = {
  nobody: ['in', 'forbidden'],
  wrong: ['in', 'forbidden'],
  app: ['in', 'forbidden'],
  boss: ['in', 'forbidden'],
} as const;
const keyed = { nobody: same('key_missing'), wrong: same('invalid_api_key'), app: same('in'), boss: same('in') };
const bossOnly = { ...keyed, app: same('forbidden') };

/** By the keys of the config, then by the class of the row. */
const EXPECTED: Readonly<Record<string, Readonly<Record<AccessRow['access'], Verdicts>>>> = {
  'no keys': { open: everybody, infer: everybody, admin: onlyHere },
  'a key that may infer': { open: everybody, infer: { ...keyed, boss: same('invalid_api_key') }, admin: onlyHere },
  'keys that may infer and steer': { open: everybody, infer: keyed, admin: bossOnly },
};
const KEYS = {
  'no keys': keysOf(),
  'a key that may infer': keysOf(APP),
  'keys that may infer and steer': keysOf(APP, BOSS),
};

describe.for(Object.entries(KEYS))('with %s', ([what, keys]) => {
  test.for(ACCESS)('$path is for those the table names', async (row, { expect }) => {
    const door = openDoor({ keys });
    // What is refused to everybody is refused by the data plane, so that whoever may ask that gets its answer.
    const expected = EXPECTED[what]?.[row.use === 'refused' ? 'infer' : row.access];
    const asking = (peer: string, headers = {}): Asking => ({ method: methodOf(row), url: sample(row), headers, peer });
    const found: Record<string, unknown> = {};
    for (const who of ['nobody', 'wrong', 'app', 'boss'] as const) {
      const headers = who === 'nobody' ? {} : bearer(TOKENS[who]);
      found[who] = [await verdict(door, asking(HERE, headers)), await verdict(door, asking(ELSEWHERE, headers))];
    }
    expect(found).toEqual(expected);
  });
});

describe('what is not in the table', () => {
  test.for(['/', '/nothing', '/v1administrator', '/v1/newer/route'])(
    '%s needs a key as inference does',
    async (url, { expect }) => {
      const door = openDoor({ keys: keysOf(APP) });
      expect(await verdict(door, { url })).toBe('key_missing');
      expect(await verdict(door, { url, headers: bearer(TOKENS.app) })).toBe('in');
    },
  );
});

describe('a path that could be read in two ways is judged by the stricter', () => {
  test.for([
    '/v1/%61dmin/models',
    '/v1/admin%2fmodels',
    '/v1/admin/',
    '/v1/admin',
    'http://localhost:3000/v1/admin/models',
    '/v1/admin?x',
    '/v1/admin/%zz',
    '/v1/admin/../admin/models',
  ])('%s', async (url, { expect }) => {
    const door = openDoor({ keys: keysOf(APP, BOSS) });
    expect(await verdict(door, { url, headers: bearer(TOKENS.app) })).toBe('forbidden');
  });

  test.for([
    '/v1/models/../admin/models',
    '/v1/models/%2e%2e/admin/models',
    '/v1/models/..%2fadmin/models',
    '/health/../v1/admin/models',
    '/v1/models/\\..\\admin',
    '/v1/models/.',
    '/v1/models/a%00b',
  ])('%s leads nowhere', async (url, { expect }) => {
    expect((await knock(openDoor(), { url })).twisted).toBe(true);
  });

  test.for([
    '/v1/models/org%2Fname',
    '/v1/models/a.b',
    '/v1/models/..a',
    '/upstream/alpha/a.js',
    '/v1/models/%E2%82%AC',
  ])('%s is plain', async (url, { expect }) => {
    expect((await knock(openDoor(), { url })).twisted).toBe(false);
  });
});

describe('a key is taken', () => {
  const door = openDoor({ keys: keysOf(APP, BOSS) });
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  test.for<[string, Record<string, string>, string | undefined]>([
    ['as a bearer token', bearer(TOKENS.app), 'app'],
    ['whatever the case of the word', { authorization: `bearer  ${TOKENS.app} ` }, 'app'],
    ['as x-api-key', { 'x-api-key': TOKENS.app }, 'app'],
    ['as a Basic password, under any name', basic(`me:${TOKENS.app}`), 'app'],
    ['as a Basic password, without a name', basic(`:${TOKENS.boss}`), 'boss'],
    ['from the second place when the first is none of ours', { ...bearer('sk-dummy'), 'x-api-key': TOKENS.app }, 'app'],
    ['not as a Basic name', basic(`${TOKENS.app}:`), undefined],
    ['not in part', bearer(TOKENS.app.slice(0, -1)), undefined],
    ['not with more behind it', bearer(`${TOKENS.app}x`), undefined],
    ['not by its hash', bearer(String(APP['hash'])), undefined],
    ['not without the word', { authorization: TOKENS.app }, undefined],
    ['not empty', { authorization: 'Bearer ', 'x-api-key': '' }, undefined],
  ])('%s', async ([, headers, name], { expect }) => {
    const { visitor, denial } = await knock(door, { url: '/v1/models', headers });
    expect([visitor.name, denial === undefined]).toEqual([name, name !== undefined]);
  });

  test('and 401 says how, in the words a browser asks its user with when a page was wanted', async ({ expect }) => {
    const asked = await knock(door, { url: '/v1/models' });
    expect(asked.denial?.headers).toEqual({ 'www-authenticate': 'Bearer realm="catnap"' });
    const page = await knock(door, { url: '/v1/admin/models', headers: { accept: 'text/html,*/*' } });
    expect(page.denial?.headers).toEqual({ 'www-authenticate': 'Basic realm="catnap", charset="UTF-8"' });
  });
});

describe('without an admin key, this machine alone may steer', () => {
  const url = '/v1/admin/models';
  test.for<[string, Asking, string]>([
    ['127.0.0.1', { peer: '127.0.0.1' }, 'in'],
    ['another loopback address', { peer: '127.1.2.3' }, 'in'],
    ['::1', { peer: '::1' }, 'in'],
    ['an IPv4 address in IPv6', { peer: '::ffff:127.0.0.1' }, 'in'],
    ['the LAN', { peer: '192.168.1.9' }, 'forbidden'],
    ['the LAN in IPv6', { peer: '::ffff:192.168.1.9' }, 'forbidden'],
    ['an address like ours', { peer: '128.0.0.1' }, 'forbidden'],
    ['a socket that has gone', { peer: '' }, 'forbidden'],
    ['a proxy here, for somebody else', { headers: { 'x-forwarded-for': '203.0.113.9' } }, 'forbidden'],
    ['a proxy here that says so otherwise', { headers: { forwarded: 'for=203.0.113.9' } }, 'forbidden'],
    ['a proxy here that says only that it is one', { headers: { via: '1.1 proxy' } }, 'forbidden'],
    ['a proxy here that tells only of TLS', { headers: { 'x-forwarded-proto': 'https' } }, 'forbidden'],
    [
      'somebody who claims to be from here',
      { peer: '192.168.1.9', headers: { 'x-forwarded-for': '127.0.0.1' } },
      'forbidden',
    ],
  ])('%s', async ([, asking, expected], { expect }) => {
    expect(await verdict(openDoor(), { url, ...asking })).toBe(expected);
    expect(await verdict(openDoor({ keys: keysOf(APP) }), { url, ...asking })).toBe(expected);
  });
});

describe('a page that has pointed its own name at our address reads no metrics', () => {
  const page = { 'accept-language': 'de' };
  test.for([
    [{ host: 'evil.example.com', ...page }, 'forbidden'],
    [{ host: 'evil.example.com', 'sec-fetch-site': 'same-origin' }, 'forbidden'],
    [{ host: 'evil.example.com' }, 'in'],
    [{ host: 'gpu-box:3000', ...page }, 'in'],
    [{ host: 'catnap.example.org', ...page }, 'in'],
  ] as const)('%o', async ([headers, expected], { expect }) => {
    for (const keys of [[], keysOf(APP, BOSS)]) {
      expect(await verdict(openDoor({ keys }), { url: '/metrics', headers })).toBe(expected);
      expect(await verdict(openDoor({ keys }), { url: '/health', headers })).toBe('in');
    }
  });
});

describe('no page of another may steer, whatever key its browser sends along', () => {
  const url = '/v1/admin/models';
  const cases: [Record<string, string>, string][] = [
    [{ host: 'evil.example.com' }, 'forbidden'],
    [{ host: 'localhost.evil.com' }, 'forbidden'],
    [{ host: '127.0.0.1.evil.com' }, 'forbidden'],
    [{ host: 'a b' }, 'forbidden'],
    [{ host: '' }, 'forbidden'],
    [{ origin: 'https://evil.example.com' }, 'forbidden'],
    [{ origin: 'http://localhost:8080' }, 'forbidden'],
    [{ origin: 'null' }, 'forbidden'],
    [{ 'sec-fetch-site': 'cross-site' }, 'forbidden'],
    [{ 'sec-fetch-site': 'same-site' }, 'forbidden'],
    [{ host: '127.0.0.1:3000' }, 'in'],
    [{ host: '[::1]:3000' }, 'in'],
    [{ host: 'gpu-box:3000' }, 'in'],
    [{ host: 'gpu-box.local' }, 'in'],
    [{ host: 'catnap.default.svc' }, 'in'],
    [{ host: 'CATNAP.example.org' }, 'in'],
    [{ host: 'catnap.example.org.' }, 'in'],
    [{ origin: 'http://localhost:3000', 'sec-fetch-site': 'same-origin' }, 'in'],
    [{ host: 'localhost:80', origin: 'http://localhost' }, 'in'],
    [{ 'sec-fetch-site': 'none' }, 'in'],
  ];
  test.for(cases)('%o', async ([headers, expected], { expect }) => {
    for (const method of ['GET', 'POST']) {
      expect(await verdict(openDoor(), { url, method, headers })).toBe(expected);
      const keyed = { url, method, headers: { ...bearer(TOKENS.boss), ...headers } };
      expect(await verdict(openDoor({ keys: keysOf(BOSS) }), keyed)).toBe(expected);
    }
  });

  test('the host in the request line counts as well', async ({ expect }) => {
    const asking = { url: 'http://evil.example.com/v1/admin/models' };
    expect(await verdict(openDoor(), asking)).toBe('forbidden');
  });

  test('a request with two hosts is nobody’s', async ({ expect }) => {
    const rawHeaders = ['Host', 'localhost', 'hOST', 'evil.example.com'];
    expect(await verdict(openDoor(), { url, rawHeaders })).toBe('invalid_request');
    expect(await verdict(openDoor(), { url: '/v1/chat/completions', method: 'POST', rawHeaders })).toBe(
      'invalid_request',
    );
  });
});

describe('pages ask models only where the config lets them', () => {
  const chat = { method: 'POST', url: '/v1/chat/completions' };
  const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  const frame = { ...link, 'sec-fetch-dest': 'iframe' };
  test.for<[string, Asking, string]>([
    ['a foreign page', { ...chat, headers: { origin: 'https://evil.example.com' } }, 'forbidden'],
    ['one that is let in', { ...chat, headers: { origin: 'https://chat.example.org' } }, 'in'],
    [
      'a WebSocket of a foreign page',
      { url: '/v1/realtime?model=alpha', headers: { origin: 'https://evil.example.com' } },
      'forbidden',
    ],
    ['a page of its own', { ...chat, headers: { origin: 'http://localhost:3000' } }, 'in'],
    [
      'a page that took our address for its name',
      { ...chat, headers: { host: 'evil.com', origin: 'http://evil.com' } },
      'forbidden',
    ],
    ['a program under any name', { ...chat, headers: { host: 'llm.example.com' } }, 'in'],
    ['a picture', { url: '/v1/x?model=alpha', headers: image }, 'forbidden'],
    ['a frame', { url: '/upstream/alpha/', headers: frame }, 'forbidden'],
    ['a link', { url: '/upstream/alpha/', headers: link }, 'in'],
    [
      'a reader of the catalogue, who cannot see it',
      { url: '/v1/models', headers: { origin: 'https://evil.example.com' } },
      'in',
    ],
  ])('%s', async ([, asking, expected], { expect }) => {
    expect(await verdict(openDoor({ corsOrigins: ['https://chat.example.org'] }), asking)).toBe(expected);
  });

  describe('a page that has pointed its own name at us reads nothing without a key', () => {
    const host = 'evil.com:3000';
    const same = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };
    const reads = ['/v1/models', '/props', '/slots', '/upstream/org/b/load/v1/models'];
    test.for<[string, Record<string, string>, string]>([
      ['with Sec-Fetch-Site', { host, ...same }, 'forbidden'],
      ['over plain HTTP, where browsers do not say it', { host, 'accept-language': 'en' }, 'forbidden'],
      ['with the language taken away as far as a page can', { host, 'accept-language': '' }, 'forbidden'],
      ['of an origin it names', { host, origin: 'http://evil.com:3000' }, 'forbidden'],
      ['when somebody follows a link', { host, 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, 'forbidden'],
      ['a page by a name of ours', { host: 'catnap.example.org', ...same }, 'in'],
      ['a page by an address', { host: '10.0.0.1:3000', ...same }, 'in'],
      ['a program', { host }, 'in'],
      ['a program of Node', { host, 'accept-language': '*', 'sec-fetch-mode': 'cors' }, 'in'],
    ])('%s', async ([, headers, expected], { expect }) => {
      const door = openDoor({ corsOrigins: ['https://chat.example.org'] });
      for (const url of reads) expect([url, await verdict(door, { url, headers })]).toEqual([url, expected]);
    });

    test('by the name in the target neither', async ({ expect }) => {
      const url = 'http://evil.com/v1/models';
      expect(await verdict(openDoor(), { url, headers: same })).toBe('forbidden');
    });

    test('with a key it needs the key, which it does not have', async ({ expect }) => {
      const door = openDoor({ keys: keysOf(APP) });
      expect(await verdict(door, { url: '/v1/models', headers: { host, ...same } })).toBe('key_missing');
      expect(await verdict(door, { url: '/v1/models', headers: { host, ...same, ...bearer(TOKENS.app) } })).toBe('in');
    });
  });
});

describe('when operators have a port of their own', () => {
  const keys = keysOf(APP, BOSS);
  const main = openDoor({ keys, serves: { whom: 'clients', others: 3001 } });
  const own = openDoor({ keys, serves: { whom: 'operators', others: 3000 } });

  test.for(ACCESS)('$path answers on one of the two, or on both', async (row, { expect }) => {
    const asking = { method: methodOf(row), url: sample(row), headers: bearer(TOKENS.boss) };
    const where = { open: ['in', 'in'], infer: ['in', 'not_found'], admin: ['not_found', 'in'] }[row.access];
    const refused = row.use === 'refused' ? ['in', 'not_found'] : undefined;
    const upstream = row.path === '/upstream/*' ? ['in', 'in'] : undefined;
    expect([await verdict(main, asking), await verdict(own, asking)]).toEqual(refused ?? upstream ?? where);
  });

  test('each says where the other is', async ({ expect }) => {
    expect((await knock(main, { url: '/v1/admin/models' })).denial?.message).toContain('3001');
    const chat = { method: 'POST', url: '/v1/chat/completions' };
    expect((await knock(own, chat)).denial?.message).toContain('3000');
  });

  test('the key is still needed there', async ({ expect }) => {
    const statuses = [];
    for (const token of [TOKENS.wrong, TOKENS.app, TOKENS.boss]) {
      for (const url of ['/v1/admin/models', '/upstream/alpha/x']) {
        statuses.push(await verdict(own, { url, headers: bearer(token) }));
      }
    }
    expect(statuses).toEqual(['invalid_api_key', 'invalid_api_key', 'forbidden', 'forbidden', 'in', 'in']);
    // Nobody steers an engine through the port of the clients.
    expect(
      (await knock(main, { url: '/upstream/alpha/x', headers: bearer(TOKENS.boss) })).visitor.maySteer()?.code,
    ).toBe('not_found');
  });
});
