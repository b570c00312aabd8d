import { LONGEST_NAME, MOST_MENTIONS, type NameScanner, type Problem, type Range, type Scan } from './name-scanner.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

const KEY = 'model';
/** Beside the model, whether a stream is asked for is worth knowing before the engine answers. */
const STREAM_KEY = 'stream';
const LETTER_T = 0x74;
/** `model` written with five escapes; a longer key is another one. */
const LONGEST_KEY = 30;
const DEEPEST = 1_000;
/** Most strings of a request are short; only the long ones are worth a native search. */
const SHORT = 32;

/** What the next byte belongs to. All but `nested` and the strings is about the top level. */
type Place = 'start' | 'first-key' | 'key' | 'colon' | 'value' | 'scalar' | 'after-value' | 'nested' | 'end';
/** What the string that is being read is for. */
type Text = 'key' | 'name' | 'other';

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Finds the top-level `model` of a JSON body that comes in pieces, without parsing or keeping it.
 * For every body that is valid JSON it gives what JSON.parse would; a body that is not may still pass, for the engine to refuse.
 */
export class ModelScanner implements NameScanner {
  #place: Place = 'start';
  #text: Text | undefined;
  #escaped = false;
  #depth = 0;
  #offset = 0;
  /** How much of a byte order mark has been read; only the very first bytes may be one. */
  #mark = 0;
  #keyIsModel = false;
  #keyIsStream = false;
  #stream: boolean | undefined;
  #taken = Buffer.alloc(0);
  #nameFrom = 0;
  #name: string | undefined;
  readonly #at: Range[] = [];
  #problem: Problem | undefined;

  get name(): string | undefined {
    return this.#name;
  }

  /** Whether the top-level `stream` is `true`; undefined where there is none. */
  get stream(): boolean | undefined {
    return this.#stream;
  }

  get at(): readonly Range[] {
    return this.#at;
  }

  get judged(): number {
    return this.#text === 'name' ? this.#nameFrom : this.#offset;
  }

  get problem(): Problem | undefined {
    return this.#problem;
  }

