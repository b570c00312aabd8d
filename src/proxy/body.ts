import type { IncomingMessage, ServerResponse } from 'node:http';
import { after } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import { Decoder, type Coding } from './decode.ts';
import type { Refusal } from './envelope.ts';
import type { Edit } from './rewrite.ts';

/** A request body that can be sent more than once. */
export type Body = { readonly chunks: readonly Buffer[]; readonly bytes: number };

export type Reading = {
  /** Of the body as it was sent, and as it is without its encodings. */
  readonly maxBytes: number;
  /** What the client has done to it, to be undone. */
  readonly codings: readonly Coding[];
  /** From now to the last byte. */
  readonly limitMs: number;
  readonly clock: Clock;
  /** Aborted when the client has left. */
  readonly signal: AbortSignal;
  /** Whether the client waits for a go-ahead before it sends. */
  readonly expectsContinue: boolean;
  /** Sees each piece as it comes; what it returns ends the reading. */
  readonly look: (chunk: Buffer) => Refusal | undefined;
};

export type Read =
  /** `bytes`: as they were sent. */
  | { readonly kind: 'read'; readonly body: Body; readonly bytes: number }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly bytes: number }
  | { readonly kind: 'left'; readonly bytes: number };

/** Pieces smaller than this are put together, or a client that sends byte by byte would cost a hundred times what it sends. */
const SMALL = 4_096;
const BLOCK = 65_536;

/** Reads a body to its end, within its bounds. Settles once, whatever the client does. */
export function readBody(req: IncomingMessage, res: ServerResponse, reading: Reading): Promise<Read> {
  const { maxBytes, codings, limitMs, clock, signal, look } = reading;
  const announced = Number(req.headers['content-length'] ?? 0);
  if (announced > maxBytes) return Promise.resolve({ kind: 'refused', refusal: tooLarge(maxBytes), bytes: 0 });
  if (signal.aborted) return Promise.resolve({ kind: 'left', bytes: 0 });
  const { promise, resolve } = Promise.withResolvers<Read>();
  const pieces = new Pieces();
  let bytes = 0;

  const refuse = (refusal: Refusal): void => finish({ kind: 'refused', refusal, bytes });
  const take = (chunk: Buffer): void => {
    pieces.add(chunk);
    const refusal = look(chunk);
    if (refusal !== undefined) refuse(refusal);
  };
  const done = (): void => finish({ kind: 'read', body: pieces.join(), bytes });
  const decoder =
    codings.length === 0
      ? undefined
      : new Decoder(codings, maxBytes, { data: take, end: done, failed: refuse, drain: () => req.resume() });
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > maxBytes) refuse(tooLarge(maxBytes));
    else if (decoder === undefined) take(chunk);
    else if (!decoder.write(chunk)) req.pause();
  };
  const onEnd = (): void => (decoder === undefined ? done() : decoder.end());
  const onLeft = (): void => finish({ kind: 'left', bytes });
  const cancel = clock.at(after(clock.now(), limitMs), () => refuse(tooSlow(limitMs)));
  const finish = (read: Read): void => {
    cancel();
    decoder?.destroy();
    signal.removeEventListener('abort', onLeft);
    req.off('data', onData).off('end', onEnd);
    req.pause();
    resolve(read);
  };

  signal.addEventListener('abort', onLeft, { once: true });
  req.on('data', onData).once('end', onEnd);
  // A request that is cut off is told by the signal; without a listener its error would end the process.
  req.on('error', () => {});
  if (reading.expectsContinue) res.writeContinue();
  return promise;
}

/** The same body with its edits made, which come in its order, and every other byte as it was. */
export function edited(body: Body, edits: readonly Edit[]): Body {
  const chunks: Buffer[] = [];
  let from = 0;
  for (const edit of edits) {
    chunks.push(...slice(body, from, edit.from));
    if (edit.text !== '') chunks.push(Buffer.from(edit.text));
    from = edit.to;
  }
  chunks.push(...slice(body, from, body.bytes));
  return { chunks, bytes: chunks.reduce((sum, chunk) => sum + chunk.length, 0) };
}

function slice({ chunks }: Body, from: number, to: number): Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  for (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, from - start), Math.max(0, to - start));
    if (part.length > 0) parts.push(part);
    start += chunk.length;
  }
  return parts;
}

/** What has come of a body, in few pieces however many it came in. */
class Pieces {
  bytes = 0;
  readonly #chunks: Buffer[] = [];
  #small: Buffer[] = [];
  #smallBytes = 0;

  add(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (chunk.length >= SMALL) {
      this.#flush();
      this.#chunks.push(chunk);
      return;
    }
    this.#small.push(chunk);
    this.#smallBytes += chunk.length;
    if (this.#smallBytes >= BLOCK || this.#small.length >= SMALL) this.#flush();
  }

  join(): Body {
    this.#flush();
    return { chunks: this.#chunks, bytes: this.bytes };
  }

  #flush(): void {
    if (this.#small.length === 0) return;
    const [only] = this.#small;
    this.#chunks.push(this.#small.length === 1 && only !== undefined ? only : Buffer.concat(this.#small));
    this.#small = [];
    this.#smallBytes = 0;
  }
}

const tooLarge = (maxBytes: number): Refusal => ({
  code: 'body_too_large',
  message: `The body is larger than ${maxBytes} bytes. Send a smaller one, or raise \`max_body_bytes\`.`,
});

const tooSlow = (limitMs: number): Refusal => ({
  code: 'body_timeout',
  message: `The body did not arrive within ${limitMs / 1000} s. Send it faster, or raise \`body_timeout_secs\`.`,
});
