import { RawClient } from '../helpers/client.ts';
import { test } from '../helpers/e2e.ts';
import { waitFor } from '../helpers/wait-for.ts';

/** Streams that go on until their client leaves. */
const ENDLESS = { backend: 'stub', tokens: 1_000_000, token_ms: 20 } as const;

test('what is more than an engine is to do at a time waits in our line, and a full line says when to come back', async ({
  expect,
  start,
}) => {
  const catnap = await start({ models: { alpha: { ...ENDLESS, target_inflight: 2 } }, policy: { max_waiting: 1 } });
  const streams = await Promise.all(['alpha', 'alpha'].map(async (name) => (await catnap.stream(name)).begun()));
  const third = catnap.stream('alpha');
  await catnap.fact('request-arrived', { model: 'alpha' }, 3);
  const row = () => catnap.model('alpha');
  expect(await row()).toMatchObject({ runtime_inflight: 2, queue_depth: 1 });

  const full = await catnap.chat('alpha');
  expect([full.status, full.headers['x-catnap-error']]).toEqual([429, 'lane_full']);
  expect(Number(full.headers['retry-after'])).toBeGreaterThanOrEqual(1);

  streams.pop()?.leave();
  streams.push(await (await third).begun());
  expect(await row()).toMatchObject({ runtime_inflight: 2, queue_depth: 0 });
  for (const stream of streams) stream.leave();
});

test('connections beyond the cap are closed at once, and those that are open go on', async ({
  expect,
  start,
  onTestFinished,
}) => {
  const catnap = await start({ models: { alpha: ENDLESS }, max_connections: 2 });
  const stream = await (await catnap.stream('alpha')).begun();
  const idle = new RawClient(catnap.port, onTestFinished).say('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitFor('the answer', () => idle.text.includes('200 OK'));
  const third = new RawClient(catnap.port, onTestFinished);
  await waitFor('the third to be closed', () => third.closed);
  expect(third.text).toBe('');
  await waitFor('the log to say why', () =>
    catnap.facts('client-error').some(({ msg }) => msg.includes('max_connections')),
  );

  idle.say('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitFor('another answer', () => idle.text.split('200 OK').length === 3);
  const before = stream.body.length;
  await waitFor('more of the stream', () => stream.body.length > before);
  idle.leave();
  await waitFor('room for a newcomer', async () => {
    const next = new RawClient(catnap.port, onTestFinished).say('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor('its end or its answer', () => next.closed || next.text.includes('200 OK'));
    next.leave();
    return next.text.includes('200 OK');
  });
  stream.leave();
});