  feed(chunk: Buffer): void {
    let i = 0;
    while (i < chunk.length && this.#problem === undefined) {
      if (this.#text === undefined) i = this.#place === 'nested' ? this.#nested(chunk, i) : this.#topLevel(chunk, i);
      else i = this.#text === 'other' ? this.#skipText(chunk, i) : this.#takeText(chunk, i, this.#text);
    }
    this.#offset += chunk.length;
  }

  end(): Scan {
    if (this.#problem === undefined && this.#place !== 'end') {
      if (this.#offset === 0) return { kind: 'missing' };
      this.#refuse(`The body ends after ${this.#offset} bytes, in the middle of its JSON. Send it whole.`);
    }
    if (this.#problem !== undefined) return { kind: 'unreadable', problem: this.#problem };
    return this.#name === undefined ? { kind: 'missing' } : { kind: 'found', name: this.#name, at: this.#at };
  }

  #topLevel(chunk: Buffer, i: number): number {
    const byte = chunk[i] ?? 0;
    if (isSpace(byte)) {
      if (this.#place === 'scalar') this.#place = 'after-value';
      return i + 1;
    }
    switch (this.#place) {
      case 'start':
        if (byte === OPEN_BRACE) this.#place = 'first-key';
        else if (byte === BYTE_ORDER_MARK[this.#mark] && this.#offset + i === this.#mark) this.#mark++;
        else this.#refuse('The body is not a JSON object. Send one with a `model` in it.');
        break;
      case 'first-key':
      case 'key':
        if (byte === QUOTE) this.#openText('key');
        else if (byte === CLOSE_BRACE && this.#place === 'first-key') this.#place = 'end';
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
        if (byte === COMMA || byte === CLOSE_BRACE) this.#afterValue(byte, i);
        break;
      case 'after-value':
        this.#afterValue(byte, i);
        break;
      case 'end':
        this.#refuse(`Something follows the JSON object at byte ${this.#offset + i}. Send the object alone.`);
        break;
      case 'nested':
        break;
    }
    return i + 1;
  }

  #beginValue(byte: number, i: number): void {
    if (this.#keyIsStream) this.#stream = byte === LETTER_T;
    if (byte === COMMA || byte === COLON || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      this.#refuseByte(i, 'a value');
    } else if (byte === QUOTE) {
      this.#nameFrom = this.#offset + i;
      this.#openText(this.#keyIsModel ? 'name' : 'other');
    } else if (this.#keyIsModel) {
      this.#refuse('`model` must be a string.');
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#depth = 1;
      this.#place = 'nested';
    } else {
      this.#place = 'scalar';
    }
  }

  #afterValue(byte: number, i: number): void {
    if (byte === COMMA) this.#place = 'key';
    else if (byte === CLOSE_BRACE) this.#place = 'end';
    else this.#refuseByte(i, '`,` or `}`');
  }

  /** Below the top level only strings and depth matter. */
  #nested(chunk: Buffer, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i];
      if (byte === QUOTE) {
        this.#text = 'other';
        return i + 1;
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (++this.#depth < DEEPEST) continue;
        this.#refuse(`The JSON is nested more than ${DEEPEST} levels deep. Send it flatter.`);
        return i;
      }
      if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --this.#depth === 0) {
        this.#place = 'after-value';
        return i + 1;
      }
    }
    return chunk.length;
  }

  #openText(text: Text): void {
    this.#text = text;
    this.#taken = Buffer.alloc(0);
  }

  /** Passes over a string. An image of many megabytes is one, so the search for its end is left to native code. */
  #skipText(chunk: Buffer, from: number): number {
    let i = from;
    if (this.#escaped) {
      this.#escaped = false;
      i++;
    }
    for (const near = Math.min(i + SHORT, chunk.length); i < near; i++) {
      const byte = chunk[i];
      if (byte === QUOTE) return this.#closeText(i);
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
    return escapes ? quote + 1 : this.#closeText(quote);
  }

  /** Reads a string whose words matter. One that is too long to be a key of ours is passed over instead. */
  #takeText(chunk: Buffer, from: number, text: 'key' | 'name'): number {
    let i = from;
    while (i < chunk.length && (this.#escaped || chunk[i] !== QUOTE)) {
      this.#escaped = !this.#escaped && chunk[i] === BACKSLASH;
      i++;
    }
    const most = text === 'key' ? LONGEST_KEY : LONGEST_NAME;
    if (this.#taken.length + i - from <= most) {
      this.#taken = Buffer.concat([this.#taken, chunk.subarray(from, i)]);
    } else if (text === 'name') {
      this.#refuse(`\`model\` is longer than ${LONGEST_NAME} bytes. GET /v1/models lists the models.`);
    } else {
      this.#openText('other');
    }
    return i === chunk.length ? i : this.#closeText(i);
  }

  /** At the closing quote. */
  #closeText(i: number): number {
    const text = this.#text;
    this.#text = undefined;
    if (this.#place === 'value') {
      this.#place = 'after-value';
      if (text === 'name') this.#mention(this.#decode(), { from: this.#nameFrom, to: this.#offset + i + 1 });
    } else if (this.#place !== 'nested') {
      this.#place = 'colon';
      const key = text === 'key' ? this.#decode() : undefined;
      this.#keyIsModel = key === KEY;
      this.#keyIsStream = key === STREAM_KEY;
    }
    return i + 1;
  }

  #decode(): string | undefined {
    try {
      const value: unknown = JSON.parse(`"${this.#taken.toString()}"`);
      if (typeof value === 'string') return value;
    } catch {
      this.#refuse('A string of the body is not valid JSON. Check its escapes.');
    }
    return undefined;
  }

  #mention(name: string | undefined, at: Range): void {
    if (name === undefined) return;
    if ((this.#name ?? name) !== name || this.#at.length === MOST_MENTIONS) {
      this.#problem ??= { code: 'duplicate_model', message: 'The body has more than one `model`. Send one.' };
      return;
    }
    this.#name = name;
    this.#at.push(at);
  }

  #refuseByte(i: number, expected: string): void {
    this.#refuse(`The body is not valid JSON: ${expected} was expected at byte ${this.#offset + i}.`);
  }

  #refuse(message: string): void {
    this.#problem ??= { code: 'invalid_request', message };
  }
}
