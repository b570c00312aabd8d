import type { MayUse } from '../access/key.ts';
import { after, type ModelId } from '../core/kinds.ts';
import type { Place } from '../core/place.ts';
import type { Outcome } from '../core/outcome.ts';
import type { TicketTerms } from '../core/stage-events.ts';
import type { Cancel } from '../ports/clock.ts';
import { Refused, type Lease } from '../runtime/admission.ts';
import { wholeSeconds, type Refusal } from './envelope.ts';
import type { Gate } from './gate.ts';

export type Admitted =
  | { readonly kind: 'granted'; readonly lease: Lease }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly outcome: Outcome }
  | { readonly kind: 'left' };

export type Wait = {
  /** Aborted when the client has left. */
  readonly signal: AbortSignal;
  /** How long the client would wait in silence, where it says so. */
  readonly withinMs?: number | undefined;
  /** How it is to wait, or what is wrong with what was said of that. */
  readonly wishes: TicketTerms | Refusal;
  /** Which models whoever waits may know of. */
  readonly mayUse: MayUse | undefined;
  /** Where it stood before, if it comes back, and for how long it has waited since it came. */
  readonly back?: Back | undefined;
};

export type Back = { readonly place: Place; readonly sinceMs: number };

/** Waits for a lease. Until it has one the request owes nothing; once it has, the caller must settle it. */
export async function admit(
  gate: Gate,
  model: ModelId,
  { signal, withinMs, wishes: asked, mayUse, back }: Wait,
): Promise<Admitted> {
  if ('code' in asked) return { kind: 'refused', refusal: asked, outcome: 'rejected' };
  const left = (ms: number | undefined): number | undefined => ms && Math.max(0, ms - (back?.sinceMs ?? 0));
  const wishes = back === undefined ? asked : { ...asked, withinMs: left(asked.withinMs), place: back.place };
  const limitMs = left(withinMs);
  const limit = limitMs === undefined ? undefined : new Limit(gate, signal, limitMs);
  try {
    const lease = await gate.admission.acquire(model, { signal: limit?.signal ?? signal, wishes });
    return { kind: 'granted', lease };
  } catch (error) {
    if (error === TOO_LONG) return { kind: 'refused', refusal: tooLong(gate, model, mayUse), outcome: 'expired' };
    if (error instanceof Refused) return { kind: 'refused', refusal: refusalOf(error), outcome: outcomeOf(error) };
    if (signal.aborted && error === signal.reason) return { kind: 'left' };
    throw error;
  } finally {
    limit?.done();
  }
}

const HOPELESS = 'Trying again does not help; whoever runs catnap finds the reason in its log and in `catnap status`.';
const TOO_LONG = new Error('the client would wait no longer');

/** A wait that is over when the client leaves, or just before it would. */
class Limit {
  readonly #controller = new AbortController();
  readonly #client: AbortSignal;
  readonly #cancel: Cancel;

  constructor({ clock }: Gate, client: AbortSignal, withinMs: number) {
    this.#client = client;
    this.#cancel = clock.at(after(clock.now(), withinMs), () => this.#controller.abort(TOO_LONG));
    client.addEventListener('abort', this.#left, { once: true });
    if (client.aborted) this.#left();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  done(): void {
    this.#cancel();
    this.#client.removeEventListener('abort', this.#left);
  }

  readonly #left = (): void => this.#controller.abort(this.#client.reason);
}

function tooLong(gate: Gate, model: ModelId, mayUse: MayUse | undefined): Refusal {
  const message = `${model} did not get a turn in the time the client allows: ${gate.progress(model, mayUse)}.`;
  return { code: 'wait_timeout', message, retryAfterMs: gate.retryAfterMs(model) };
}

export function refusalOf({ code, message, retryAfterMs, lasting }: Refused): Refusal {
  if (lasting) return { code, message: `${message}. ${HOPELESS}`, lasting };
  const advice = retryAfterMs === undefined ? '' : ` Try again in ${wholeSeconds(retryAfterMs)} s.`;
  return { code, message: `${message}.${advice}`, retryAfterMs };
}

function outcomeOf({ code }: Refused): Outcome {
  switch (code) {
    case 'wait_timeout':
      return 'expired';
    case 'engine_failed':
      return 'failed';
    case 'lane_full':
    case 'model_not_found':
    case 'model_unloading':
    case 'model_not_loaded':
    case 'shutting_down':
    case 'restarting':
    case 'model_loading':
    case 'model_failed':
    case 'model_disabled':
    case 'manual_mode':
      return 'rejected';
  }
}
