import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type Zlib,
} from 'node:zlib';
import type { Refusal } from './envelope.ts';
import { ZstdFrames } from './zstd-frames.ts';

/** How a body may be encoded, by the names clients use. */
const CODINGS = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
  zstd: 'zstd',
} as const;

export type Coding = (typeof CODINGS)[keyof typeof CODINGS];

const MOST_LAYERS = 4;
const BLOCK = 65_536;
/** RFC 9659: nobody may ask a reader of `zstd` to keep more than 8 MiB. */
const ZSTD_WINDOW_LOG = 23;

/** What was done to a body, in the order in which it was done; empty when nothing was. */
export function codingsOf(header: string | undefined): readonly Coding[] | Refusal {
  if (header === undefined) return [];
  const names = header.split(',').map((name) => name.trim().toLowerCase());
  const done = names.filter((name) => name !== '' && name !== 'identity');
  const codings: Coding[] = [];
  for (const name of done) {
    const coding = isCoding(name) ? CODINGS[name] : undefined;
    if (coding === undefined) {
      const known = Object.keys(CODINGS).join(', ');
      const message = `The body is encoded as ${JSON.stringify(name.slice(0, 100))}. Send it plain, or as one of ${known}.`;
      return { code: 'unsupported_encoding', message };
    }
    codings.push(coding);
  }
  if (codings.length <= MOST_LAYERS) return codings;
  return { code: 'unsupported_encoding', message: `The body is encoded ${codings.length} times. Encode it once.` };
}

const isCoding = (name: string): name is keyof typeof CODINGS => Object.hasOwn(CODINGS, name);

/** What becomes of an encoded body. After `failed` and after `end` nothing else is told. */
export type Sink = {
  data(chunk: Buffer): void;
  end(): void;
  failed(refusal: Refusal): void;
  /** More may be written. */
  drain(): void;
};

/** Takes the encodings off a body as it comes, never much faster than it is read. */
export class Decoder {
  readonly #layers: Layer[];
  readonly #sink: Sink;
  #over = false;

  /** No layer may give more than `maxBytes`. */
  constructor(codings: readonly Coding[], maxBytes: number, sink: Sink) {
    this.#sink = sink;
    const fail = (refusal: Refusal): void => this.#finish(() => sink.failed(refusal));
    this.#layers = codings.toReversed().map((coding) => new Layer(coding, maxBytes, fail));
    for (const [i, layer] of this.#layers.entries()) {
      const next = this.#layers[i + 1];
      if (next === undefined) layer.giveTo({ data: (chunk) => this.#data(chunk), end: () => this.#end() });
      else {
        layer.giveTo({ data: (chunk) => next.write(chunk) || layer.pause(), end: () => next.end() });
        next.onDrain(() => layer.resume());
      }
    }
    this.#layers[0]?.onDrain(() => {
      if (!this.#over) sink.drain();
    });
  }

  /** Whether more may be written now. */
  write(chunk: Buffer): boolean {
    return this.#over || this.#layers[0]?.write(chunk) === true;
  }

  end(): void {
    if (!this.#over) this.#layers[0]?.end();
  }

  pause(): void {
    this.#layers.at(-1)?.pause();
  }

  resume(): void {
    this.#layers.at(-1)?.resume();
  }

  /** Nothing is told any more. */
  destroy(): void {
    this.#finish(() => {});
  }

  #data(chunk: Buffer): void {
    if (!this.#over) this.#sink.data(chunk);
  }

  #end(): void {
    this.#finish(() => this.#sink.end());
  }

  #finish(tell: () => void): void {
    if (this.#over) return;
    this.#over = true;
    for (const layer of this.#layers) layer.destroy();
    tell();
  }
}

type Reader = { data(chunk: Buffer): unknown; end(): void };

/** One encoding, undone. */
class Layer {
  readonly #coding: Coding;
  readonly #maxBytes: number;
  readonly #fail: (refusal: Refusal) => void;
  #reader: Reader = { data: () => {}, end: () => {} };
  #onDrain: () => void = () => {};
  #stream: (Transform & Zlib) | undefined;
  readonly #frames: ZstdFrames | undefined;
  #paused = false;
  #in = 0;
  #out = 0;

  constructor(coding: Coding, maxBytes: number, fail: (refusal: Refusal) => void) {
    this.#coding = coding;
    this.#frames = coding === 'zstd' ? new ZstdFrames() : undefined;
    this.#maxBytes = maxBytes;
    this.#fail = fail;
  }

  giveTo(reader: Reader): void {
    this.#reader = reader;
  }

  onDrain(drained: () => void): void {
    this.#onDrain = drained;
  }

  write(chunk: Buffer): boolean {
    if (chunk.length === 0) return true;
    this.#in += chunk.length;
    this.#frames?.feed(chunk);
    this.#stream ??= this.#open(chunk[0] ?? 0);
    return this.#stream.write(chunk);
  }

  end(): void {
    if (this.#stream === undefined) this.#reader.end();
    else this.#stream.end();
  }

  pause(): void {
    this.#paused = true;
    this.#stream?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#stream?.resume();
  }

  destroy(): void {
    this.#stream?.destroy();
  }

  #open(first: number): Transform & Zlib {
    const stream = streamFor(this.#coding, first);
    stream.on('data', (chunk: Buffer) => {
      this.#out += chunk.length;
      if (this.#out > this.#maxBytes) this.#fail(unpacksTooLarge(this.#maxBytes));
      else this.#reader.data(chunk);
    });
    stream.once('end', () => {
      // What follows the end of the data is not read by anybody, so it must not be there.
      if (stream.bytesWritten < this.#in) this.#bad('something follows its end');
      else if (this.#frames?.whole === false) this.#bad('it ends too early');
      else this.#reader.end();
    });
    stream.on('error', (error) => this.#bad(error.message));
    stream.on('drain', () => this.#onDrain());
    if (this.#paused) stream.pause();
    return stream;
  }

  #bad(why: string): void {
    const message = `The body is not valid ${this.#coding}, which its Content-Encoding says it is: ${why}.`;
    this.#fail({ code: 'invalid_request', message });
  }
}

function streamFor(coding: Coding, first: number): Transform & Zlib {
  const chunkSize = BLOCK;
  switch (coding) {
    case 'gzip':
      return createGunzip({ chunkSize });
    case 'deflate':
      // Some clients leave out the zlib wrapper; its first byte tells.
      return (first & 0x0f) === 8 ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize });
    case 'br':
      return createBrotliDecompress({ chunkSize });
    case 'zstd':
      return createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } });
  }
}

const unpacksTooLarge = (maxBytes: number): Refusal => ({
  code: 'body_too_large',
  message: `The body unpacks to more than ${maxBytes} bytes. Send a smaller one, or raise \`max_body_bytes\`.`,
});
