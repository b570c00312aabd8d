import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:net';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { AnswerReader, type Piece } from '../../../src/proxy/answer-reader.ts';

type Read = {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly string[];
  readonly body: string;
  /** Undefined where the answer is refused or cut off. */
  readonly end: 'ended' | 'cut';
};

/** The bytes that belong to the answer; whatever follows them does not. */
type Ours = Read & { readonly used: number };

/** Reads an answer that comes in these pieces, after which the connection is closed; undefined for what is refused. */
function readIn(pieces: readonly Buffer[], method = 'POST'): Ours | undefined {
  let body = '';
  let used = 0;
  const reader: AnswerReader = new AnswerReader(method, {
    head: () => {},
    piece: (piece) => {
      body += textOf(piece);
    },
  });
  try {
    for (const piece of pieces) if (!reader.ended) used += reader.read(piece);
    const end = reader.ended || reader.close() ? 'ended' : 'cut';
    if (reader.head === undefined) return undefined;
    const { status, reason, headers } = reader.head;
    return { status, reason, headers, body, end, used };
  } catch {
    return undefined;
  }
}

/** What was read as payload, having made sure that the chunks it came in say the same. */
function textOf({ payload, framed }: Piece): string {
  const text = Buffer.concat(payload).toString('latin1');
  if (framed !== undefined && dechunked(framed.toString('latin1')) !== text)
    throw new Error('chunks and payload differ');
  return text;
}

function dechunked(framed: string): string {
  let text = '';
  for (let rest = framed; rest !== '';) {
    const [line = ''] = rest.split('\r\n', 1);
    const from = line.length + 2;
    const size = Number.parseInt(line, 16);
    if (!/^[0-9a-f]+$/i.test(line) || size === 0 || rest.slice(from + size, from + size + 2) !== '\r\n') return 'torn';
    text += rest.slice(from, from + size);
    rest = rest.slice(from + size + 2);
  }
  return text;
}

/** The same answer as Node's own client reads it, strictly. */
async function readByNode(answer: Buffer, method = 'POST'): Promise<Read | undefined> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.end(answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const { promise, resolve } = Promise.withResolvers<Read | undefined>();
  const req = request({ port, host: '127.0.0.1', method, agent: false, insecureHTTPParser: false });
  req
    .on('error', () => resolve(undefined))
    .on('upgrade', (_, socket) => resolve((socket.destroy(), undefined)))
    .on('response', (res) => {
      let body = '';
      const done = (): void => {
        const { statusCode: status = 0, statusMessage: reason = '', rawHeaders: headers } = res;
        resolve({ status, reason, headers, body, end: res.complete ? 'ended' : 'cut' });
      };
      res.setEncoding('latin1');
      res.on('data', (text: string) => (body += text)).on('error', () => {});
      res.on('close', done);
    })
    .end();
  try {
    return await promise;
  } finally {
    req.destroy();
    server.close();
  }
}

const head = (...lines: string[]): string => [...lines, '', ''].join('\r\n');
const ok = (...lines: string[]): string => head('HTTP/1.1 200 OK', ...lines);
const chunked = ok('Content-Type: text/event-stream', 'Transfer-Encoding: chunked');

const GOOD: readonly [name: string, answer: string, method?: string][] = [
  ['a length', `${ok('Content-Length: 5', 'X-A:  b \t')}hello`],
  ['chunks', `${chunked}5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n`],
  ['chunks with extensions and trailers', `${chunked}5;a=b\r\nhello\r\n000\r\nX-T: 1\r\nY: 2\r\n\r\n`],
  ['chunks of line breaks', `${chunked}4\r\n\r\n\r\n\r\n2\r\n0\r\r\n0\r\n\r\n`],
  ['no length', `${ok('Connection: close')}until the end`],
  ['interim heads', `${head('HTTP/1.1 103 Early Hints', 'Link: <x>')}${ok('Content-Length: 2')}ok`],
  ['no body', head('HTTP/1.1 204 No Content')],
  ['nothing new', head('HTTP/1.1 304 Not Modified', 'Content-Length: 100')],
  ['an answer to HEAD', ok('Content-Length: 100'), 'HEAD'],
  ['an empty body', ok('Content-Length: 0')],
  ['no reason', `${head('HTTP/1.1 200', 'Content-Length: 2')}ok`],
  ['HTTP/1.0', `${head('HTTP/1.0 200 OK')}old`],
  ['bytes beyond ASCII', `${ok('Content-Length: 2', 'X-A: caf\xe9\xa0')}\xff\x00`],
];

