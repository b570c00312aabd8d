import { createHash, randomBytes } from 'node:crypto';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, test } from 'vitest';
import { FakeFiles } from '../../helpers/fake-files.ts';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { openRig } from '../../helpers/rig.ts';
import { httpUpstream, seen, type Upstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const CHAT = '/v1/chat/completions';
const KIB = 1_024;
/** So little that every body here goes to disk. */
const LITTLE = { eachBytes: KIB, memoryBytes: 64 * KIB };

const digest = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

/** Answers with the digest of what it was sent. */
const digesting = (): Promise<Upstream> =>
  httpUpstream((req, res) => void seen(req).then(({ body }) => res.end(digest(body))));

const noise = (bytes: number): string => randomBytes((bytes * 3) / 4).toString('base64');

describe('a body that is too large for memory', () => {
  test('waits on disk, and reaches the engine as it was sent', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ upstream: await digesting(), store: LITTLE, onTestFinished });
    rig.admission.answering = 'hold';
    const body = chat('alpha', { image: noise(5_000_000) });
    const reply = ask(rig.port, CHAT, { body });
    await waitFor('it to wait', () => rig.admission.asked.length > 0);
    expect([rig.bodies.memoryBytes, rig.bodies.diskBytes]).toEqual([0, body.length]);
    rig.admission.grantHeld();
    expect((await reply).text).toBe(digest(body));
  });

  test('is renamed and rewritten there like any other', async ({ expect, onTestFinished }) => {
    const rewrite = new Map([
      ['top_p', { kind: 'strip' }],
      ['seed', { kind: 'set', json: '7' }],
    ] as const);
    const upstream = await digesting();
    const rig = await openRig({ upstream, store: LITTLE, servedName: 'name-of-the-engine', rewrite, onTestFinished });
    const image = noise(1_000_000);
    const body = `{"seed":1,"image":"${image}","top_p":0.5, "model" : "gpt-4o"}`;
    const reply = await ask(rig.port, CHAT, { body });
    expect(reply.text).toBe(digest(`{"seed":7,"image":"${image}", "model" : "name-of-the-engine"}`));
  });

  test.for([
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const)('is kept unpacked when it came as %s', async ([coding, pack], { expect, onTestFinished }) => {
    const rig = await openRig({ upstream: await digesting(), store: LITTLE, onTestFinished });
    const body = chat('alpha', { text: 'All work and no play. '.repeat(200_000) });
    const reply = await ask(rig.port, CHAT, { body: pack(body), headers: { 'content-encoding': coding } });
    expect(reply.text).toBe(digest(body));
  });

  test('is sent again when a kept connection was dead', async ({ expect, onTestFinished }) => {
    let requests = 0;
    const upstream = await httpUpstream((req, res) => {
      // The second one meets the end of its connection.
      if (++requests === 2) req.socket.destroy();
      else void seen(req).then(({ body }) => res.end(digest(body)));
    });
    const rig = await openRig({ upstream, store: LITTLE, onTestFinished });
    const body = chat('alpha', { image: noise(2_000_000) });
    expect((await ask(rig.port, CHAT, { body })).text).toBe(digest(body));
    expect((await ask(rig.port, CHAT, { body })).text).toBe(digest(body));
    expect([requests, upstream.connections()]).toEqual([3, 2]);
  });

  test('is given up when its client leaves', async ({ expect, onTestFinished }) => {
    const files = new FakeFiles();
    const rig = await openRig({ files, store: LITTLE, onTestFinished });
    rig.admission.answering = 'hold';
    const client = new RawClient(rig.port, onTestFinished).post(CHAT, chat('alpha', { image: noise(1_000_000) }));
    await waitFor('it to wait', () => rig.admission.asked.length > 0);
    expect(files.open).toBe(1);
    client.leave();
    expect(await rig.record()).toMatchObject({ outcome: 'abandoned', status: 499 });
    expect([files.open, rig.bodies.diskBytes]).toEqual([0, 0]);
  });

  test('is given up when its client leaves in the middle of it', async ({ expect, onTestFinished }) => {
    const files = new FakeFiles();
    const rig = await openRig({ files, store: LITTLE, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.say(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{"x":"${noise(400_000)}`);
    await waitFor('a file', () => files.open === 1);
    client.leave();
    expect(await rig.record()).toMatchObject({ outcome: 'abandoned', status: 499 });
    await waitFor('the file to be closed', () => files.open === 0);
  });

  test('is given up as soon as the engine answers', async ({ expect, onTestFinished }) => {
    const ends: (() => void)[] = [];
    const upstream = await httpUpstream((req, res) => {
      req.resume().once('end', () => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
        ends.push(() => res.end());
      });
    });
    const files = new FakeFiles();
    const rig = await openRig({ upstream, files, store: LITTLE, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished).post(CHAT, chat('alpha', { image: noise(1_000_000) }));
    await waitFor('the answer to begin', () => client.text.includes('data: 1'));
    await waitFor('the file to be closed', () => files.open === 0);
    expect([rig.records(), rig.bodies.diskBytes]).toEqual([[], 0]);
    ends[0]?.();
    expect((await rig.record()).outcome).toBe('served');
  });

  test('comes in no faster than it is written', { timeout: 60_000 }, async ({ expect, onTestFinished }) => {
    const files = new FakeFiles();
    files.held = true;
    const rig = await openRig({ upstream: await digesting(), files, store: LITTLE, onTestFinished });
    const body = chat('alpha', { image: 'x'.repeat(40_000_000) });
    const client = new RawClient(rig.port, onTestFinished).post(CHAT, body);
    let written = 0;
    while (written < 10) {
      await waitFor('something to write', () => files.waiting > 0);
      expect(rig.bodies.diskBytes - (files.files[0]?.content.length ?? 0)).toBeLessThan(512 * KIB);
      await files.next();
      written++;
    }
    expect(client.socket.writableLength).toBeGreaterThan(1_000_000);
    files.held = false;
    await files.next();
    const proof = digest(body);
    await waitFor('the answer', () => client.text.includes(proof), { within: 50_000 });
  });
});

describe('when there is no room', () => {
  test('neither in memory nor on disk, a request is told to come back, and the others are served', async ({
    expect,
    onTestFinished,
  }) => {
    const store = { eachBytes: KIB, memoryBytes: 8 * KIB, diskBytes: 2_500_000 };
    const rig = await openRig({ upstream: await digesting(), store, onTestFinished });
    rig.admission.answering = 'hold';
    const body = chat('alpha', { image: noise(1_000_000) });
    const held = [1, 2].map(() => ask(rig.port, CHAT, { body }));
    await waitFor('two to wait', () => rig.admission.asked.length === 2);
    const reply = await ask(rig.port, CHAT, { body });
    expect([reply.status, reply.headers['x-catnap-error'], reply.headers['retry-after'], reply.whole]).toEqual([
      503,
      'body_not_kept',
      '5',
      true,
    ]);
    expect(reply.text).toContain('`body_disk_bytes`');
    expect(rig.records()).toMatchObject([{ outcome: 'rejected', status: 503, code: 'body_not_kept' }]);
    // Small ones still find room.
    const small = ask(rig.port, CHAT, { body: chat('alpha') });
    await waitFor('a third to wait', () => rig.admission.asked.length === 3);
    rig.admission.grantHeld();
    expect((await Promise.all([...held, small])).map(({ text }) => text)).toEqual([
      digest(body),
      digest(body),
      digest(chat('alpha')),
    ]);
    rig.admission.answering = 'grant';
    expect((await ask(rig.port, CHAT, { body })).text).toBe(digest(body));
  });

  test('on a disk that fails, a request is told so', async ({ expect, onTestFinished }) => {
    const files = new FakeFiles();
    files.failure = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    const rig = await openRig({ files, store: LITTLE, onTestFinished });
    const body = chat('alpha', { image: noise(1_000_000) });
    const reply = await ask(rig.port, CHAT, { body });
    expect([reply.status, reply.headers['x-catnap-error'], reply.headers['retry-after']]).toEqual([
      503,
      'body_not_kept',
      '5',
    ]);
    expect(reply.text).toContain('ENOSPC');
  });

  test('or when it cannot be read again', async ({ expect, onTestFinished }) => {
    const files = new FakeFiles();
    const rig = await openRig({ upstream: await digesting(), files, store: LITTLE, onTestFinished });
    rig.admission.answering = 'hold';
    const reply = ask(rig.port, CHAT, { body: chat('alpha', { image: noise(1_000_000) }) });
    await waitFor('it to wait', () => rig.admission.asked.length > 0);
    files.failure = Object.assign(new Error('bad sector'), { code: 'EIO' });
    rig.admission.grantHeld();
    expect((await reply).headers['x-catnap-error']).toBe('body_not_kept');
    expect(rig.admission.lease.settled).toEqual(['failed']);
  });
});

describe('a model that cannot be served is told of before the upload ends', () => {
  const head = `POST ${CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n`;

  test.for([
    ['one that is not known', '{"model":"nobody",', 404, 'model_not_found'],
    ['one that is disabled', '{"model":"off",', 403, 'model_disabled'],
    ['one beside another in the query', '{"model":"alpha",', 400, 'duplicate_model'],
  ] as const)('%s', async ([, begun, status, code], { expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const path = code === 'duplicate_model' ? `${CHAT}?model=beta` : CHAT;
    const client = new RawClient(rig.port, onTestFinished).say(head.replace(CHAT, path) + begun);
    await waitFor('the refusal', () => client.text.includes(`"${code}"`));
    expect(client.text).toContain(`HTTP/1.1 ${status} `);
    expect(client.text).toContain('connection: close');
    expect(await rig.record()).toMatchObject({ outcome: 'rejected', status, code, bytesIn: begun.length });
  });

  test('one named by the path, before a byte of the body', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const client = new RawClient(rig.port, onTestFinished).say(head.replace(CHAT, '/upstream/off/v1/x'));
    await waitFor('the refusal', () => client.text.includes('"model_disabled"'));
    expect((await rig.record()).bytesIn).toBe(0);
  });

  test('a client that sends on all the while can read it', async ({ expect, onTestFinished }) => {
    const rig = await openRig({ onTestFinished });
    const body = `{"model":"nobody","image":"${noise(20_000_000)}"}`;
    const reply = await ask(rig.port, CHAT, { body });
    expect([reply.status, reply.whole]).toEqual([404, true]);
  });
});
