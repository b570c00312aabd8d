import { test } from 'vitest';
import { ask, chat } from '../../helpers/client.ts';
import { EventStream } from '../../helpers/event-stream.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const CHAT = '/v1/chat/completions';
const SOON = { commentAfterMs: 20, commentEveryMs: 20 };
const STREAM = chat('alpha', { stream: true });

/** Says the first part, and the second one when it is told to go on. */
async function inTwoParts(type: string, first: string, second: string) {
  const going = Promise.withResolvers<void>();
  const upstream = await httpUpstream(async (req, res) => {
    req.resume();
    res.writeHead(200, { 'content-type': type });
    res.write(first);
    await going.promise;
    res.end(second);
  });
  return { upstream, goOn: going.resolve };
}

test('a stream whose engine is suspended is kept alive by comments, for longer than the engine may pause, and goes on', async ({
  expect,
  onTestFinished,
}) => {
  // It is put away in the middle of an event.
  const { upstream, goOn } = await inTwoParts('text/event-stream', 'data: 1\n\nevent: x\n', 'data: 2\n\n');
  const idleMs = 1_000;
  const rig = await openRig({ upstream, idleMs, limits: SOON, onTestFinished });
  const stream = await EventStream.open(rig.port, CHAT, STREAM);
  await waitFor('the first event', () => stream.body.includes('event: x\n'));
  const { lease } = rig.admission;
  lease.stand(true);
  const from = performance.now();
  await waitFor('comments', () => performance.now() - from > idleMs && stream.body.includes(': catnap: '));
  lease.stand(false);
  goOn();
  expect(await stream.closed).toBe('whole');
  expect(stream.body.replaceAll(/^: catnap: .*\n/gm, '')).toBe('data: 1\n\nevent: x\ndata: 2\n\n');
  expect(lease.settled).toEqual(['served']);
});

test('what was suspended is given up like any other once its engine is back and says nothing', async ({
  expect,
  onTestFinished,
}) => {
  const { upstream } = await inTwoParts('text/event-stream', 'data: 1\n\n', '');
  const rig = await openRig({ upstream, idleMs: 1_000, limits: SOON, onTestFinished });
  const stream = await EventStream.open(rig.port, CHAT, STREAM);
  await waitFor('the first event', () => stream.body !== '');
  rig.admission.lease.stand(true);
  await waitFor('comments', () => stream.body.includes(': catnap: '));
  rig.admission.lease.stand(false);
  expect(await stream.closed).toBe('cut');
  expect(stream.body).toContain('idle_timeout_secs');
});

test('whoever leaves while its engine is suspended is done at once, and one that is cut then is told', async ({
  expect,
  onTestFinished,
}) => {
  const { upstream } = await inTwoParts('text/event-stream', 'data: 1\n\n', '');
  const rig = await openRig({ upstream, onTestFinished });
  const [left, cut] = [await EventStream.open(rig.port, CHAT, STREAM), await EventStream.open(rig.port, CHAT, STREAM)];
  await waitFor('both to begin', () => left.body !== '' && cut.body !== '');
  const [first, second] = rig.admission.leases;
  for (const lease of rig.admission.leases) lease.stand(true);
  left.leave();
  await waitFor('the end of the one that left', () => first?.settled.length === 1);
  second?.end('engine_died', 'it was killed');
  await cut.closed;
  expect(cut.body).toContain('"code":"engine_died"');
  expect([first?.settled, second?.settled]).toEqual([['aborted'], ['broken']]);
});

test.for([
  ['to begin', { responseMs: 1_000 }],
  ['in all', { totalMs: 1_000 }],
] as const)(
  'a plain answer waits in silence, and its time %s stands still',
  async ([, limit], { expect, onTestFinished }) => {
    const going = Promise.withResolvers<void>();
    const upstream = await httpUpstream(async (req, res) => {
      req.resume();
      await going.promise;
      res.end('{}');
    });
    const rig = await openRig({ upstream, ...limit, onTestFinished });
    const reply = ask(rig.port, CHAT, { body: chat('alpha') });
    await waitFor('its lease', () => rig.admission.leases.length === 1);
    rig.admission.lease.stand(true);
    // Somebody who is not suspended is given up meanwhile.
    const other = await ask(rig.port, CHAT, { body: chat('alpha') });
    expect(other.status).toBe(504);
    rig.admission.leases[0]?.stand(false);
    going.resolve();
    expect([(await reply).status, (await reply).text]).toEqual([200, '{}']);
  },
);
