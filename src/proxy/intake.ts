import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, invariant } from '../core/kinds.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { BodyStore } from './body-store.ts';
import { Decoder, type Coding } from './decode.ts';
import type { Refusal } from './envelope.ts';
import { NO_ROOM, type KeptBody } from './kept-body.ts';
import { atTurnEnd } from './turn.ts';

export type IntakeTerms = {
  readonly store: BodyStore;
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
  /** Says what is wrong with the whole. */
  readonly judge: () => Refusal | undefined;
  /** Whether enough has come to stop for a moment; asked after each piece until it is so. */
  readonly enough: (() => boolean) | undefined;
};

/** Who takes a body that is not kept any longer. */
export type Taker = {
  /** False: not more until `goOn`. */
  add(chunk: Buffer): boolean;
  end(): void;
  fail(refusal: Refusal): void;
  drop(): void;
};

export type Read =
  | { readonly kind: 'whole' }
  /** Enough of it. The rest comes in all the while. */
  | { readonly kind: 'enough' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'left' };

/** Takes the body of a request in, within its bounds and never faster than it can be put away. It must be ended with `done`. */
export class Intake {
  /** So many bytes have come, as they were sent. */
  bytes = 0;
  readonly body: KeptBody;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #terms: IntakeTerms;
  readonly #decoder: Decoder | undefined;
  #read = Promise.withResolvers<Read>();
  #enough: (() => boolean) | undefined;
  #taker: Taker | undefined;
  #cancel: Cancel | undefined;
  #refusal: Refusal | undefined;
  #over = false;

  constructor(req: IncomingMessage, res: ServerResponse, terms: IntakeTerms) {
    this.#req = req;
    this.#res = res;
    this.#terms = terms;
    this.#enough = terms.enough;
    const { store, codings, maxBytes } = terms;
    const failed = (refusal: Refusal): void => this.#refuse(refusal);
    this.body = store.keep({ drained: () => this.goOn(), failed });
    if (codings.length === 0) return;
    this.#decoder = new Decoder(codings, maxBytes, {
      data: (chunk) => this.#take(chunk),
      end: () => this.#ended(),
      failed,
      drain: () => req.resume(),
    });
  }

  /** Begins to read it. Settles once, whatever the client does. */
  read(): Promise<Read> {
    const { maxBytes, signal, clock, limitMs, expectsContinue } = this.#terms;
    const req = this.#req;
    if (Number(req.headers['content-length'] ?? 0) > maxBytes) this.#refuse(tooLarge(maxBytes));
    else if (signal.aborted) this.#left();
    else {
      this.#cancel = clock.at(after(clock.now(), limitMs), () => this.#refuse(tooSlow(limitMs)));
      signal.addEventListener('abort', this.#left, { once: true });
      req.on('data', this.#data).once('end', this.#end);
      // A request that is cut off is told by the signal; without a listener its error would end the process.
      req.on('error', () => {});
      if (expectsContinue) this.#res.writeContinue();
    }
    return this.#read.promise;
  }

  /** The rest of what `read` said was enough. */
  rest(): Promise<Read> {
    return this.#read.promise;
  }

  /** Whether what has come can be handed on, and the rest as it comes. */
  get divertible(): boolean {
    return !this.#over && this.#refusal === undefined && !this.#req.readableEnded && this.body.chunks !== undefined;
  }

  /** Hands on what has come and what will come. What is found wrong with it from now on is the taker's to tell. */
  divert(taker: Taker): void {
    invariant(this.divertible, 'a body is handed on that cannot be');
    this.#taker = taker;
    let more = true;
    for (const chunk of this.body.chunks ?? []) more = taker.add(chunk);
    if (!more) this.#hold();
  }

  /** It will not be sent again. */
  sent(): void {
    this.body.release();
  }

  /** Nothing of it is wanted any more. What still comes is thrown away, as long as the connection lasts. */
  done(): void {
    this.#finish({ kind: 'left' });
    this.#taker?.drop();
    this.body.release();
    if (!this.#req.complete) this.#req.resume();
  }

  readonly #data = (chunk: Buffer): void => {
    const { maxBytes } = this.#terms;
    this.bytes += chunk.length;
    if (this.bytes > maxBytes) this.#refuse(tooLarge(maxBytes));
    else if (this.#decoder === undefined) this.#take(chunk);
    else if (!this.#decoder.write(chunk)) this.#req.pause();
  };

  readonly #end = (): void => {
    if (this.#decoder === undefined) this.#ended();
    else this.#decoder.end();
  };

  readonly #left = (): void => this.#finish({ kind: 'left' });

  #take(chunk: Buffer): void {
    if (this.#over || this.#refusal !== undefined) return;
    const refusal = this.#terms.look(chunk);
    if (refusal !== undefined) {
      this.#refuse(refusal);
      return;
    }
    if (this.#taker !== undefined) {
      if (!this.#taker.add(chunk)) this.#hold();
      return;
    }
    const added = this.body.add(chunk);
    if (added === 'full') this.#refuse(NO_ROOM);
    else if (added === 'wait') this.#hold();
    if (this.#enough?.() === true) this.#pause();
  }

  /** Tells that it is enough, once. */
  #pause(): void {
    const { resolve } = this.#read;
    this.#enough = undefined;
    this.#read = Promise.withResolvers();
    resolve({ kind: 'enough' });
  }

  #ended(): void {
    if (this.#refusal !== undefined) return;
    const refusal = this.#terms.judge();
    if (refusal !== undefined) this.#refuse(refusal);
    else if (this.#taker === undefined) this.body.onWhole(() => this.#finish({ kind: 'whole' }));
    else {
      this.#taker.end();
      this.#finish({ kind: 'whole' });
    }
  }

  #hold(): void {
    (this.#decoder ?? this.#req).pause();
  }

  /** After `false` from who takes it. */
  goOn(): void {
    if (!this.#over) (this.#decoder ?? this.#req).resume();
  }

  /** At the end of the turn: a client whose body is here whole by then keeps its connection. */
  #refuse(refusal: Refusal): void {
    if (this.#refusal !== undefined) return;
    this.#refusal = refusal;
    this.#taker?.fail(refusal);
    atTurnEnd(() => this.#finish({ kind: 'refused', refusal }));
  }

  #finish(read: Read): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancel?.();
    this.#decoder?.destroy();
    this.#terms.signal.removeEventListener('abort', this.#left);
    this.#req.off('data', this.#data).off('end', this.#end);
    this.#req.pause();
    this.#read.resolve(read);
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
