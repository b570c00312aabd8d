import type { CutCode, RefusalCode } from '../core/errors.ts';
import type { EngineId, ModelId, TicketId } from '../core/kinds.ts';
import type { Place } from '../core/place.ts';
import type { TicketTerms } from '../core/stage-events.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Backend } from '../engines/driver.ts';

/**
 * How a request gets an engine. The hand-over contract:
 * until `acquire` settles, the stage finalises the ticket (grant, refusal, or withdrawal when `signal` fires);
 * once it has resolved, the caller owns the lease and settles it exactly once, in `finally`.
 */
export interface Admission {
  /** Rejects with `Refused`, or with the signal's reason when the client left first (the ticket is then withdrawn). */
  acquire(model: ModelId, asked: Acquire): Promise<Lease>;
  /** Whether a request for the model would be refused now for who brings it in, so that nobody sends a body in vain. */
  barred(model: ModelId): Refused | undefined;
  /** A lease if there is one to be had at once; else nothing has happened. The caller owns it as above. */
  acquireNow(model: ModelId, wishes?: TicketTerms): Lease | undefined;
  /** A look at a model that is awake now. It waits for nothing, holds nobody up and is not counted. Undefined: it is not awake. */
  glance(model: ModelId): Lease | undefined;
}

export type Acquire = {
  readonly signal: AbortSignal;
  /** How the request is to wait. */
  readonly wishes?: TicketTerms;
};

export interface Lease {
  readonly ticket: TicketId;
  readonly model: ModelId;
  readonly engine: EngineId;
  readonly backend: Backend;
  /** How long the request waited in all, and the part of it in which its own model was starting or waking. */
  readonly queuedMs: number;
  readonly swapMs: number;
  /** Fires when the lease is ended from our side; its reason is a `Cut`. */
  readonly cut: AbortSignal;
  /** Where the request stood in line; it can go back there when it `mayReturn`. */
  readonly place: Place | undefined;
  /** Told when the engine is put away with the request in flight (`true`), which stands still then, and when it is back. */
  whenStanding?(tell: Standing): void;
  /** Bytes that mean work came from the engine. Keep-alive comments do not count. Cheap enough for every chunk. */
  heard(): void;
  settle(outcome: Outcome): void;
}

export type Standing = (still: boolean) => void;

/** The stage's no, before there was a lease. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly code: RefusalCode;
  /** When trying again makes sense, from now. */
  readonly retryAfterMs: number | undefined;
  /** Whether it stays like this until an operator changes something. */
  readonly lasting: boolean;
  constructor(code: RefusalCode, message: string, retryAfterMs: number | undefined, lasting = false) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.lasting = lasting;
  }
}

/** Why a lease was ended from our side. */
export class Cut extends Error {
  override readonly name = 'Cut';
  readonly code: CutCode;
  /** Whether the request may be asked again, as far as the stage is concerned. */
  readonly mayReturn: boolean;
  constructor(code: CutCode, message: string, mayReturn = false) {
    super(message);
    this.code = code;
    this.mayReturn = mayReturn;
  }
}
