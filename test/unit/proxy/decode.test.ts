import { randomBytes } from 'node:crypto';
import {
  brotliCompressSync,
  constants,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'vitest';
import { codingsOf, Decoder, type Coding } from '../../../src/proxy/decode.ts';
import { ask, chat } from '../../helpers/client.ts';
import { openRig, type Rig } from '../../helpers/rig.ts';
import { httpUpstream, seen, type Seen } from '../../helpers/upstream.ts';

const MAX = 300_000;

/** What comes out of the pieces, or the error. */
function decode(codings: readonly Coding[], pieces: readonly Buffer[]): Promise<Buffer | string> {
  const { promise, resolve } = Promise.withResolvers<Buffer | string>();
  const out: Buffer[] = [];
  const decoder = new Decoder(codings, MAX, {
    data: (chunk) => out.push(chunk),
    end: () => resolve(Buffer.concat(out)),
    failed: ({ code, message }) => resolve(`${code}: ${message}`),
    drain: () => {},
  });
  for (const piece of pieces) decoder.write(piece);
  decoder.end();
  return promise;
}

const text = Buffer.from(chat('alpha', { x: 'word '.repeat(50) }));

const WAYS: [name: string, coding: Coding, encode: (body: Buffer) => Buffer][] = [
  ['gzip', 'gzip', (body) => gzipSync(body)],
  ['deflate', 'deflate', (body) => deflateSync(body)],
  ['deflate without its wrapper', 'deflate', (body) => deflateRawSync(body)],
  ['br', 'br', (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } })],
  ['zstd', 'zstd', (body) => zstdCompressSync(body)],
];

describe.for(WAYS)('%s', ([, coding, encode]) => {
  const packed = encode(text);

  test('gives back the body, wherever it is cut', async ({ expect }) => {
    for (let cut = 0; cut <= packed.length; cut++) {
      const found = await decode([coding], [packed.subarray(0, cut), packed.subarray(cut)]);
      expect(found.toString(), `cut at ${cut}`).toBe(text.toString());
    }
    const bytes = Array.from(packed, (_, i) => packed.subarray(i, i + 1));
    expect((await decode([coding], bytes)).toString()).toBe(text.toString());
  });

  test('notices that it ends too early, wherever that is', async ({ expect }) => {
    for (let length = 1; length < packed.length; length++) {
      expect(String(await decode([coding], [packed.subarray(0, length)])), `${length} bytes`).toMatch(/^invalid_req/);
    }
  });

  test('notices what is none, and what follows the end', async ({ expect }) => {
    expect(await decode([coding], [Buffer.from('{"model":"alpha"}')])).toMatch(/^invalid_request: .*Content-Encoding/);
    const tail = Buffer.from('{"model":"beta"}');
    expect(await decode([coding], [packed, tail])).toMatch(/^invalid_request/);
    expect(await decode([coding], [Buffer.concat([packed, tail])])).toMatch(/^invalid_request/);
  });

  test('a bomb is given up when it has unpacked to the limit', async ({ expect }) => {
    const bomb = encode(Buffer.alloc(10_000_000));
    expect(bomb.length).toBeLessThan(20_000);
    expect(await decode([coding], [bomb])).toMatch(/^body_too_large: .*`max_body_bytes`/);
    expect(String(await decode([coding, 'gzip'], [gzipSync(bomb)]))).toMatch(/^body_too_large/);
  });

  test('nothing stays nothing', async ({ expect }) => {
    expect((await decode([coding], [])).length).toBe(0);
  });
});

test('several encodings are undone from the last to the first', async ({ expect }) => {
  const packed = zstdCompressSync(brotliCompressSync(gzipSync(text)));
  const pieces = Array.from(packed, (_, i) => packed.subarray(i, i + 1));
  expect((await decode(['gzip', 'br', 'zstd'], pieces)).toString()).toBe(text.toString());
});

test('zstd that wants much memory from its reader is refused', async ({ expect }) => {
  const encoder = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 27 } });
  const packed = buffer(encoder);
  encoder.write(text);
  encoder.end(text);
  expect(await decode(['zstd'], [await packed])).toMatch(/^invalid_request: .*memory/);
});

test.for([
  [undefined, []],
  ['identity', []],
  [' Identity , ,', []],
  ['x-gzip', ['gzip']],
  ['ZSTD', ['zstd']],
  ['gzip, identity, br', ['gzip', 'br']],
] as const)('Content-Encoding: %s', ([header, codings], { expect }) => {
  expect(codingsOf(header)).toEqual(codings);
});

test.for(['compress', 'gzip;q=1', 'gzip, snappy', 'toString', Array(5).fill('gzip').join()])(
  'Content-Encoding: %s is not read',
  (header, { expect }) => {
    expect(codingsOf(header)).toMatchObject({ code: 'unsupported_encoding' });
  },
);

describe('a request', () => {
  async function engine(onTestFinished: (clean: () => Promise<void>) => void): Promise<{ rig: Rig; asked: Seen[] }> {
    const asked: Seen[] = [];
    const upstream = await httpUpstream((req, res) => {
      void seen(req).then((it) => {
        asked.push(it);
        res.end('ok');
      });
    });
    return { rig: await openRig({ upstream, limits: { maxBodyBytes: 20_000_000 }, onTestFinished }), asked };
  }

  test.for(WAYS)('encoded as %s reaches the engine plain', async ([, coding, encode], { expect, onTestFinished }) => {
    const { rig, asked } = await engine(onTestFinished);
    const body = Buffer.from(chat('gpt-4o', { image: randomBytes(1_000_000).toString('base64') }));
    const headers = { 'content-encoding': coding, 'content-type': 'application/json' };
    const reply = await ask(rig.port, '/v1/responses', { body: encode(body), headers });
    expect(reply.status).toBe(200);
    const plain = body.toString().replace('gpt-4o', 'alpha');
    expect(asked[0]?.body.toString() === plain).toBe(true);
    expect(asked[0]?.headers).toMatchObject({ 'content-length': String(plain.length) });
    expect(asked[0]?.headers['content-encoding']).toBe(undefined);
    expect((await rig.record()).bytesIn).toBe(encode(body).length);
  });

  test('that unpacks to too much is refused', async ({ expect, onTestFinished }) => {
    const { rig, asked } = await engine(onTestFinished);
    const body = zstdCompressSync(Buffer.from(chat('alpha', { x: 'x'.repeat(30_000_000) })));
    const reply = await ask(rig.port, '/v1/responses', { body, headers: { 'content-encoding': 'zstd' } });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([413, 'body_too_large']);
    expect(asked).toEqual([]);
  });

  test('that is damaged is told so, and its connection goes on', async ({ expect, onTestFinished }) => {
    const { rig } = await engine(onTestFinished);
    const headers = { 'content-encoding': 'gzip' };
    const reply = await ask(rig.port, '/v1/responses', { body: gzipSync(text).subarray(0, 50), headers });
    expect([reply.status, reply.headers['x-catnap-error']]).toEqual([400, 'invalid_request']);
    expect(reply.text).toContain('not valid gzip');
  });
});