test.for(GOOD)(
  'an answer with %s is read as Node reads it, wherever it is cut',
  async ([, answer, method], { expect }) => {
    const bytes = Buffer.from(answer, 'latin1');
    const whole = readIn([bytes], method);
    expect(whole?.end).toBe('ended');
    expect(whole).toEqual({ ...(await readByNode(bytes, method)), used: bytes.length });
    for (let at = 1; at < bytes.length; at++) {
      expect(readIn([bytes.subarray(0, at), bytes.subarray(at)], method), `cut at ${at}`).toEqual(whole);
    }
    const letters = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(readIn(letters, method)).toEqual(whole);
  },
);

test('an answer that is cut short never counts as complete', ({ expect }) => {
  for (const [name, answer, method] of GOOD) {
    if (name === 'no length' || name === 'HTTP/1.0') continue;
    const bytes = Buffer.from(answer, 'latin1');
    for (let to = 0; to < bytes.length; to++) {
      expect(readIn([bytes.subarray(0, to)], method)?.end ?? 'cut', `${name}, ${to} bytes`).toBe('cut');
    }
  }
});

describe('what can be read in two ways is refused', () => {
  test.for([
    ['garbage', 'lorem ipsum\r\n\r\n'],
    ['a version of its own', head('HTTP/2.0 200 OK')],
    ['a status of two digits', head('HTTP/1.1 20 OK')],
    ['a bare line feed', 'HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok'],
    ['a bare line feed in a value', `${ok('A: b\nContent-Length: 2')}ok`],
    ['a bare return in a value', `${ok('A: b\rC', 'Content-Length: 2')}ok`],
    ['a folded line', `${ok('A: b', ' c', 'Content-Length: 2')}ok`],
    ['a space before the colon', `${ok('Content-Length : 2')}ok`],
    ['a NUL in a value', `${ok('A: \0', 'Content-Length: 2')}ok`],
    ['two lengths', `${ok('Content-Length: 2', 'Content-Length: 3')}okk`],
    ['the same length twice', `${ok('Content-Length: 2', 'Content-Length: 2')}ok`],
    ['a list of lengths', `${ok('Content-Length: 2, 2')}ok`],
    ['a signed length', `${ok('Content-Length: +2')}ok`],
    ['a length beyond numbers', `${ok('Content-Length: 99999999999999999999')}ok`],
    ['a length and chunks', `${ok('Content-Length: 2', 'Transfer-Encoding: chunked')}2\r\nok\r\n0\r\n\r\n`],
    ['another coding', `${ok('Transfer-Encoding: gzip, chunked')}0\r\n\r\n`],
    ['chunks in HTTP/1.0', `${head('HTTP/1.0 200 OK', 'Transfer-Encoding: chunked')}0\r\n\r\n`],
    ['a chunk without a size', `${chunked}\r\n\r\n`],
    ['a chunk size in words', `${chunked}five\r\nhello\r\n0\r\n\r\n`],
    ['a chunk size with a prefix', `${chunked}0x5\r\nhello\r\n0\r\n\r\n`],
    ['a chunk size after a space', `${chunked} 5\r\nhello\r\n0\r\n\r\n`],
    ['a chunk size beyond numbers', `${chunked}${'f'.repeat(20)}\r\nhello`],
    ['a chunk longer than its size', `${chunked}4\r\nhello\r\n0\r\n\r\n`],
    ['a chunk size ended by a bare line feed', `${chunked}5\nhello\r\n0\r\n\r\n`],
    ['a chunk ended by a bare line feed', `${chunked}5\r\nhello\n0\r\n\r\n`],
    ['a switch of protocols', head('HTTP/1.1 101 Switching Protocols', 'Upgrade: x')],
    ['a head without end', ok(`X: ${'x'.repeat(70_000)}`)],
    ['interim heads without end', head('HTTP/1.1 100 Continue').repeat(3_000)],
    ['an extension without end', `${chunked}5;${'x'.repeat(20_000)}`],
    ['a trailer without a name', `${chunked}0\r\n: x\r\n\r\n`],
    ['a length after the body', `${chunked}0\r\nContent-Length: 3\r\n\r\n`],
    ['an extension after a space', `${chunked}2; a\r\nok\r\n0\r\n\r\n`],
    ['trailers without end', `${chunked}0\r\n${'X: y\r\n'.repeat(6_000)}`],
  ] as const)('%s', ([, answer], { expect }) => {
    const bytes = Buffer.from(answer, 'latin1');
    expect(readIn([bytes])).toBe(undefined);
    for (let at = 1; at < Math.min(bytes.length, bytes.length > 1_000 ? 20 : 400); at++) {
      expect(readIn([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}`).toBe(undefined);
    }
  });
});

test('whatever else we accept, Node reads in the same way', { timeout: 60_000 }, async ({ expect }) => {
  const bit = fc.constantFrom(
    '\r\n',
    '\n',
    '\r',
    ' ',
    ':',
    ';',
    '0',
    '5',
    'f',
    '-',
    ',',
    '\0',
    'chunked',
    'Content-Length: 3\r\n',
  );
  const change = fc.record({ at: fc.nat(), drop: fc.nat(3), put: fc.oneof(fc.constant(''), bit) });
  const mutated = fc
    .tuple(fc.constantFrom(...GOOD), fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([[, answer, method], changes]) => ({
      method,
      answer: changes.reduce((text, { at, drop, put }) => {
        const from = at % (text.length + 1);
        return text.slice(0, from) + put + text.slice(from + drop);
      }, answer),
    }));
  await fc.assert(
    fc.asyncProperty(mutated, async ({ answer, method }) => {
      const bytes = Buffer.from(answer, 'latin1');
      const ours = readIn([bytes], method);
      if (ours?.end !== 'ended') return;
      const theirs = await readByNode(bytes.subarray(0, ours.used), method);
      expect(ours).toEqual({ ...theirs, used: ours.used });
    }),
    { numRuns: 400 },
  );
});

test('extensions are bounded for each chunk, however many chunks there are', ({ expect }) => {
  const answer = `${chunked}${`2;${'x'.repeat(1_000)}\r\nok\r\n`.repeat(100)}0\r\n\r\n`;
  expect(readIn([Buffer.from(answer)])).toMatchObject({ end: 'ended', body: 'ok'.repeat(100) });
});

test('a connection is kept only for what follows a whole answer of a server that keeps it', ({ expect }) => {
  const keep = (answer: string): unknown => {
    const reader = new AnswerReader('POST', { head: () => {}, piece: () => {} });
    reader.read(Buffer.from(answer));
    return reader.head?.keep;
  };
  expect(keep(ok('Content-Length: 0'))).toEqual({ idleMs: undefined });
  expect(keep(ok('Content-Length: 0', 'Keep-Alive: timeout=5, max=100'))).toEqual({ idleMs: 5_000 });
  expect(keep(ok('Content-Length: 0', 'Connection: foo, Close'))).toBe(undefined);
  expect(keep(head('HTTP/1.0 200 OK', 'Content-Length: 0'))).toBe(undefined);
  expect(keep(ok())).toBe(undefined);
});

test('what follows an answer on its connection is not taken for a part of it', ({ expect }) => {
  const pieces: string[] = [];
  const reader = new AnswerReader('POST', { head: () => {}, piece: (piece) => pieces.push(textOf(piece)) });
  const answer = `${chunked}2\r\nok\r\n0\r\n\r\n`;
  expect(reader.read(Buffer.from(`${answer}HTTP/1.1 200 OK`))).toBe(answer.length);
  expect([reader.ended, pieces]).toEqual([true, ['ok']]);
});
