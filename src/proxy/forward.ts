import type { ErrorCode } from '../core/errors.ts';
import { after, invariant, InvariantBroken, type Millis } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { Lease } from '../runtime/admission.ts';
import type { Piece } from './answer-reader.ts';
import type { Answer } from './answer.ts';
import { attempt, type Listener, type Lost, type Question } from './attempt.ts';
import type { Refusal } from './envelope.ts';
import { Halting, type Why } from './halting.ts';
import { headersForClient, type FlatHeaders } from './headers.ts';
import { Withheld } from './outflow.ts';
import type { Pool } from './pools.ts';

export type Forwarding = {
  readonly id: string;
  readonly lease: Lease;
  readonly pool: Pool;
  readonly question: Question;
  readonly answer: Answer;
  readonly clock: Clock;
  /** How long the engine may take to begin its answer, all tries together. */
  readonly responseMs: number;
  /** How long it may pause in its answer, and how long it may take in all. Either may be for ever. */
  readonly idleMs: number;
  readonly totalMs: number;
  readonly retryAfterMs: number;
  /** Told when the engine is put away with the request in flight, and when it is back. */
  readonly stands: (still: boolean) => void;
  /** Called when the answer has begun: the question will not be sent again. */
  readonly begun: () => void;
  /** Aborted when the client has left. */
  readonly signal: AbortSignal;
};

/** How a forwarded request ended. `refused`: the client has been told nothing yet. `broken`: it was told something, and cut off. */
export type Ending =
  | { readonly kind: 'complete'; readonly head: Head }
  | { readonly kind: 'client-left'; readonly head: Head | undefined }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'broken'; readonly code: ErrorCode; readonly head: Head };

type Head = { readonly status: number; readonly firstByteMs: number };

/** An engine that was ready a moment ago and refuses a connection is probably just busy. */
const MOST_TRIES = 3;
/** How long the news that an engine ended is waited for when its connection broke: the socket is often the faster of the two. */
const NEWS_MS = 100;

/**
 * Forwards one request to the engine it has a lease on, and the answer back. Settles once.
 * 1. The client leaves: the connection to the engine is aborted at once.
 * 2. The lease is cut, or the engine does not begin in time: refused, or broken off if the answer has begun.
 * 3. A kept connection turns out to be dead before a byte has come: sent again at once over a fresh one.
 * 4. The connection is refused: tried again a few times, unless the engine is gone.
 * 5. The engine is lost in any other way: it may be this request that did it, so it is not sent again.
 */
export async function forward(job: Forwarding): Promise<Ending> {
  const { pool, question, answer, clock } = job;
  const started = clock.now();
  const halting = new Halting(job, started);
  const relay = new Relay(job, started, halting);
  job.lease.whenStanding?.((still) => {
    halting.stand(still);
    relay.stand(still);
    job.stands(still);
  });
  try {
    // What cannot be sent again must not meet a kept connection that turns out to be dead.
    let want: 'any' | 'fresh' = question.body.once ? 'fresh' : 'any';
    for (let tries = 1; ; tries++) {
      const end = await attempt(pool, want, question, relay, halting);
      if (end.kind === 'complete') {
        invariant(relay.head !== undefined, 'an answer ended that had not begun');
        answer.end();
        return { kind: 'complete', head: relay.head };
      }
      const why = halting.why ?? (end.kind === 'lost' ? await judge(job, end, relay, halting, tries) : undefined);
      if (why !== undefined) return stop(why, relay.head, answer);
      want = 'fresh';
    }
  } finally {
    job.lease.whenStanding?.(() => {});
    job.stands(false);
    halting.done();
    answer.relax();
  }
}

