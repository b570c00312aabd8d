import { describe, test } from 'vitest';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { rawUpstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n';
const streamHead = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
const streaming = chat('alpha', { stream: true });

describe('a connection is not used again', () => {
  test.for([
    ['whose engine says it closes', `${ok}Connection: close\r\n\r\nok`],
    ['whose engine keeps it for less than a moment', `${ok}Keep-Alive: timeout=1\r\n\r\nok`],
    ['over which more came than was asked for', `${ok}\r\nokHTTP/1.1 200 OK\r\n`],
  ] as const)('%s', async ([, answer], { expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => socket.on('data', () => socket.write(answer)));
    const rig = await openRig({ upstream, onTestFinished });
    for (let i = 0; i < 2; i++)
      expect((await ask(rig.port, '/v1/embeddings', { body: chat('alpha') })).text).toBe('ok');
    expect(upstream.connections()).toBe(2);
    await waitFor('both to be closed', () => upstream.open() === 0);
  });

  test('over which something comes while nobody asks', async ({ expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => {
      socket.on('data', () => socket.write(`${ok}\r\nok`, () => setImmediate(() => socket.write(`${ok}\r\nno`))));
    });
    const rig = await openRig({ upstream, onTestFinished });
    expect((await ask(rig.port, '/v1/embeddings', { body: chat('alpha') })).text).toBe('ok');
    await waitFor('it to be closed', () => upstream.open() === 0);
    expect((await ask(rig.port, '/v1/embeddings', { body: chat('alpha') })).text).toBe('ok');
  });

  test('whose engine answered before it had read the question', async ({ expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => {
      socket.once('data', () => socket.pause().write(`${ok}\r\nok`));
    });
    const rig = await openRig({ upstream, onTestFinished });
    const body = chat('alpha', { x: 'x'.repeat(20_000_000) });
    expect((await ask(rig.port, '/v1/embeddings', { body })).text).toBe('ok');
    expect((await ask(rig.port, '/v1/embeddings', { body: chat('alpha') })).text).toBe('ok');
    expect(upstream.connections()).toBe(2);
  });
});

test('chunks pass as they stand, and torn ones put together, to the last byte', async ({ expect, onTestFinished }) => {
  const parts = [
    '3\r\none\r\n',
    '3\r\nt',
    'wo\r\n5\r\nthree\r\n',
    '4;x=y\r\nfour\r\n',
    '4\r\nfive\r\n0\r\nX-T: 1\r\n\r\n',
  ];
  const upstream = await rawUpstream((socket) => {
    socket.once('data', () => {
      const say = ([next, ...rest]: readonly string[]): void => {
        if (next !== undefined) socket.write(next, () => setImmediate(say, rest));
      };
      say([streamHead, ...parts]);
    });
  });
  const rig = await openRig({ upstream, onTestFinished });
  const reply = await ask(rig.port, '/v1/chat/completions', { body: streaming });
  expect([reply.text, reply.whole]).toEqual(['onetwothreefourfive', true]);
  expect(await rig.record()).toMatchObject({ outcome: 'served', bytesOut: 19 });
});

test('streams that were asked for in one go come one after the other', async ({ expect, onTestFinished }) => {
  let asked = 0;
  const upstream = await rawUpstream((socket) => {
    socket.on('data', () => {
      const word = ['one', 'two', 'six'][asked++] ?? '';
      socket.write(`${streamHead}3\r\n${word}\r\n`, () => setImmediate(() => socket.write('2\r\n!\n\r\n0\r\n\r\n')));
    });
  });
  const rig = await openRig({ upstream, onTestFinished });
  const client = new RawClient(rig.port, onTestFinished);
  for (let i = 0; i < 3; i++) client.post('/v1/chat/completions', streaming);
  await waitFor('the last end', () => client.text.split('0\r\n\r\n').length === 4);
  // Node may put what waits for its turn into one chunk.
  const bodies = [...client.text.matchAll(/(one|two|six)(?:\r\n2\r\n)?!\n\r\n0\r\n\r\n/g)];
  expect(bodies.map(([, word]) => word)).toEqual(['one', 'two', 'six']);
});

test('a client that does not read holds the engine back', async ({ expect, onTestFinished }) => {
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
  const most = 64 * 1_048_576;
  let sent = 0;
  let heldBack = false;
  const upstream = await rawUpstream((socket) => {
    const fill = (): void => {
      while (sent < most && !heldBack) {
        sent += chunk.length;
        heldBack = !socket.write(chunk) && socket.writableLength > 1_048_576;
      }
    };
    socket.once('data', () => {
      socket.write(streamHead);
      fill();
    });
    socket.on('drain', () => {
      heldBack = false;
      fill();
    });
  });
  const rig = await openRig({ upstream, limits: { slowReaderMs: 300 }, onTestFinished });
  new RawClient(rig.port, onTestFinished).post('/v1/chat/completions', streaming).socket.pause();
  await waitFor('the client to be given up', () => rig.records().length === 1);
  expect(sent).toBeLessThan(most);
  expect(rig.records()[0]?.outcome).toBe('aborted');
  await waitFor('the engine to be let go', () => upstream.open() === 0);
});
