import { after, FOREVER, type Millis } from '../core/kinds.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import { Cut, type Lease } from '../runtime/admission.ts';
import { Countdown } from './countdown.ts';
import type { Refusal } from './envelope.ts';
import { CANCELLATION, CANCELLED } from './request-book.ts';

/** Why a request is ended from our side of the engine. */
export type Why = 'client-left' | Refusal;

type Terms = {
  readonly lease: Lease;
  readonly clock: Clock;
  readonly responseMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  readonly retryAfterMs: number;
  /** Aborted when the client has left, or an operator has ended the request. */
  readonly signal: AbortSignal;
};

const NEVER = Number.POSITIVE_INFINITY;

/** What is to end with the request. */
export interface Haltable {
  halted(): void;
}

/** Everything that may end a request while it is served, as one. The first reason stays. */
export class Halting {
  /**
   * Told once, when the request is to end. No signal, which costs every request several microseconds; and no function: V8 makes one
   * that is assigned to a property among its old objects, where all that it can reach outlives the request until the next full collection.
   */
  running: Haltable | undefined;
  #controller: AbortController | undefined;
  readonly #undo: (() => void)[] = [];
  readonly #terms: Terms;
  /** How long the engine may take to begin, and in all: they stand still while it is away. */
  readonly #begin: Countdown;
  readonly #total: Countdown | undefined;
  #heardAt: Millis;
  #cancelIdle: Cancel | undefined;
  #why: Why | undefined;
  #still = false;

  constructor(terms: Terms, started: Millis) {
    const { lease, clock, responseMs, totalMs, retryAfterMs, signal } = terms;
    this.#terms = terms;
    this.#heardAt = started;
    this.#begin = new Countdown(clock, responseMs, started, () => this.halt(tooSlow(terms)));
    this.#total =
      totalMs === NEVER ? undefined : new Countdown(clock, totalMs, started, () => this.halt(tooLong(terms)));
    this.#listen(signal, () => this.halt(signal.reason === CANCELLATION ? CANCELLED : 'client-left'));
    this.#listen(lease.cut, () => this.halt(cutShort(lease.cut.reason, retryAfterMs)));
  }

  /** The same as a signal, made when somebody asks for it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#why !== undefined) this.#controller.abort();
    return this.#controller.signal;
  }

  get why(): Why | undefined {
    return this.#why;
  }

  halt(why: Why): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    this.running?.halted();
    this.#controller?.abort();
  }

  /** The engine has begun to answer, so it is no longer late. */
  begun(): void {
    this.#begin.stop();
    const { idleMs, clock } = this.#terms;
    if (idleMs === NEVER || this.#cancelIdle !== undefined) return;
    this.#heardAt = this.#still ? FOREVER : clock.now();
    this.#watchIdle(idleMs);
  }

  /** Something came, or may come again after a pause of ours. One timer follows, however many pieces there are. */
  heard(): void {
    if (this.#cancelIdle !== undefined && !this.#still) this.#heardAt = this.#terms.clock.now();
  }

  /** Nothing comes since we do not read: that is the client's doing. */
  paused(): void {
    if (this.#cancelIdle !== undefined) this.#heardAt = FOREVER;
  }

  /** The engine is put away with this request in flight, or is back. Its own reasons are none meanwhile. */
  stand(still: boolean): void {
    this.#begin.stand(still);
    this.#total?.stand(still);
    this.#still = still;
    if (still) this.paused();
    else this.heard();
  }

  #watchIdle(ms: number): void {
    const { clock, idleMs } = this.#terms;
    this.#cancelIdle = clock.at(after(clock.now(), ms), () => {
      const left = this.#heardAt + idleMs - clock.now();
      if (left <= 0) this.halt(tooIdle(this.#terms));
      else this.#watchIdle(Math.min(left, idleMs));
    });
  }

  done(): void {
    this.#begin.stop();
    this.#total?.stop();
    this.#cancelIdle?.();
    for (const undo of this.#undo) undo();
  }

  #listen(signal: AbortSignal, act: () => void): void {
    if (signal.aborted) {
      act();
      return;
    }
    signal.addEventListener('abort', act, { once: true });
    this.#undo.push(() => signal.removeEventListener('abort', act));
  }
}

function cutShort(reason: unknown, retryAfterMs: number): Refusal {
  return reason instanceof Cut
    ? { code: reason.code, message: `The request was ended: ${reason.message}.`, retryAfterMs }
    : { code: 'drained', message: 'The model was put away before this request was answered.', retryAfterMs };
}

function tooSlow({ lease, responseMs, retryAfterMs }: Terms): Refusal {
  const message =
    `The engine of ${lease.model} did not begin to answer within ${responseMs / 1000} s. ` +
    'Ask for fewer tokens, stream, or raise `response_timeout_secs`.';
  return { code: 'engine_timeout', message, retryAfterMs };
}

function tooIdle({ lease, idleMs, retryAfterMs }: Terms): Refusal {
  const message = `The engine of ${lease.model} paused for ${idleMs / 1000} s in its answer (\`idle_timeout_secs\`).`;
  return { code: 'engine_timeout', message, retryAfterMs };
}

function tooLong({ lease, totalMs, retryAfterMs }: Terms): Refusal {
  const message =
    `The engine of ${lease.model} did not finish its answer within ${totalMs / 1000} s (\`total_timeout_secs\`). ` +
    'Ask for fewer tokens.';
  return { code: 'engine_timeout', message, retryAfterMs };
}
