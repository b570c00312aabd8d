import type { ServerResponse } from 'node:http';
import { after } from '../core/kinds.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { Piece } from './answer-reader.ts';
import { renderErrorEvent, type Dialect, type Refusal } from './envelope.ts';
import { headerOf, headersOf, type FlatHeaders } from './headers.ts';
import { Misfit } from './misfit.ts';
import { Outlet } from './outlet.ts';
import { commentOf, isOnlyComments, lineOf, NEWLINE, separator } from './sse.ts';

/** How long the last words of a broken stream may take to leave. */
const LAST_WORDS_MS = 1_000;

export type AnswerTerms = {
  readonly id: string;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** How long the client may take nothing of what is ready for it. */
  readonly slowReaderMs: number;
};

/** An engine's answer on its way to the client: byte for byte, never faster than the client reads. */
export class Answer {
  /** Bytes of the body so far. */
  bytes = 0;
  /** In how many pieces they came. */
  chunks = 0;
  readonly #res: ServerResponse;
  readonly #outlet: Outlet;
  readonly #terms: AnswerTerms;
  #stream = false;
  /** Whether an event can be added to the body without breaking its framing. */
  #takesEvents = false;
  #lastByte: number | undefined;
  #patience: Cancel | undefined;
  #opened = false;
  #begun = false;
  /** What the engine says in place of the stream that the client was promised. */
  #misfit: Misfit | undefined;

  constructor(res: ServerResponse, terms: AnswerTerms) {
    this.#res = res;
    this.#outlet = new Outlet(res);
    this.#terms = terms;
  }

  /** Whether the client was told to expect a stream before the engine has said a word. */
  get opened(): boolean {
    return this.#opened;
  }

  /** Whether the engine answers. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Tells a client that waits for a stream why it waits; the first comment begins the stream. Once the engine answers, only `amid` its lines. */
  comment(text: string, amid = false): void {
    const res = this.#res;
    if (res.destroyed || res.writableNeedDrain) return;
    if (this.#begun) {
      if (amid && this.#takesEvents && this.#misfit === undefined && this.#atLineStart) res.write(lineOf(text));
      return;
    }
    if (!this.#opened) this.#open();
    res.write(commentOf(text));
  }

  get #atLineStart(): boolean {
    return this.#lastByte === undefined || this.#lastByte === NEWLINE;
  }

  #open(): void {
    this.#opened = true;
    this.#stream = true;
    this.#takesEvents = true;
    this.#res.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      // Some reverse proxies hold back what they pass on unless they are told.
      'x-accel-buffering': 'no',
      'x-request-id': this.#terms.id,
    });
  }

  begin(status: number, reason: string, headers: FlatHeaders): void {
    const stream = (headerOf(headers, 'content-type') ?? '').toLowerCase().startsWith('text/event-stream');
    this.#begun = true;
    if (this.#opened) {
      const fits = stream && status < 300 && headerOf(headers, 'content-encoding') === undefined;
      this.#misfit = fits ? undefined : new Misfit(status);
      // Its head has left already, so what belongs there is told as clients of streams can read it: trailers reach none of them.
      if (fits) this.#res.write(commentOf(`server-timing: ${headersOf(headers, 'server-timing').join(', ')}`));
      return;
    }
    this.#stream = stream;
    const framed = headerOf(headers, 'content-length') ?? headerOf(headers, 'content-encoding');
    this.#takesEvents = this.#stream && framed === undefined;
    this.#res.writeHead(status, reason, [...headers]);
    // The head leaves at once, but in one packet with the body when both are here.
    queueMicrotask(() => {
      if (this.bytes === 0 && !this.#res.writableEnded) this.#res.flushHeaders();
    });
  }

  /** Whether more may come now; if not, ask `whenTaken`. */
  write(piece: Piece): boolean {
    this.chunks++;
    for (const part of piece.payload) this.bytes += part.length;
    if (this.#misfit !== undefined) {
      for (const part of piece.payload) this.#misfit.add(part);
      return true;
    }
    this.#lastByte = piece.payload.at(-1)?.at(-1);
    return this.#res.destroyed || this.#outlet.write(piece) || this.#res.destroyed;
  }

  /** Calls `resume` once when more may come, or `stuck` when the client has taken nothing for too long. Asked again, it goes on waiting. */
  whenTaken(resume: () => void, stuck: () => void): void {
    if (this.#patience !== undefined) return;
    const { clock, slowReaderMs } = this.#terms;
    const cancel = clock.at(after(clock.now(), slowReaderMs), stuck);
    const drained = (): void => {
      this.relax();
      resume();
    };
    const off = this.#outlet.onDrain(drained);
    const patience = (): void => {
      cancel();
      off();
    };
    this.#patience = patience;
  }

  /** Stops waiting for the client. */
  relax(): void {
    this.#patience?.();
    this.#patience = undefined;
  }

  /** Whether this tells that the engine works. */
  isNews({ payload }: Piece): boolean {
    return !this.#stream || !payload.every(isOnlyComments);
  }

  end(): void {
    if (this.#misfit === undefined) this.#outlet.end();
    else this.#lastWords(this.#misfit.event(this.#terms.dialect, this.#terms.id));
  }

  /** Nobody reads it any more. */
  abandon(): void {
    this.#res.destroy();
  }

  /** Ends it in a way that cannot be taken for a complete answer: an error event where events are spoken, then an aborted connection. */
  breakOff(refusal: Refusal): void {
    const { dialect, id } = this.#terms;
    this.relax();
    this.#lastWords(renderErrorEvent(refusal, dialect, id));
  }

  #lastWords(event: string): void {
    const res = this.#res;
    if (!this.#takesEvents || res.destroyed) {
      res.destroy();
      return;
    }
    const { clock } = this.#terms;
    const destroy = (): void => {
      cancel();
      res.destroy();
    };
    const cancel = clock.at(after(clock.now(), LAST_WORDS_MS), destroy);
    res.once('close', destroy);
    res.write(separator(this.#lastByte) + event, destroy);
  }
}
