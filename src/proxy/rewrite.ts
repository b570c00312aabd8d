import type { Edit } from './splicer.ts';

/** What is done to one parameter of a request. `json`: the value as it is written. */
export type Touch = { readonly kind: 'set' | 'default'; readonly json: string } | { readonly kind: 'strip' };

/** What is done to the top level of a JSON body, parameter by parameter. Never to `model`, which has a way of its own. */
export type Rewrite = ReadonlyMap<string, Touch>;

/** A body with more mentions of touched parameters was not written by a client. */
const MOST_EDITS = 1_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const SPACE = 0x20;

/** Finds what must change in a body that was found to be one JSON object, for a rewrite that leaves every other byte as it is. */
export class Rewriter {
  readonly #rewrite: Rewrite;
  readonly #longestKey: number;
  readonly #edits: Edit[] = [];
  readonly #met = new Set<string>();
  #offset = 0;
  #depth = 0;
  #text: 'key' | 'other' | undefined;
  #escaped = false;
  #expectsKey = false;
  #key: Buffer[] = [];
  #keyBytes = 0;
  #keyFrom = 0;
  #valueFrom: number | undefined;
  /** The byte after the last one that is no space. */
  #solid = 0;
  #comma = 0;
  /** Whether a member before this one stays: if so, one that is taken out takes its comma along. */
  #stays = false;
  /** Where members at the beginning that are taken out begin: they go up to the next key. */
  #goneFrom: number | undefined;
  #members = 0;
  #close = 0;

  constructor(rewrite: Rewrite) {
    this.#rewrite = rewrite;
    // Each letter may be written as an escape of six.
    this.#longestKey = 6 * Math.max(0, ...[...rewrite.keys()].map((key) => Buffer.byteLength(key)));
  }

  feed(chunk: Buffer): void {
    let i = 0;
    while (i < chunk.length) i = this.#text === undefined ? this.#between(chunk, i) : this.#inText(chunk, i);
    this.#offset += chunk.length;
  }

  /** Every change in the order of the body, or why there is none. */
  end(): readonly Edit[] | 'too-many' {
    if (this.#edits.length > MOST_EDITS) return 'too-many';
    const added: string[] = [];
    for (const [key, touch] of this.#rewrite) {
      if (touch.kind !== 'strip' && !this.#met.has(key)) added.push(`${JSON.stringify(key)}:${touch.json}`);
    }
    if (added.length > 0) {
      const text = `${this.#stays ? ',' : ''}${added.join(',')}`;
      this.#edits.push({ from: this.#close, to: this.#close, text });
    }
    return this.#edits;
  }

  #between(chunk: Buffer, i: number): number {
    const byte = chunk[i] ?? 0;
    const at = this.#offset + i;
    if (byte <= SPACE) return i + 1;
    if (this.#depth === 1 && !this.#expectsKey && byte !== COLON) this.#valueFrom ??= at;
    switch (byte) {
      case QUOTE:
        this.#openText(at);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++this.#depth === 1) this.#expectsKey = true;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (this.#depth === 1) this.#finish(at);
        this.#depth--;
        break;
      case COMMA:
        if (this.#depth === 1) this.#nextMember(at);
        break;
    }
    this.#solid = at + 1;
    return i + 1;
  }

  #openText(at: number): void {
    const isKey = this.#depth === 1 && this.#expectsKey;
    this.#text = isKey ? 'key' : 'other';
    if (!isKey) return;
    this.#key = [];
    this.#keyBytes = 0;
    this.#keyFrom = at;
    if (this.#goneFrom === undefined) return;
    this.#edit(this.#goneFrom, at, '');
    this.#goneFrom = undefined;
  }

  #inText(chunk: Buffer, from: number): number {
    let i = from;
    if (this.#escaped) {
      this.#escaped = false;
      i++;
    }
    for (;;) {
      const quote = chunk.indexOf(QUOTE, i);
      const end = quote === -1 ? chunk.length : quote;
      let first = end;
      while (first > i && chunk[first - 1] === BACKSLASH) first--;
      const escapes = (end - first) % 2 === 1;
      if (quote === -1) {
        this.#escaped = escapes;
        this.#collect(chunk.subarray(from));
        return chunk.length;
      }
      i = quote + 1;
      if (escapes) continue;
      this.#collect(chunk.subarray(from, quote));
      this.#closeText(this.#offset + quote);
      return i;
    }
  }

  #collect(part: Buffer): void {
    if (this.#text !== 'key') return;
    this.#keyBytes += part.length;
    if (this.#keyBytes <= this.#longestKey) this.#key.push(part);
  }

  #closeText(at: number): void {
    if (this.#text === 'key') this.#expectsKey = false;
    this.#text = undefined;
    this.#solid = at + 1;
  }

  #nextMember(comma: number): void {
    this.#endMember();
    this.#comma = comma;
    this.#expectsKey = true;
  }

  #finish(close: number): void {
    if (this.#members > 0 || this.#valueFrom !== undefined) this.#endMember();
    if (this.#goneFrom !== undefined) this.#edit(this.#goneFrom, this.#solid, '');
    this.#close = close;
  }

  #endMember(): void {
    const first = !this.#stays;
    const touch = this.#touchHere();
    const valueFrom = this.#valueFrom ?? this.#solid;
    const valueTo = this.#solid;
    this.#valueFrom = undefined;
    this.#members++;
    if (touch?.kind === 'strip') {
      if (first) this.#goneFrom = this.#keyFrom;
      else this.#edit(this.#comma, valueTo, '');
      return;
    }
    this.#stays = true;
    if (touch?.kind === 'set') this.#edit(valueFrom, valueTo, touch.json);
  }

  #edit(from: number, to: number, text: string): void {
    if (this.#edits.length <= MOST_EDITS) this.#edits.push({ from, to, text });
  }

  #touchHere(): Touch | undefined {
    if (this.#keyBytes > this.#longestKey) return undefined;
    const key = decoded(Buffer.concat(this.#key).toString());
    const touch = key === undefined ? undefined : this.#rewrite.get(key);
    if (key !== undefined && touch !== undefined) this.#met.add(key);
    return touch;
  }
}

/** Undefined for what no JSON reader takes: the engine will say so. */
function decoded(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(`"${text}"`);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
