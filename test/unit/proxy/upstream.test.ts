import { test } from 'vitest';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { openRig, type Rig, type RigOptions } from '../../helpers/rig.ts';
import { httpUpstream, seen, type Seen } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

type Scene = { readonly rig: Rig; readonly asked: Seen[] };

async function scene(onTestFinished: RigOptions['onTestFinished'], more: Partial<RigOptions> = {}): Promise<Scene> {
  const asked: Seen[] = [];
  const upstream = await httpUpstream((req, res) => {
    void seen(req).then((it) => {
      asked.push(it);
      res.writeHead(200, { 'content-type': 'text/plain' }).end(it.body);
    });
  });
  return { rig: await openRig({ upstream, servedName: 'engine-name', ...more, onTestFinished }), asked };
}

test("a model's server is reached under its name, and nothing of the request is changed", async ({
  expect,
  onTestFinished,
}) => {
  const { rig, asked } = await scene(onTestFinished);
  const body = '{"model":"somebody","x":1}';
  const headers = { 'content-type': 'application/json' };
  const reply = await ask(rig.port, '/upstream/gpt-4o/a%2Fb/?model=y', { method: 'PUT', body, headers });
  expect([reply.status, reply.text]).toEqual([200, body]);
  expect(asked.map(({ method, url }) => [method, url])).toEqual([['PUT', '/a%2Fb/?model=y']]);
  expect(rig.admission.asked).toEqual(['alpha']);
  expect(rig.admission.lease.settled).toEqual(['served']);
  expect(await rig.record()).toMatchObject({ model: 'alpha', outcome: 'served' });
});

test('a form without a model passes, since the path names one', async ({ expect, onTestFinished }) => {
  const { rig } = await scene(onTestFinished);
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  expect((await ask(rig.port, '/upstream/org/model/x', { body: '--x--', headers })).text).toBe('--x--');
  expect(rig.admission.asked).toEqual(['org/model']);
});

test('the root of a server ends with a slash', async ({ expect, onTestFinished }) => {
  const { rig, asked } = await scene(onTestFinished);
  const reply = await ask(rig.port, '/upstream/alpha?x=1', { body: 'x'.repeat(10_000) });
  expect([reply.status, reply.headers.location]).toEqual([307, '/upstream/alpha/?x=1']);
  expect(asked).toEqual([]);
});

test('files of its pages are had from a server that is awake, and wake none', async ({ expect, onTestFinished }) => {
  const { rig, asked } = await scene(onTestFinished);
  expect((await ask(rig.port, '/upstream/alpha/app.js', { method: 'GET' })).status).toBe(200);
  rig.admission.awake = false;
  const reply = await ask(rig.port, '/upstream/alpha/app.js', { method: 'GET' });
  expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([409, 'model_not_loaded']);
  expect(reply.headers['x-should-retry']).toBe('false');
  expect(asked).toHaveLength(1);
  expect(rig.admission.asked).toEqual([]);
});

test.for(['props', 'slots', 'metrics'])(
  '/%s is told by an engine that is awake, beside those who wait, and wakes none',
  async (what, { expect, onTestFinished }) => {
    const { rig, asked } = await scene(onTestFinished);
    rig.admission.answering = 'hold';
    expect((await ask(rig.port, `/${what}?model=gpt-4o`, { method: 'GET' })).status).toBe(200);
    expect(asked[0]?.url).toBe(`/${what}?model=engine-name`);
    rig.admission.awake = false;
    const reply = await ask(rig.port, `/${what}?model=alpha`, { method: 'GET' });
    expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([409, 'model_not_loaded']);
    expect(rig.admission.asked).toEqual([]);
  },
);

test('a HEAD has a head and no body', async ({ expect, onTestFinished }) => {
  const { rig } = await scene(onTestFinished);
  const reply = await ask(rig.port, '/upstream/alpha/', { method: 'HEAD' });
  expect([reply.status, reply.text, reply.whole]).toEqual([200, '', true]);
});

test('what controls an engine is refused before anybody is woken', async ({ expect, onTestFinished }) => {
  const { rig, asked } = await scene(onTestFinished);
  const reply = await ask(rig.port, '/upstream/alpha/%2Fsleep?level=1', { body: chat('alpha') });
  expect([reply.status, JSON.parse(reply.text).error.code]).toEqual([403, 'forbidden']);
  expect([asked, rig.admission.asked]).toEqual([[], []]);
});

test('a WebSocket finds its server by the path', async ({ expect, onTestFinished }) => {
  const upstream = await httpUpstream(() => {});
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished);
  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13';
  client.say(
    `GET /upstream/org%2Fmodel/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n\r\n`,
  );
  await waitFor('it to be admitted', () => rig.admission.asked[0] === 'org/model');
  expect(rig.admission.lease.model).toBe('org/model');
});
