import { invariant, type EngineId, type Millis, type ModelId, type TicketId } from '../core/kinds.ts';
import type { Place } from '../core/place.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Backend } from '../engines/driver.ts';
import type { Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';
import type { Cut, Lease, Standing } from './admission.ts';

export type LeaseTerms = {
  readonly ticket: TicketId;
  readonly model: ModelId;
  readonly engine: EngineId;
  readonly backend: Backend;
  readonly queuedMs: number;
  readonly swapMs: number;
  readonly place: Place;
  readonly clock: Clock;
  readonly settled: (outcome: Outcome) => void;
};

/** The right of one request to use one awake engine, as its holder sees it. */
export class OpenLease implements Lease {
  readonly ticket: TicketId;
  readonly model: ModelId;
  readonly engine: EngineId;
  readonly backend: Backend;
  readonly queuedMs: number;
  readonly swapMs: number;
  readonly place: Place;
  readonly #clock: Clock;
  readonly #cut = new AbortController();
  readonly #settled: (outcome: Outcome) => void;
  #stands: Standing | undefined;
  #standsStill = false;
  #open = true;
  #lastHeard: Millis;

  constructor({ ticket, model, engine, backend, queuedMs, swapMs, place, clock, settled }: LeaseTerms) {
    this.ticket = ticket;
    this.model = model;
    this.engine = engine;
    this.backend = backend;
    this.queuedMs = queuedMs;
    this.swapMs = swapMs;
    this.place = place;
    this.#clock = clock;
    this.#settled = settled;
    this.#lastHeard = clock.now();
  }

  get cut(): AbortSignal {
    return this.#cut.signal;
  }

  /** When the engine last gave this request anything, or when it was handed over. */
  get lastHeard(): Millis {
    return this.#lastHeard;
  }

  get standsStill(): boolean {
    return this.#standsStill;
  }

  whenStanding(tell: Standing): void {
    this.#stands = tell;
    if (this.#standsStill) tell(true);
  }

  /** Its engine is put away with it, or is back. */
  stand(still: boolean): void {
    this.#standsStill = still;
    // What it has not said meanwhile is no sign of anything.
    if (!still) this.heard();
    this.#stands?.(still);
  }

  heard(): void {
    this.#lastHeard = this.#clock.now();
  }

  settle(outcome: Outcome): void {
    invariant(this.#open, `lease ${this.ticket} of ${this.model} is settled twice`);
    this.#open = false;
    this.#settled(outcome);
  }

  /** Ends it from our side; the holder still settles it. */
  end(reason: Cut): void {
    this.#cut.abort(reason);
  }
}

/** Ends them for one reason, which is told of each model. */
export function endAll(leases: Iterable<OpenLease>, cut: Cut, reporter: Reporter): void {
  for (const [model, open] of Map.groupBy(leases, (lease) => lease.model)) {
    reporter.report({ kind: 'leases-cut', model, count: open.length, code: cut.code });
    for (const lease of open) lease.end(cut);
  }
}
