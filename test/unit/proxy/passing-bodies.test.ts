import { createHash, randomBytes } from 'node:crypto';
import { Agent, createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, test } from 'vitest';
import { ask, chat, RawClient } from '../../helpers/client.ts';
import { openRig, type Rig } from '../../helpers/rig.ts';
import { httpUpstream, rawUpstream, seen, type Seen, type Upstream } from '../../helpers/upstream.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const CHAT = '/v1/chat/completions';
const MB = 1_000_000;

const digest = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
const noise = (bytes: number): string => randomBytes((bytes * 3) / 4).toString('base64');

/** Remembers what it was asked, and answers with its digest. */
async function digesting(): Promise<{ upstream: Upstream; asked: Seen[] }> {
  const asked: Seen[] = [];
  const upstream = await httpUpstream((req, res) => {
    void seen(req).then(
      (it) => {
        asked.push(it);
        res.end(digest(it.body));
      },
      () => {}, // it was cut off
    );
  });
  return { upstream, asked };
}

/** Counts the bytes of the body it is sent, and says nothing. */
async function listening(): Promise<{ upstream: Upstream; heard: () => number; cut: () => boolean }> {
  let heard = 0;
  let cut = false;
  const upstream = await rawUpstream((socket) => {
    socket.once('data', (data) => (heard -= data.indexOf('\r\n\r\n') + 4));
    socket.on('data', (data) => (heard += data.length)).on('close', () => (cut = true));
  });
  return { upstream, heard: () => heard, cut: () => cut };
}

const upload = (bytes: number, path = CHAT): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`;

/** A client in the middle of a body of so many bytes, most of which have come, and an engine that has heard of it. */
async function midway(rig: Rig, heard: () => number, client: RawClient, bytes = 10 * MB): Promise<void> {
  client.say(`${upload(bytes)}{"model":"alpha","image":"${noise(4 * MB)}`);
  await waitFor('the engine to hear of it', () => heard() > 3 * MB);
  expectNothingKept(rig);
}

function expectNothingKept({ bodies }: Rig): void {
  if (bodies.diskBytes > 0 || bodies.memoryBytes > MB) throw new Error('the body is kept');
}

