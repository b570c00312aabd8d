import { Malformed } from './answer-head.ts';

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const MOST_DIGITS = 13;
/** Extensions and trailers are read over, and bounded so that they cannot go on for ever. */
const MOST_BESIDE = 16_384;

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const EXTENSIONS = new RegExp(`^${TOKEN}(?:=${TOKEN})?(?:;${TOKEN}(?:=${TOKEN})?)*$`);
/** Not what says how long a body is: that was said. */
const TRAILER = new RegExp(`^(?!content-length:|transfer-encoding:)${TOKEN}:[\\t\\x20-\\x7e\\x80-\\xff]*$`, 'i');

/** Where in the framing the next byte stands. */
type Place = 'size' | 'extension' | 'size-lf' | 'data' | 'data-cr' | 'data-lf' | 'trailer' | 'last-lf' | 'end';

/** What of one read is payload: `[from, to]` in turn. */
export type Payload = number[];

/** Follows a chunked body (RFC 9112, 7.1) through reads that may be cut anywhere. Strict: no bare LF, no empty size. */
export class Chunks {
  /** Whether the last read was nothing but whole chunks without extensions, so that it can be passed on as it is. */
  whole = false;
  #place: Place = 'size';
  /** The size of the present chunk as far as it is read; then what of the chunk is still to come. */
  #left = 0;
  #digits = 0;
  /** The extensions or the line of the trailer section that is being read. Nothing is done with them, but they must be sound. */
  #line = '';
  #beside = 0;

  get ended(): boolean {
    return this.#place === 'end';
  }

  /** Adds what is payload to `payload`, and tells where the next message would begin, or the end of the read. */
  read(data: Uint8Array, start: number, payload: Payload): number {
    this.whole = this.#place === 'size' && this.#digits === 0;
    let at = start;
    while (at < data.length && this.#place !== 'end') {
      if (this.#place === 'data') {
        const to = Math.min(data.length, at + this.#left);
        payload.push(at, to);
        this.#left -= to - at;
        at = to;
        if (this.#left === 0) this.#place = 'data-cr';
      } else {
        this.#step(data[at] ?? 0);
        at++;
      }
    }
    if (this.#place !== 'size' || this.#digits > 0) this.whole = false;
    return at;
  }

  #step(byte: number): void {
    switch (this.#place) {
      case 'size':
        return this.#size(byte);
      case 'extension':
        return this.#extension(byte);
      case 'size-lf':
        expect(byte, LF);
        this.#place = this.#left === 0 ? 'trailer' : 'data';
        this.#digits = 0;
        this.#beside = 0;
        return;
      case 'data-cr':
        expect(byte, CR);
        this.#place = 'data-lf';
        return;
      case 'data-lf':
        expect(byte, LF);
        this.#place = 'size';
        return;
      case 'trailer':
        return this.#trailer(byte);
      case 'last-lf':
        expect(byte, LF);
        this.#place = this.#line === '' ? 'end' : 'trailer';
        this.#line = '';
        return;
      case 'data':
      case 'end':
        throw new Malformed('a byte of a chunk was taken for its framing');
    }
  }

  #size(byte: number): void {
    const digit = hexDigit(byte);
    if (digit !== undefined) {
      if (++this.#digits > MOST_DIGITS) throw new Malformed('a chunk of the answer is too large');
      this.#left = this.#left * 16 + digit;
      return;
    }
    if (this.#digits === 0) throw new Malformed('a chunk of the answer has no size');
    if (byte === CR) this.#place = 'size-lf';
    else if (byte === SEMICOLON) {
      this.#place = 'extension';
      this.whole = false;
    } else throw new Malformed('a chunk of the answer has no readable size');
  }

  #extension(byte: number): void {
    if (byte !== CR) return this.#addToLine(byte);
    if (!EXTENSIONS.test(this.#line)) throw new Malformed('a chunk of the answer has no readable size');
    this.#line = '';
    this.#place = 'size-lf';
  }

  #trailer(byte: number): void {
    if (byte !== CR) return this.#addToLine(byte);
    if (this.#line !== '' && !TRAILER.test(this.#line)) throw new Malformed('a trailer of the answer cannot be read');
    this.#place = 'last-lf';
  }

  #addToLine(byte: number): void {
    if (++this.#beside > MOST_BESIDE) throw new Malformed('the answer has too much beside its body');
    this.#line += String.fromCharCode(byte);
  }
}

function expect(byte: number, wanted: number): void {
  if (byte !== wanted) throw new Malformed('a chunk of the answer is not ended where its size says');
}

function hexDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : undefined;
}
