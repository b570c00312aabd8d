import type { FlatHeaders } from './headers.ts';

/** How the end of an answer's body is known (RFC 9112, 6.3). */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' };

export type AnswerHead = {
  readonly status: number;
  readonly reason: string;
  /** In the order, case and number in which they came. */
  readonly headers: FlatHeaders;
  readonly framing: Framing;
  /** Whether the server means to keep the connection, and for how long if it says so. */
  readonly keep: { readonly idleMs: number | undefined } | undefined;
};

/** What an engine sent is not HTTP/1.1, or could be read in two ways. */
export class Malformed extends Error {
  override readonly name = 'Malformed';
}

const STATUS_LINE = /HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?\r\n/y;
const FIELD = /([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t ]*([\t\x20-\x7e\x80-\xff]*)\r\n/y;
const LENGTH = /^\d{1,15}$/;

/** Reads a head that ends with the line break of its last line. Strict: engines that are worth serving send heads that pass. */
export function parseAnswerHead(text: string, method: string): AnswerHead {
  STATUS_LINE.lastIndex = 0;
  const line = STATUS_LINE.exec(text);
  if (line === null) throw new Malformed('the answer does not begin with an HTTP/1.x status line');
  const [, minor, digits, reason = ''] = line;
  const status = Number(digits);

  const headers: string[] = [];
  const fields = new Fields();
  let at = STATUS_LINE.lastIndex;
  while (at < text.length) {
    FIELD.lastIndex = at;
    const found = FIELD.exec(text);
    const [, name, written] = found ?? [];
    if (name === undefined || written === undefined) throw new Malformed('a header of the answer cannot be read');
    const value = withoutTrailingSpace(written);
    headers.push(name, value);
    fields.note(name, value);
    at = FIELD.lastIndex;
  }
  const framing = fields.framing(status, method, minor === '1');
  return {
    status,
    reason,
    headers,
    framing,
    keep: framing.kind === 'until-close' ? undefined : fields.keep(minor === '1'),
  };
}

/** The few headers that say where the answer ends and what becomes of the connection. */
class Fields {
  #length: number | undefined;
  #coding: string | undefined;
  #closes = false;
  #idleMs: number | undefined;

  note(name: string, value: string): void {
    // The length of a name rules most headers out without a comparison.
    switch (name.length) {
      case 14:
        if (name.toLowerCase() === 'content-length') this.#noteLength(value);
        return;
      case 17:
        if (name.toLowerCase() === 'transfer-encoding') this.#noteCoding(value);
        return;
      case 10:
        if (name.toLowerCase() === 'connection') this.#closes ||= /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i.test(value);
        else if (name.toLowerCase() === 'keep-alive') this.#noteTimeout(value);
    }
  }

  framing(status: number, method: string, isModern: boolean): Framing {
    if (this.#coding !== undefined && (!isModern || this.#length !== undefined)) {
      throw new Malformed('the answer says in two ways how long it is');
    }
    if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return { kind: 'none' };
    if (this.#coding !== undefined) return { kind: 'chunked' };
    if (this.#length !== undefined) return { kind: 'length', bytes: this.#length };
    return { kind: 'until-close' };
  }

  keep(isModern: boolean): AnswerHead['keep'] {
    return this.#closes || !isModern ? undefined : { idleMs: this.#idleMs };
  }

  #noteLength(value: string): void {
    if (this.#length !== undefined || !LENGTH.test(value)) throw new Malformed('the answer has no one Content-Length');
    this.#length = Number(value);
  }

  #noteCoding(value: string): void {
    if (this.#coding !== undefined || value.toLowerCase() !== 'chunked') {
      throw new Malformed('the answer has a Transfer-Encoding other than chunked');
    }
    this.#coding = value;
  }

  #noteTimeout(value: string): void {
    const secs = /(?:^|,)[\t ]*timeout=(\d{1,9})[\t ]*(?:,|$)/i.exec(value)?.[1];
    if (secs !== undefined) this.#idleMs = Number(secs) * 1_000;
  }
}

/** Only spaces and tabs: what else `trim` takes away is part of the value. */
function withoutTrailingSpace(value: string): string {
  let end = value.length;
  while (end > 0 && (value[end - 1] === ' ' || value[end - 1] === '\t')) end--;
  return end === value.length ? value : value.slice(0, end);
}
