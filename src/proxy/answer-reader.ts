import { Malformed, parseAnswerHead, type AnswerHead, type Framing } from './answer-head.ts';
import { Chunks, type Payload } from './chunks.ts';

/** What came of a body in one read. */
export type Piece = {
  /** The body's own bytes. */
  readonly payload: readonly Buffer[];
  /** The same in chunks as they stood on the wire, where the read was nothing but whole ones. */
  readonly framed: Buffer | undefined;
  /** Whether it is known that nothing follows. */
  readonly last: boolean;
};

export interface AnswerSink {
  head(head: AnswerHead): void;
  piece(piece: Piece): void;
}

const HEAD_END = '\r\n\r\n';
/** Of all heads of an answer together, the interim ones included. */
const MOST_HEAD_BYTES = 65_536;
const EMPTY = Buffer.alloc(0);

/** Reads one answer from a connection, in pieces that may be cut anywhere. Throws `Malformed`, and is not to be used again then. */
export class AnswerReader {
  /** Of the final head; undefined until it has come. */
  head: AnswerHead | undefined;
  readonly #method: string;
  readonly #sink: AnswerSink;
  readonly #chunks = new Chunks();
  #begun: Buffer = EMPTY;
  #headBytes = 0;
  #left = 0;
  #ended = false;

  constructor(method: string, sink: AnswerSink) {
    this.#method = method;
    this.#sink = sink;
  }

  get framing(): Framing | undefined {
    return this.head?.framing;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Returns where in the data the answer ended, or the data's length. */
  read(data: Buffer): number {
    if (this.head !== undefined) return this.#body(this.head.framing, data, 0);
    const before = this.#begun.length;
    const all = before === 0 ? data : Buffer.concat([this.#begun, data]);
    const at = this.#heads(all);
    const { framing } = this;
    this.#begun = framing === undefined ? all.subarray(at) : EMPTY;
    return framing === undefined ? data.length : this.#body(framing, all, at) - before;
  }

  /** The connection is closed: says whether that is the end of the answer. */
  close(): boolean {
    if (this.head?.framing.kind === 'until-close') this.#ended = true;
    return this.#ended;
  }

  /** Reads heads until the final one, and tells where what follows begins. */
  #heads(data: Buffer): number {
    let at = 0;
    while (this.head === undefined) {
      const end = data.indexOf(HEAD_END, at, 'latin1');
      const seen = (end === -1 ? data.length : end + HEAD_END.length) - at;
      if (this.#headBytes + seen > MOST_HEAD_BYTES) throw new Malformed('the head of the answer is too large');
      if (end === -1) return at;
      this.#headBytes += seen;
      const head = parseAnswerHead(data.toString('latin1', at, end + 2), this.#method);
      at = end + HEAD_END.length;
      if (head.status === 101) throw new Malformed('the engine changed to a protocol that was not asked for');
      if (head.status < 200) continue;
      this.head = head;
      this.#sink.head(head);
      if (head.framing.kind === 'length') this.#left = head.framing.bytes;
      this.#ended = head.framing.kind === 'none' || (head.framing.kind === 'length' && this.#left === 0);
    }
    return at;
  }

  #body(framing: Framing, data: Buffer, from: number): number {
    if (this.#ended || from === data.length) return from;
    switch (framing.kind) {
      case 'none':
        return from;
      case 'chunked':
        return this.#chunked(data, from);
      case 'length': {
        const to = Math.min(data.length, from + this.#left);
        this.#left -= to - from;
        this.#ended = this.#left === 0;
        this.#sink.piece({ payload: [data.subarray(from, to)], framed: undefined, last: this.#ended });
        return to;
      }
      case 'until-close':
        this.#sink.piece({ payload: [data.subarray(from)], framed: undefined, last: false });
        return data.length;
    }
  }

  #chunked(data: Buffer, from: number): number {
    const ranges: Payload = [];
    const to = this.#chunks.read(data, from, ranges);
    this.#ended = this.#chunks.ended;
    if (ranges.length === 0) return to;
    const payload: Buffer[] = [];
    for (let i = 0; i < ranges.length; i += 2) payload.push(data.subarray(ranges[i], ranges[i + 1]));
    this.#sink.piece({ payload, framed: this.#chunks.whole ? data.subarray(from, to) : undefined, last: this.#ended });
    return to;
  }
}
