import type { EngineId, ModelId, TicketId } from '../core/kinds.ts';
import type { Backend } from '../engines/driver.ts';
import type { Lease } from './admission.ts';

export type GlanceTerms = Pick<Lease, 'ticket' | 'model' | 'engine' | 'backend'>;

/** A look at an engine that is awake. Nobody waits for its end: when the engine goes, its connection breaks. */
export class Glance implements Lease {
  readonly ticket: TicketId;
  readonly model: ModelId;
  readonly engine: EngineId;
  readonly backend: Backend;
  readonly queuedMs = 0;
  readonly swapMs = 0;
  readonly place = undefined;
  readonly cut = new AbortController().signal;

  constructor({ ticket, model, engine, backend }: GlanceTerms) {
    this.ticket = ticket;
    this.model = model;
    this.engine = engine;
    this.backend = backend;
  }

  heard(): void {
    // The watchdog counts on leases alone.
  }

  settle(): void {
    // It was never counted.
  }
}
