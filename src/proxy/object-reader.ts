import type { Problem } from './name-scanner.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

const DEEPEST = 1_000;
/** Most strings of a request are short; only the long ones are worth a native search. */
const SHORT = 32;

/** What the next byte belongs to. All but `nested` is about the top level. */
type Place = 'start' | 'first-key' | 'key' | 'colon' | 'value' | 'scalar' | 'after-value' | 'nested' | 'end';

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Who wants to know what stands in a body. Places are counted in bytes from its beginning. */
export interface Members {
  /** A member begins: its key, undefined where that is longer than any that matters, where it stands, and the comma before it. */
  key(key: string | undefined, from: number, comma: number): void;
  /** Its value begins with this byte. Gives how many bytes of it are to be kept at most. */
  begins(first: number, from: number): number;
  /** Its value has ended before `to`. `kept` is all of it, if that was asked for and was not too much. */
  ends(to: number, kept: Buffer | undefined): void;
  /** The value is longer than was asked for. Gives what is wrong with that, if anything. */
  tooLong(): string | undefined;
  /** The brace that ends the object. */
  closes(at: number): void;
}

/**
 * Reads the top level of a JSON object that comes in pieces, without parsing or keeping it.
 * For every body that is valid JSON it tells what JSON.parse would; a body that is not may still pass, for the engine to refuse.
 */
export class ObjectReader {
  readonly #members: Members;
  /** In bytes as it is written. */
  readonly #longestKey: number;
  #place: Place = 'start';
  #inText = false;
  #escaped = false;
  #depth = 0;
  #offset = 0;
  /** How much of a byte order mark has been read; only the very first bytes may be one. */
  #mark = 0;
  #comma = 0;
  #textFrom = 0;
  /** What is kept of the key or the value that is being read: from where in this piece on, what of earlier ones, and how much at most. */
  #keepFrom = -1;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #most = 0;
  #problem: Problem | undefined;

  constructor(members: Members, longestKey: number) {
    this.#members = members;
    this.#longestKey = longestKey;
  }

  /** How much has been read. */
  get offset(): number {
    return this.#offset;
  }

  /** Set as soon as no continuation can make the body right. */
  get problem(): Problem | undefined {
    return this.#problem;
  }

