import { describe, test } from 'vitest';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, seen } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

describe('what is refused before it reaches the stage', () => {
  test.for([
    ['an unknown model', '/v1/chat/completions', chat('gpt-5'), 404, 'model_not_found', '"gpt-5"'],
    ['no model', '/v1/chat/completions', '{"messages":[]}', 400, 'model_missing', 'Put `model`'],
    ['no body', '/v1/chat/completions', '', 400, 'model_missing', 'Put `model`'],
    ['a model that is no string', '/v1/chat/completions', '{"model":1}', 400, 'invalid_request', 'must be a string'],
    ['half a body', '/v1/chat/completions', '{"model":"alpha"', 400, 'invalid_request', 'ends after 16 bytes'],
    ['two models', '/v1/chat/completions', '{"model":"alpha","model":"beta"}', 400, 'duplicate_model', 'Send one'],
    [
      'another model in the query',
      '/v1/x?model=beta',
      chat('alpha'),
      400,
      'duplicate_model',
      'alpha and the query beta',
    ],
    ['a disabled model', '/v1/chat/completions', chat('off'), 403, 'model_disabled', 'disabled in the config'],
    ['an unknown path', '/nowhere', chat('alpha'), 404, 'not_found', '/nowhere'],
    ['engine control', '/sleep?level=1', chat('alpha'), 403, 'forbidden', '/sleep'],
  ] as const)('%s', async ([, path, body, status, code, words], { expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const reply = await ask(rig.port, path, { body });
    expect([reply.status, reply.headers['x-catnap-error'], reply.headers['x-should-retry']]).toEqual([
      status,
      code,
      'false',
    ]);
    expect(reply.text).toContain(JSON.stringify(words).slice(1, -1));
    expect(reply.whole).toBe(true);
    expect(rig.admission.asked).toEqual([]);
    expect(await rig.record()).toMatchObject({ outcome: 'rejected', status, code });
  });

  test('a body that is not read and no model in the query', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const headers = { 'content-type': 'audio/wav' };
    const reply = await ask(rig.port, '/v1/audio/transcriptions', { body: 'RIFF', headers });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([400, 'model_missing']);
  });

  test('no model, when the default is the awake one and none is', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ unnamed: () => 'nobody-awake', onTestFinished });
    const reply = await ask(rig.port, '/v1/chat/completions', { body: '{}' });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([400, 'model_missing']);
    expect(reply.text).toContain('none is awake');
  });

  test('an alias and its model in one request are one model', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    expect((await ask(rig.port, '/v1/x?model=gpt-4o', { body: chat('alpha') })).status).toBe(200);
  });

  test("Anthropic's clients are told in their own shape", async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const reply = await ask(rig.port, '/v1/messages', { body: chat('gpt-5') });
    expect(JSON.parse(reply.text)).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
  });

  test('a body in an encoding nobody reads', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const lzma = await ask(rig.port, '/v1/responses', { body: chat('alpha'), headers: { 'content-encoding': 'lzma' } });
    expect([lzma.status, lzma.headers['x-catnap-error']]).toEqual([415, 'unsupported_encoding']);
    expect(lzma.text).toContain('lzma');
    const plain = { 'content-encoding': 'Identity' };
    expect((await ask(rig.port, '/v1/responses', { body: chat('alpha'), headers: plain })).status).toBe(200);
  });

  test('a refused request leaves its connection usable', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const client = new RawClient(rig.port, onTestFinished).post('/v1/x', chat('nope')).post('/v1/x', chat('alpha'));
    await waitFor('both answers', () => /404 Not Found[^]*200 OK/.test(client.text));
    expect(client.closed).toBe(false);
  });
});

