import type { Millis, TicketId } from '../../src/core/kinds.ts';

type Service = { leftMs: number; run: { readonly since: Millis } | undefined; readonly done: () => void };

/** How long each lease is still worked on. That stands still while its engine is away with it. */
export class Services {
  readonly #in: (ms: number, run: () => void) => void;
  readonly #now: () => Millis;
  readonly #services = new Map<TicketId, Service>();

  constructor(later: (ms: number, run: () => void) => void, now: () => Millis) {
    this.#in = later;
    this.#now = now;
  }

  begin(ticket: TicketId, ms: number, done: () => void): void {
    this.#services.set(ticket, { leftMs: ms, run: undefined, done });
    this.thaw([ticket]);
  }

  freeze(tickets: readonly TicketId[]): void {
    for (const ticket of tickets) {
      const service = this.#services.get(ticket);
      if (service?.run === undefined) continue;
      service.leftMs = Math.max(0, service.leftMs - (this.#now() - service.run.since));
      service.run = undefined;
    }
  }

  thaw(tickets: readonly TicketId[]): void {
    for (const ticket of tickets) {
      const service = this.#services.get(ticket);
      if (service === undefined) continue;
      const run = { since: this.#now() };
      service.run = run;
      this.#in(service.leftMs, () => {
        if (service.run === run && this.#services.delete(ticket)) service.done();
      });
    }
  }
}