/** What a loss means for the request; undefined: send it again. */
async function judge(
  job: Forwarding,
  lost: Lost,
  relay: Relay,
  halting: Halting,
  tries: number,
): Promise<Why | undefined> {
  const { gone } = job.lease.backend;
  if (lost.error instanceof InvariantBroken) throw lost.error;
  if (lost.error instanceof Withheld) return lost.error.refusal;
  if (relay.head !== undefined || gone.aborted) return died(job);
  if (lost.after === 'silent' && lost.reused) return undefined;
  await firesWithin(gone, NEWS_MS, job.clock, halting.signal);
  if (halting.why !== undefined) return halting.why;
  if (gone.aborted) return died(job);
  return lost.after === 'refused' && tries < MOST_TRIES ? undefined : unreachable(job, lost);
}

function stop(why: Why, head: Head | undefined, answer: Answer): Ending {
  if (why === 'client-left') {
    answer.abandon();
    return { kind: 'client-left', head };
  }
  if (head === undefined) return { kind: 'refused', refusal: why };
  answer.breakOff(why);
  return { kind: 'broken', code: why.code, head };
}

function died({ lease, retryAfterMs }: Forwarding): Refusal {
  const message = `The engine of ${lease.model} was lost while it worked on this request. Try again.`;
  return { code: 'engine_died', message, retryAfterMs };
}

function unreachable({ lease, retryAfterMs }: Forwarding, lost: Lost): Refusal {
  const did = {
    refused: 'did not accept the connection',
    silent: 'closed the connection before it answered',
    bytes: 'did not answer in HTTP',
  };
  return { code: 'engine_unreachable', message: `The engine of ${lease.model} ${did[lost.after]}.`, retryAfterMs };
}

/** Settles when the signal has fired or the time is over; `until` ends the wait early. */
function firesWithin(signal: AbortSignal, ms: number, clock: Clock, until: AbortSignal): Promise<void> {
  if (signal.aborted || until.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => {
    cancel();
    signal.removeEventListener('abort', done);
    until.removeEventListener('abort', done);
    resolve();
  };
  const cancel = clock.at(after(clock.now(), ms), done);
  signal.addEventListener('abort', done, { once: true });
  until.addEventListener('abort', done, { once: true });
  return promise;
}

/** Passes the engine's answer on as it comes. */
class Relay implements Listener {
  readonly #job: Forwarding;
  readonly #started: Millis;
  readonly #halting: Halting;
  #head: Head | undefined;
  #still = false;
  /** What is to go on once the engine is back. */
  #owed: (() => void) | undefined;

  constructor(job: Forwarding, started: Millis, halting: Halting) {
    this.#job = job;
    this.#started = started;
    this.#halting = halting;
  }

  /** Set once the client has been told the status. */
  get head(): Head | undefined {
    return this.#head;
  }

  /** While the engine is away nothing may be read: the kernel would tell it of the room, and nobody is there to be told, which ends the connection. */
  stand(still: boolean): void {
    this.#still = still;
    const owed = this.#owed;
    if (still || owed === undefined) return;
    this.#owed = undefined;
    owed();
  }

  begin(status: number, reason: string, headers: FlatHeaders): void {
    const { answer, id, lease, clock } = this.#job;
    this.#halting.begun();
    lease.heard();
    const firstByteMs = clock.now() - this.#started;
    const timing = { queueMs: lease.queuedMs - lease.swapMs, swapMs: lease.swapMs, engineMs: firstByteMs };
    answer.begin(status, reason, headersForClient(headers, id, timing));
    this.#head = { status, firstByteMs };
    this.#job.begun();
  }

  data(piece: Piece, resume: () => void): boolean {
    const { answer, lease } = this.#job;
    if (answer.isNews(piece)) lease.heard();
    const halting = this.#halting;
    halting.heard();
    if (answer.write(piece)) return true;
    halting.paused();
    const resumed = (): void => {
      if (this.#still) this.#owed = resumed;
      else {
        halting.heard();
        resume();
      }
    };
    answer.whenTaken(resumed, () => halting.halt('client-left'));
    return false;
  }
}