describe('what the stage refuses', () => {
  test.for([
    ['lane_full', 429, 'rejected', '3'],
    ['wait_timeout', 503, 'expired', '3'],
    ['engine_failed', 503, 'failed', '3'],
    ['model_unloading', 503, 'rejected', '3'],
    ['shutting_down', 503, 'rejected', undefined],
  ] as const)('%s: %i, %s', async ([code, status, outcome, after], { expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    rig.admission.answering = after === undefined ? { refuse: code } : { refuse: code, retryAfterMs: 2_500 };
    const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    expect(reply.headers['server-timing']).toMatch(/^queue;dur=[\d.]+, swap;dur=0, engine;dur=0$/);
    expect([reply.status, reply.headers['x-catnap-error'], reply.headers['retry-after']]).toEqual([
      status,
      code,
      after,
    ]);
    expect(reply.headers['x-should-retry']).toBe(undefined);
    expect(reply.text).toContain(`no turn for alpha.${after === undefined ? '' : ' Try again in 3 s.'}`);
    expect(await rig.record()).toMatchObject({ model: 'alpha', outcome, status, code });
    expect(rig.upstream.connections()).toBe(0);
  });

  test('what trying again cannot mend says so', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    rig.admission.answering = { refuse: 'engine_failed', lasting: true };
    const { status, headers, text } = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    expect([status, headers['x-should-retry'], headers['retry-after']]).toEqual([503, 'false', undefined]);
    expect(text).toContain('Trying again does not help');
    expect(await rig.record()).toMatchObject({ outcome: 'failed', status: 503, code: 'engine_failed' });
  });

  test('a bug of ours is answered, told and survived', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    rig.admission.acquire = () => Promise.reject(new TypeError('undefined is not a cat'));
    const reply = await ask(rig.port, '/v1/chat/completions', { body: chat('alpha') });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([500, 'internal']);
    expect(reply.text).not.toContain('not a cat');
    expect(await rig.record()).toMatchObject({ outcome: 'failed', status: 500, code: 'internal' });
    expect(rig.bugs.splice(0)).toEqual([new TypeError('undefined is not a cat')]);
  });
});

describe('bodies', () => {
  const maxBodyBytes = 100_000;
  const big = chat('alpha', { x: 'x'.repeat(5_000_000) });

  test.for([
    ['announced', {}],
    ['not announced', { 'transfer-encoding': 'chunked' }],
  ] as const)(
    'one that is too large and %s is refused while it is sent',
    async ([, headers], { expect, onTestFinished }) => {
      const rig = await openRig({ limits: { maxBodyBytes }, onTestFinished });
      const reply = await ask(rig.port, '/v1/chat/completions', { body: big, headers });
      expect([reply.status, reply.headers['x-catnap-error'], reply.whole]).toEqual([413, 'body_too_large', true]);
      expect(reply.text).toContain('`max_body_bytes`');
      const { bytesIn } = await rig.record();
      expect(bytesIn).toBeLessThan(1_000_000);
    },
  );

  test('a client that goes on sending after it was refused is cut off in the end', async ({
    expect,
    onTestFinished,
  }) => {
    const rig = await openRig({ limits: { maxBodyBytes }, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.say('POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n{"model"');
    await waitFor('the refusal', () => client.text.includes('body_too_large'));
    expect(client.closed).toBe(false);
    await waitFor('the end', () => client.closed);
  });

  test('a client that asks first is told before it sends', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ limits: { maxBodyBytes }, onTestFinished });
    const head = 'POST /v1/x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ';
    const large = new RawClient(rig.port, onTestFinished).say(`${head}200000\r\n\r\n`);
    await waitFor('the refusal', () => large.text.includes('body_too_large'));
    expect(large.text).not.toContain('100 Continue');

    const body = chat('alpha');
    const small = new RawClient(rig.port, onTestFinished).say(`${head}${body.length}\r\n\r\n`);
    await waitFor('the go-ahead', () => small.text.includes('HTTP/1.1 100 Continue\r\n\r\n'));
    small.say(body);
    await waitFor('the answer', () => small.text.includes('200 OK'));
  });

  test('one that does not come is not waited for', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ limits: { bodyMs: 50 }, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.say('POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"model"');
    await waitFor('the refusal', () => client.text.includes('body_timeout'));
    expect(client.text).toContain('HTTP/1.1 408');
    expect(await rig.record()).toMatchObject({ outcome: 'rejected', status: 408, bytesIn: 8 });
  });

  test('a wrong one is refused before it has come whole', async ({ onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.say('POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n{"model":"alpha","model":"beta",');
    await waitFor('the refusal', () => client.text.includes('duplicate_model'));
  });

  test('a body where none belongs is passed on too', async ({ expect, onTestFinished }) => {
    let got = '';
    const upstream = await httpUpstream((req, res) => {
      void seen(req).then(({ body }) => {
        got = body.toString();
        res.end('ok');
      });
    });
    const rig = await openRig({ upstream, onTestFinished });
    const headers = { 'content-length': '2' };
    const reply = await ask(rig.port, '/v1/voices?model=alpha', { method: 'GET', body: 'hi', headers });
    expect([reply.text, got]).toEqual(['ok', 'hi']);
  });
});