describe('a large body of a model that is awake', () => {
  test.for([
    ['as it is', 'alpha', 'alpha'],
    ['under a longer name', 'gpt-4o', 'the-name-the-engine-knows'],
    ['under a shorter name', 'gpt-4o', 'x'],
  ] as const)('is passed on while it comes, %s', async ([, name, servedName], { expect, onTestFinished }) => {
    const { upstream, asked } = await digesting();
    const rig = await openRig({ upstream, servedName, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    const image = noise(10 * MB);
    const body = `{ "model" : "${name}", "image":"${image}"}`;
    client.say(upload(body.length) + body.slice(0, 5 * MB));
    await waitFor('a lease', () => rig.admission.leases.length > 0);
    await waitFor('the engine to be asked', () => rig.upstream.open() > 0);
    client.say(body.slice(5 * MB));
    const expected = `{ "model" : "${servedName}", "image":"${image}"}`;
    const proof = digest(expected);
    await waitFor('the answer', () => client.text.includes(proof));
    expect(asked[0]?.headers['content-length']).toBe(String(expected.length));
    expect(await rig.record()).toMatchObject({ outcome: 'served', model: 'alpha', bytesIn: body.length });
    expect(rig.admission.lease.settled).toEqual(['served']);
  });

  test('named by the path', async ({ onTestFinished }) => {
    const { upstream } = await digesting();
    const rig = await openRig({ upstream, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    const body = Buffer.from(noise(MB));
    client.say(upload(body.length, '/upstream/alpha/anything') + body.toString('latin1', 0, MB / 2));
    await waitFor('a lease', () => rig.admission.leases.length > 0);
    client.say(body.toString('latin1', MB / 2));
    const proof = digest(body);
    await waitFor('the answer', () => client.text.includes(proof));
  });

  test('goes over a connection of its own, which is kept afterwards', async ({ expect, onTestFinished }) => {
    const { upstream } = await digesting();
    const rig = await openRig({ upstream, onTestFinished });
    const body = chat('alpha', { image: noise(2 * MB) });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    for (const sent of [chat('alpha'), body, chat('alpha'), body])
      expect((await ask(rig.port, CHAT, { body: sent, agent })).text).toBe(digest(sent));
    expect([upstream.connections(), rig.admission.leases.length]).toEqual([3, 4]);
  });

  test('is sent again from its beginning where the engine refuses a connection for a moment', async ({
    expect,
    onTestFinished,
  }) => {
    const rig = await openRig({ onTestFinished });
    const port = Number(new URL(rig.upstream.origin).port);
    await rig.upstream.close();
    const body = chat('alpha', { image: noise(5 * MB) });
    const reply = ask(rig.port, CHAT, { body });
    await waitFor('the lease', () => rig.admission.leases.length > 0);
    const late = createServer((req, res) => {
      void seen(req).then(
        (it) => res.end(digest(it.body)),
        () => {}, // it was cut off
      );
    });
    late.listen(port, '127.0.0.1');
    onTestFinished(() => {
      late.close();
      late.closeAllConnections();
    });
    expect((await reply).text).toBe(digest(body));
  });

  test('is sent no faster than the engine reads', { timeout: 60_000 }, async ({ expect, onTestFinished }) => {
    let read = 0;
    let goOn: (() => void) | undefined;
    const upstream = await httpUpstream((req, res) => {
      req.once('end', () => res.end('all of it'));
      goOn = () => req.on('data', (data: Buffer) => (read += data.length));
    });
    const rig = await openRig({ upstream, onTestFinished });
    const body = chat('alpha', { image: 'x'.repeat(40 * MB) });
    const client = new RawClient(rig.port, onTestFinished).say(upload(body.length) + body);
    await waitFor('the engine to be asked', () => goOn !== undefined);
    // What is not read lies at the client; between the two there is only what sockets hold.
    expect(client.socket.writableLength).toBeGreaterThan(MB);
    expectNothingKept(rig);
    goOn?.();
    await waitFor('the answer', () => client.text.includes('all of it'), { within: 50_000 });
    expect(read).toBe(body.length);
  });
});

describe('what is found wrong while it is passed on', () => {
  test.for([
    ['another model at its end', '","model":"beta"}', 400, 'duplicate_model'],
    ['two values without a comma', '" "model":"alpha"}', 400, 'invalid_request'],
    ['an end in the middle', '","x":[', 400, 'invalid_request'],
    ['something behind its end', '"}}', 400, 'invalid_request'],
  ] as const)('%s: it is refused, and the engine never has it whole', async ([, tail, status, code], context) => {
    const { expect, onTestFinished } = context;
    const { upstream, heard, cut } = await listening();
    const rig = await openRig({ upstream, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    const body = `{"model":"alpha","image":"${noise(10 * MB)}${tail}`;
    client.say(upload(body.length) + body);
    await waitFor('the refusal', () => client.text.includes(`"${code}"`));
    expect(client.text).toContain(`HTTP/1.1 ${status} `);
    await waitFor('the engine to be let go', cut);
    expect(heard()).toBeLessThan(body.length);
    expect(await rig.record()).toMatchObject({ outcome: 'rejected', status, code, model: 'alpha' });
    expect(rig.admission.lease.settled).toEqual(['rejected']);
  });

  test('a name that would have to be changed again', async ({ expect, onTestFinished }) => {
    const { upstream, cut } = await listening();
    const rig = await openRig({ upstream, servedName: 'longer-than-it-was', onTestFinished });
    const body = `{"model":"alpha","image":"${noise(10 * MB)}","model":"alpha"}`;
    const reply = await ask(rig.port, CHAT, { body });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([400, 'duplicate_model']);
    await waitFor('the engine to be let go', cut);
  });
});

describe('what is not passed on', () => {
  const chunked = (part: Buffer): string => `${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`;

  test.for([
    ['one without a length', 'Transfer-Encoding: chunked', (body: Buffer) => body, chunked, '0\r\n\r\n'],
    ['one that is encoded', 'Content-Encoding: gzip', gzipSync, (part: Buffer) => part.toString('latin1'), ''],
  ] as const)('%s', async ([, field, pack, write, end], { expect, onTestFinished }) => {
    const { upstream } = await digesting();
    const rig = await openRig({ upstream, onTestFinished });
    const body = chat('alpha', { image: noise(5 * MB) });
    const packed = pack(Buffer.from(body));
    const length = field.startsWith('Transfer') ? '' : `Content-Length: ${packed.length}\r\n`;
    const client = new RawClient(rig.port, onTestFinished);
    client.say(`POST ${CHAT} HTTP/1.1\r\nHost: x\r\n${field}\r\n${length}\r\n${write(packed.subarray(0, 3 * MB))}`);
    await waitFor('half of it', () => rig.bodies.memoryBytes > MB);
    expect(rig.admission.asked).toEqual([]);
    client.say(write(packed.subarray(3 * MB)) + end);
    const proof = digest(body);
    await waitFor('the answer', () => client.text.includes(proof));
  });

  test('one whose model has no place free: it is read whole, and waits', async ({ expect, onTestFinished }) => {
    const { upstream } = await digesting();
    const rig = await openRig({ upstream, onTestFinished });
    rig.admission.hasPlaces = false;
    const body = chat('alpha', { image: noise(5 * MB) });
    const client = new RawClient(rig.port, onTestFinished).say(upload(body.length) + body.slice(0, 2 * MB));
    await waitFor('half of it', () => rig.bodies.memoryBytes > MB);
    expect(rig.admission.asked).toEqual([]);
    client.say(body.slice(2 * MB));
    const proof = digest(body);
    await waitFor('the answer', () => client.text.includes(proof));
  });

  test('one that comes too slowly for it', async ({ expect, onTestFinished }) => {
    const { upstream } = await digesting();
    const rig = await openRig({ upstream, limits: { passOnMs: 0.01 }, onTestFinished });
    const body = chat('alpha', { image: noise(5 * MB) });
    const client = new RawClient(rig.port, onTestFinished).say(upload(body.length) + body.slice(0, 2 * MB));
    await waitFor('half of it', () => rig.bodies.memoryBytes > MB);
    expect(rig.admission.asked).toEqual([]);
    client.say(body.slice(2 * MB));
    const proof = digest(body);
    await waitFor('the answer', () => client.text.includes(proof));
  });

  test('one that is rewritten', async ({ expect, onTestFinished }) => {
    const { upstream } = await digesting();
    const rewrite = new Map([['seed', { kind: 'set', json: '7' }]] as const);
    const rig = await openRig({ upstream, rewrite, onTestFinished });
    const image = noise(2 * MB);
    const reply = await ask(rig.port, CHAT, { body: `{"model":"alpha","image":"${image}"}` });
    expect(reply.text).toBe(digest(`{"model":"alpha","image":"${image}","seed":7}`));
  });
});

describe('an end in the middle of it', () => {
  test('the client leaves', async ({ expect, onTestFinished }) => {
    const { upstream, heard, cut } = await listening();
    const rig = await openRig({ upstream, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    await midway(rig, heard, client);
    client.leave();
    await waitFor('the engine to be let go', cut);
    expect(await rig.record()).toMatchObject({ outcome: 'aborted', status: 499 });
    expect(rig.admission.lease.settled).toEqual(['aborted']);
  });

  test('the client stops sending: it does not keep its place for ever', async ({ expect, onTestFinished }) => {
    const { upstream, heard, cut } = await listening();
    const rig = await openRig({ upstream, limits: { passOnMs: 1_000 }, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.say(`${upload(4_010_000)}{"model":"alpha","image":"${noise(4 * MB)}`);
    await waitFor('the refusal', () => client.text.includes('"body_timeout"'));
    expect(client.text).toContain('HTTP/1.1 408');
    await waitFor('the end', () => rig.records().length > 0);
    expect(heard() === 0 || cut()).toBe(true);
  });

  test('the lease is cut', async ({ expect, onTestFinished }) => {
    const { upstream, heard, cut } = await listening();
    const rig = await openRig({ upstream, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    await midway(rig, heard, client);
    rig.admission.lease.end('drained', 'alpha had to make room');
    await waitFor('the refusal', () => client.text.includes('"drained"'));
    await waitFor('the engine to be let go', cut);
    expect(rig.admission.lease.settled).toEqual(['failed']);
  });

  test('the engine is lost', async ({ expect, onTestFinished }) => {
    const upstream = await rawUpstream((socket) => {
      let heard = 0;
      socket.on('data', (data) => {
        heard += data.length;
        if (heard > MB) socket.destroy();
      });
    });
    const rig = await openRig({ upstream, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    client.say(`${upload(10 * MB)}{"model":"alpha","image":"${noise(4 * MB)}`);
    await waitFor('the refusal', () => client.text.includes('"engine_unreachable"'));
    expect(client.text).toContain('HTTP/1.1 502');
    expect(rig.admission.lease.settled).toEqual(['failed']);
  });

  test('the engine has answered by then: the answer is the client’s, and its connection goes on', async ({
    expect,
    onTestFinished,
  }) => {
    let requests = 0;
    const upstream = await httpUpstream((req, res) => {
      requests++;
      if (req.headers['content-length'] === String(10 * MB)) res.writeHead(413).end('too much for me');
      else void seen(req).then(() => res.end('next'));
    });
    const rig = await openRig({ upstream, onTestFinished });
    const client = new RawClient(rig.port, onTestFinished);
    const begun = `{"model":"alpha","image":"${noise(4 * MB)}`;
    client.say(upload(10 * MB) + begun);
    await waitFor('the answer', () => client.text.includes('too much for me'));
    expect(await rig.record()).toMatchObject({ outcome: 'served', status: 413 });
    client.say('x'.repeat(10 * MB - begun.length)).post(CHAT, chat('alpha'));
    await waitFor('the next answer', () => client.text.endsWith('next'));
    expect(requests).toBe(2);
  });
});
