import { describe, test } from 'vitest';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, seen, type Seen, type Upstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const CHAT = '/v1/chat/completions';
const BODY = chat('alpha');

async function listener(): Promise<{ upstream: Upstream; asked: Seen[] }> {
  const asked: Seen[] = [];
  const upstream = await httpUpstream((req, res) => {
    void seen(req).then((it) => {
      asked.push(it);
      res.end('{}');
    });
  });
  return { upstream, asked };
}

describe('an engine is told', () => {
  test('the trace that a request belongs to, as it is', async ({ expect, onTestFinished }) => {
    const { upstream, asked } = await listener();
    const rig = await openRig({ upstream, onTestFinished });
    const trace = {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
      baggage: 'userId=alice',
    };
    await ask(rig.port, CHAT, { body: BODY, headers: trace });
    expect(asked[0]?.headers).toMatchObject(trace);
  });

  test('who asked, behind whatever earlier proxies said', async ({ expect, onTestFinished }) => {
    const { upstream, asked } = await listener();
    const rig = await openRig({ upstream, onTestFinished });
    await ask(rig.port, CHAT, { body: BODY, headers: { host: 'models.example.org' } });
    const before = {
      'x-forwarded-for': '10.0.0.1',
      'x-forwarded-host': 'front.example.org',
      'x-forwarded-proto': 'https',
    };
    await ask(rig.port, CHAT, { body: BODY, headers: before });
    expect(asked[0]?.headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'models.example.org',
      'x-forwarded-proto': 'http',
    });
    expect(asked[1]?.headers).toMatchObject({ ...before, 'x-forwarded-for': '10.0.0.1, 127.0.0.1' });
  });
});

describe('a request', () => {
  test('may name the whole address in its first line', async ({ expect, onTestFinished }) => {
    const { upstream, asked } = await listener();
    const rig = await openRig({ upstream, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.post(`http://127.0.0.1:${rig.port}/v1/embeddings?a=%2F`, BODY);
    await waitFor('the answer', () => client.text.includes('200 OK'));
    expect(asked[0]?.url).toBe('/v1/embeddings?a=%2F');
    expect(asked[0]?.headers.host).toBe(new URL(upstream.origin).host);
  });

  test('of HTTP/1.0 is answered without chunks', async ({ expect, onTestFinished }) => {
    const upstream = await httpUpstream((_, res) => {
      res.write('in ');
      res.end('chunks');
    });
    const rig = await openRig({ upstream, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.say(`POST ${CHAT} HTTP/1.0\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`);
    await waitFor('the end', () => client.closed);
    const [head = '', body] = client.text.split('\r\n\r\n');
    expect(body).toBe('in chunks');
    expect(head).not.toMatch(/transfer-encoding/i);
  });

  test('with OPTIONS that is no preflight is told what to use', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const reply = await ask(rig.port, CHAT, { method: 'OPTIONS' });
    expect([reply.status, reply.headers.allow]).toEqual([405, 'POST']);
    expect(rig.admission.asked).toEqual([]);
  });

  test.for([
    ['its head', 'POST /v1/x HTTP/1.1\r\nHost: x\r\nX-Drip: '],
    ['its body', 'POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n{"model":"alpha","x":"'],
  ] as const)('that drips is not waited for longer than one that says nothing: %s', async ([, start], context) => {
    const { expect, onTestFinished } = context;
    const rig = await openRig({ limits: { headerMs: 300, bodyMs: 300 }, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished).say(start);
    const drip = setInterval(() => client.say('x'), 20);
    onTestFinished(() => clearInterval(drip));
    await waitFor('the refusal', () => client.text.includes('HTTP/1.1 408'));
    await waitFor('the end', () => client.closed);
    expect(rig.admission.asked).toEqual([]);
  });
});

test('pipelined requests that fail and succeed by turns are answered in order', async ({ expect, onTestFinished }) => {
  const rig = await openRig({ upstream: (await listener()).upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished);
  const models = ['alpha', 'nobody', 'alpha', 'nobody'];
  for (const model of models) client.post(CHAT, chat(model));
  client.say('HEAD /nowhere HTTP/1.1\r\nHost: x\r\n\r\n').post(CHAT, BODY);
  const statuses = (): string[] => [...client.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status);
  await waitFor('six answers', () => statuses().length === 6);
  expect(statuses()).toEqual(['200', '404', '200', '404', '404', '200']);
});
