import { after } from '../core/kinds.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { Refusal } from './envelope.ts';
import type { NameScanner } from './name-scanner.ts';
import { Withheld, type Body, type Outflow } from './outflow.ts';
import { growth, Splicer } from './splicer.ts';

/** What stands in place of the name of the model, wherever it comes. */
export type Renaming = { readonly scanner: NameScanner; readonly text: string };

export type PassingTerms = {
  /** How long it is, as the client said. */
  readonly announced: number;
  readonly renaming: Renaming | undefined;
  /** How long it may take from now. */
  readonly limitMs: number;
  readonly clock: Clock;
  /** More may be added, after the answer was no. */
  readonly drained: () => void;
};

/** So much may wait to be sent before the client is to pause. */
const ENOUGH = 262_144;

/**
 * A body that is sent to an engine while it still comes in. Its last byte stays here until all of it was judged, so that no engine has one
 * whole that was refused. What was sent is kept by nobody.
 */
export class PassingBody implements Body, Outflow {
  readonly once = true;
  readonly chunks = undefined;
  /** With the names that have come by now changed. One that comes later and would change the length is too late. */
  readonly bytes: number;
  readonly #terms: PassingTerms;
  readonly #splicer = new Splicer();
  readonly #queue: Buffer[] = [];
  /** How much has come, and how much of it has been taken out of the queue. */
  #come = 0;
  #taken = 0;
  #renamed = 0;
  #growth = 0;
  #held = false;
  #end: 'open' | 'ended' | Error = 'open';
  #waiting: PromiseWithResolvers<readonly Buffer[] | undefined> | undefined;
  #cancel: Cancel | undefined;

  constructor(terms: PassingTerms) {
    const { announced } = terms;
    this.#terms = terms;
    this.#rename();
    this.bytes = announced + this.#growth;
    this.#watch();
  }

  /** Takes what has passed the scanner. False: not more until `drained`. */
  add(chunk: Buffer): boolean {
    this.#come += chunk.length;
    this.#queue.push(chunk);
    this.#rename();
    this.#wake();
    this.#held = this.#come - this.#taken > ENOUGH;
    return !this.#held;
  }

  /** All has come, and is right. */
  end(): void {
    this.#stop('ended');
  }

  /** What has not been sent yet never will be. */
  fail(refusal: Refusal): void {
    this.#stop(new Withheld(refusal));
  }

  /** The request is over, one way or the other. */
  drop(): void {
    this.#stop(new Error('the request is over'));
  }

  open(): Outflow {
    return this;
  }

  next(): Promise<readonly Buffer[] | undefined> {
    this.#waiting = Promise.withResolvers();
    const { promise } = this.#waiting;
    this.#wake();
    return promise;
  }

  close(): void {
    // A try that came to nothing has sent nothing, so the next one begins where this one did.
  }

  #stop(end: 'ended' | Error): void {
    if (this.#end !== 'open') return;
    this.#end = end;
    this.#cancel?.();
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const end = this.#end;
    if (end instanceof Error) return this.#answer(() => waiting.reject(end));
    const pieces = this.#ready();
    if (pieces.length > 0) this.#answer(() => waiting.resolve(pieces));
    else if (end === 'ended') this.#answer(() => waiting.resolve(undefined));
    this.#letOn();
  }

  #answer(tell: () => void): void {
    this.#waiting = undefined;
    tell();
  }

  #letOn(): void {
    if (!this.#held || this.#come - this.#taken > ENOUGH / 2) return;
    this.#held = false;
    this.#terms.drained();
  }

  /** What may be sent now. */
  #ready(): readonly Buffer[] {
    const ended = this.#end === 'ended';
    const { renaming } = this.#terms;
    const judged = renaming === undefined ? this.#come : renaming.scanner.judged;
    const out = this.#take(ended ? this.#come : Math.min(judged, this.#come - 1));
    if (ended) out.push(...this.#splicer.end());
    return out;
  }

  #rename(): void {
    const { renaming } = this.#terms;
    if (renaming === undefined) return;
    const { scanner, text } = renaming;
    const edits = scanner.at.slice(this.#renamed).map((at) => ({ ...at, text }));
    this.#renamed = scanner.at.length;
    const more = growth(edits);
    if (more !== 0 && this.#come > 0) this.#stop(new Withheld(NAMED_AGAIN));
    this.#growth += more;
    for (const edit of edits) this.#splicer.add(edit);
  }

  #take(upTo: number): Buffer[] {
    const out: Buffer[] = [];
    for (let first = this.#queue[0]; first !== undefined && this.#taken < upTo; first = this.#queue[0]) {
      const piece = first.subarray(0, upTo - this.#taken);
      if (piece.length === first.length) this.#queue.shift();
      else this.#queue[0] = first.subarray(piece.length);
      this.#taken += piece.length;
      out.push(...this.#splicer.pass(piece));
    }
    return out;
  }

  /** A client that is waited for when its time is over has had enough of it. If it is the engine that is slow, that is not the client's doing. */
  #watch(): void {
    const { clock, limitMs } = this.#terms;
    this.#cancel = clock.at(after(clock.now(), limitMs), () => {
      if (this.#waiting === undefined) this.#watch();
      else this.fail(tooSlow(limitMs));
    });
  }
}

const NAMED_AGAIN: Refusal = {
  code: 'duplicate_model',
  message: 'The body names its model more than once, and was on its way to the engine by then. Name it once.',
};

const tooSlow = (limitMs: number): Refusal => ({
  code: 'body_timeout',
  message:
    `The body was passed on to the engine while it arrived, and did not arrive within ${limitMs / 1000} s. ` +
    'Send it again, or raise `body_pass_on_secs`.',
});