  feed(chunk: Buffer): void {
    if (this.#keepFrom !== -1) this.#keepFrom = 0;
    let i = 0;
    while (i < chunk.length && this.#problem === undefined) {
      if (this.#inText) i = this.#text(chunk, i);
      else i = this.#place === 'nested' ? this.#nested(chunk, i) : this.#topLevel(chunk, i);
    }
    if (this.#keepFrom !== -1) this.#keep(chunk.subarray(this.#keepFrom));
    this.#offset += chunk.length;
  }

  /** Nothing follows. */
  end(): void {
    if (this.#place === 'end') return;
    this.refuse(`The body ends after ${this.#offset} bytes, in the middle of its JSON. Send it whole.`);
  }

  refuse(message: string, code: Problem['code'] = 'invalid_request'): void {
    this.#problem ??= { code, message };
  }

  #topLevel(chunk: Buffer, i: number): number {
    const byte = chunk[i] ?? 0;
    if (isSpace(byte)) {
      if (this.#place === 'scalar') this.#endValue(chunk, i);
      return i + 1;
    }
    switch (this.#place) {
      case 'start':
        if (byte === OPEN_BRACE) this.#place = 'first-key';
        else if (byte === BYTE_ORDER_MARK[this.#mark] && this.#offset + i === this.#mark) this.#mark++;
        else this.refuse('The body is not a JSON object. Send one with a `model` in it.');
        break;
      case 'first-key':
      case 'key':
        if (byte === QUOTE) this.#beginKey(i);
        else if (byte === CLOSE_BRACE && this.#place === 'first-key') this.#close(i);
        else this.#refuseByte(i, 'a key');
        break;
      case 'colon':
        if (byte === COLON) this.#place = 'value';
        else this.#refuseByte(i, '`:`');
        break;
      case 'value':
        this.#beginValue(byte, i);
        break;
      case 'scalar':
        if (byte !== COMMA && byte !== CLOSE_BRACE) break;
        this.#endValue(chunk, i);
        this.#afterValue(byte, i);
        break;
      case 'after-value':
        this.#afterValue(byte, i);
        break;
      case 'end':
        this.refuse(`Something follows the JSON object at byte ${this.#offset + i}. Send the object alone.`);
        break;
      case 'nested':
        break;
    }
    return i + 1;
  }

  #beginKey(i: number): void {
    this.#inText = true;
    this.#textFrom = this.#offset + i;
    this.#keepAtMost(this.#longestKey, i + 1);
  }

  #beginValue(byte: number, i: number): void {
    if (byte === COMMA || byte === COLON || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      this.#refuseByte(i, 'a value');
      return;
    }
    const most = this.#members.begins(byte, this.#offset + i);
    if (most > 0) this.#keepAtMost(most, i);
    if (byte === QUOTE) this.#inText = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#depth = 1;
      this.#place = 'nested';
    } else this.#place = 'scalar';
  }

  /** Before the byte at `i`. */
  #endValue(chunk: Buffer, i: number): void {
    this.#place = 'after-value';
    this.#members.ends(this.#offset + i, this.#takeKept(chunk, i));
  }

  #afterValue(byte: number, i: number): void {
    if (byte === COMMA) {
      this.#place = 'key';
      this.#comma = this.#offset + i;
    } else if (byte === CLOSE_BRACE) this.#close(i);
    else this.#refuseByte(i, '`,` or `}`');
  }

  #close(i: number): void {
    this.#place = 'end';
    this.#members.closes(this.#offset + i);
  }

  /** Below the top level only strings and depth matter. */
  #nested(chunk: Buffer, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i];
      if (byte === QUOTE) {
        this.#inText = true;
        return i + 1;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (++this.#depth < DEEPEST) continue;
        this.refuse(`The JSON is nested more than ${DEEPEST} levels deep. Send it flatter.`);
        return i;
      }
      if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --this.#depth === 0) {
        this.#endValue(chunk, i + 1);
        return i + 1;
      }
    }
    return chunk.length;
  }

  /** Passes over a string. An image of many megabytes is one, so the search for its end is left to native code. */
  #text(chunk: Buffer, from: number): number {
    let i = from;
    if (this.#escaped) {
      this.#escaped = false;
      i++;
    }
    for (const near = Math.min(i + SHORT, chunk.length); i < near; i++) {
      const byte = chunk[i];
      if (byte === QUOTE) return this.#closeText(chunk, i);
      if (byte === BACKSLASH && ++i === chunk.length) this.#escaped = true;
    }
    if (i >= chunk.length) return chunk.length;
    const quote = chunk.indexOf(QUOTE, i);
    const end = quote === -1 ? chunk.length : quote;
    let first = end;
    while (first > i && chunk[first - 1] === BACKSLASH) first--;
    const escapes = (end - first) % 2 === 1;
    if (quote === -1) {
      this.#escaped = escapes;
      return chunk.length;
    }
    return escapes ? quote + 1 : this.#closeText(chunk, quote);
  }

  /** At the closing quote. */
  #closeText(chunk: Buffer, i: number): number {
    this.#inText = false;
    if (this.#place === 'value') this.#endValue(chunk, i + 1);
    else if (this.#place !== 'nested') {
      const written = this.#takeKept(chunk, i);
      this.#place = 'colon';
      this.#members.key(written && this.#keyOf(written), this.#textFrom, this.#comma);
    }
    return i + 1;
  }

  #keyOf(written: Buffer): string | undefined {
    if (!written.includes(BACKSLASH)) return written.toString();
    const text = textOf(`"${written.toString()}"`);
    if (text === undefined) this.refuse('A string of the body is not valid JSON. Check its escapes.');
    return text;
  }

  #keepAtMost(most: number, from: number): void {
    this.#most = most;
    this.#keepFrom = from;
  }

  #keep(part: Buffer): void {
    this.#keptBytes += part.length;
    if (this.#keptBytes <= this.#most) {
      this.#kept.push(part);
      return;
    }
    this.#forget();
    if (this.#place === 'first-key' || this.#place === 'key') return;
    const wrong = this.#members.tooLong();
    if (wrong !== undefined) this.refuse(wrong);
  }

  /** All that was to be kept, up to `i`. */
  #takeKept(chunk: Buffer, i: number): Buffer | undefined {
    if (this.#keepFrom === -1) return undefined;
    this.#keep(chunk.subarray(this.#keepFrom, i));
    if (this.#keepFrom === -1) return undefined;
    const [only] = this.#kept;
    const all = this.#kept.length === 1 && only !== undefined ? only : Buffer.concat(this.#kept);
    this.#forget();
    return all;
  }

  #forget(): void {
    this.#keepFrom = -1;
    this.#kept = [];
    this.#keptBytes = 0;
  }

  #refuseByte(i: number, expected: string): void {
    this.refuse(`The body is not valid JSON: ${expected} was expected at byte ${this.#offset + i}.`);
  }
}

/** A string as it is written in JSON, with its quotes. Undefined for what no JSON reader takes. */
export function textOf(written: string): string | undefined {
  try {
    const value: unknown = JSON.parse(written);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
