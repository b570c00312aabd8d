import type { EngineId, Millis, ModelId, SleepLevel, TicketId } from '../../src/core/kinds.ts';
import type { StageEffect } from '../../src/core/stage-events.ts';
import { must } from './violation.ts';

export type Ticket = {
  readonly id: TicketId;
  readonly model: ModelId;
  /** `frozen`: one that has its lease, and waits for its engine to be back. */
  readonly kind: 'request' | 'load' | 'unload' | 'frozen';
  /** Its place among all arrivals, and when it counts as having come. */
  readonly seq: number;
  readonly rank: Millis;
  readonly since: Millis;
  state: 'waiting' | 'open' | 'ended';
  /** How it ended: served, left, or the code of a refusal or a cut. */
  end: string | undefined;
  engine: EngineId | undefined;
  /** Its client has left, though the stage may not have heard of it yet. */
  gone: boolean;
  cut: string | undefined;
  /** How deep an unload was to go. */
  readonly level: SleepLevel | undefined;
  /** Nobody is put away for it. */
  readonly bound: boolean;
  /** It was cut and is back at the place that it had. */
  readonly back: boolean;
};

/** Whether one of two has the earlier place. */
export const comesFirst = (a: Pick<Ticket, 'rank' | 'seq'>, b: Pick<Ticket, 'rank' | 'seq'>): boolean =>
  a.rank === b.rank ? a.seq < b.seq : a.rank < b.rank;

type Asked = { readonly rank: Millis; readonly level?: SleepLevel; readonly bound?: boolean; readonly seq?: number };

type Grant = Extract<StageEffect, { readonly kind: 'grant' }>;

/** What was promised to whom: each ticket ends once, and each model's tickets are answered in the order in which they came. */
export class Book {
  readonly #tickets = new Map<TicketId, Ticket>();
  readonly #waiting = new Map<ModelId, Ticket[]>();
  readonly #open = new Set<Ticket>();
  /** Those that were put away with their engine, each as it stands in line. */
  readonly #frozen = new Map<TicketId, Ticket>();
  readonly #unloads = new Set<Ticket>();
  readonly #ends = new Map<string, number>();
  #arrivals = 0;

  get arrivals(): number {
    return this.#arrivals;
  }

  get open(): ReadonlySet<Ticket> {
    return this.#open;
  }

  get frozen(): ReadonlyMap<TicketId, Ticket> {
    return this.#frozen;
  }

  get unloads(): ReadonlySet<Ticket> {
    return this.#unloads;
  }

  /** How many tickets ended in which way. */
  get ends(): ReadonlyMap<string, number> {
    return this.#ends;
  }

  get anyoneWaits(): boolean {
    for (const line of this.#waiting.values()) if (line.length > 0) return true;
    return false;
  }

  waiting(model: ModelId): readonly Ticket[] {
    return this.#waiting.get(model) ?? [];
  }

  first(model: ModelId): Ticket | undefined {
    return this.waiting(model)[0];
  }

  openOn(engine: EngineId): number {
    let count = 0;
    for (const ticket of this.#open) if (ticket.engine === engine) count++;
    return count;
  }

  unloading(model: ModelId): boolean {
    for (const order of this.#unloads) if (order.model === model) return true;
    return false;
  }

  ticket(id: TicketId): Ticket {
    const ticket = this.#tickets.get(id);
    must(ticket !== undefined, `ticket ${id} was never given out`);
    return ticket;
  }

  arrived(id: TicketId, model: ModelId, kind: Ticket['kind'], now: Millis, asked: Asked): Ticket {
    const { rank, level, bound = false, seq } = asked;
    const back = seq !== undefined;
    const none = { end: undefined, engine: undefined, gone: false, cut: undefined, level, bound, back };
    const ticket: Ticket = {
      id,
      model,
      kind,
      seq: seq ?? this.#arrivals++,
      rank,
      since: now,
      state: 'waiting',
      ...none,
    };
    this.#tickets.set(id, ticket);
    if (kind === 'unload') this.#unloads.add(ticket);
    else this.#intoLine(ticket);
    return ticket;
  }

  granted({ ticket: id, model, engine }: Grant): Ticket {
    const ticket = this.#answered(id, model);
    must(ticket.kind === 'request', `order ${id} was given a lease`);
    this.#outOfLine(ticket);
    ticket.state = 'open';
    ticket.engine = engine;
    this.#open.add(ticket);
    return ticket;
  }

  rejected(id: TicketId, model: ModelId, code: string): void {
    const ticket = this.#answered(id, model);
    must(ticket.kind !== 'unload' || code === 'restarting', `the order to unload ${model} was refused`);
    if (ticket.kind === 'unload') this.#unloads.delete(ticket);
    else this.#outOfLine(ticket);
    this.#end(ticket, code);
  }

  orderDone(id: TicketId, model: ModelId): void {
    const ticket = this.#answered(id, model);
    must(ticket.kind !== 'request', `request ${id} was answered as if it were an order`);
    if (ticket.kind === 'unload') this.#unloads.delete(ticket);
    else {
      this.#outOfLine(ticket);
    }
    this.#end(ticket, `${ticket.kind}ed`);
  }

  /** The stage has been told that its client left, which says nothing new when it had been answered before. */
  withdrawn(id: TicketId): void {
    const ticket = this.ticket(id);
    if (ticket.state !== 'waiting') return;
    this.#outOfLine(ticket);
    this.#end(ticket, 'left');
  }

  freeze(ids: readonly TicketId[], now: Millis): void {
    for (const id of ids) {
      const ticket = this.ticket(id);
      must(
        ticket.state === 'open' && ticket.cut === undefined,
        `${id} was suspended while ${ticket.cut ?? ticket.state}`,
      );
      must(!this.#frozen.has(id), `${id} was suspended twice`);
      const inLine: Ticket = {
        ...ticket,
        kind: 'frozen',
        bound: false,
        state: 'waiting',
        seq: this.#arrivals++,
        rank: now,
        since: now,
      };
      this.#frozen.set(id, inLine);
      this.#intoLine(inLine);
    }
  }

  thaw(ids: readonly TicketId[]): void {
    for (const id of ids) must(this.#thaw(id), `${id} goes on and was not suspended`);
  }

  cut(id: TicketId, code: string): Ticket {
    this.#thaw(id);
    const ticket = this.ticket(id);
    must(ticket.state === 'open', `ticket ${id} was cut while ${ticket.end ?? ticket.state}`);
    ticket.cut ??= code;
    return ticket;
  }

  settled(id: TicketId): void {
    const ticket = this.ticket(id);
    must(ticket.state === 'open', `ticket ${id} was settled while ${ticket.end ?? ticket.state}`);
    this.#thaw(id);
    this.#open.delete(ticket);
    this.#end(ticket, ticket.cut ?? 'served');
  }

  #answered(id: TicketId, model: ModelId): Ticket {
    const ticket = this.ticket(id);
    must(ticket.model === model, `ticket ${id} of ${ticket.model} was answered as one of ${model}`);
    must(ticket.state === 'waiting', `ticket ${id} was answered while ${ticket.end ?? ticket.state}`);
    return ticket;
  }

  #intoLine(ticket: Ticket): void {
    const line = [...this.waiting(ticket.model), ticket];
    this.#waiting.set(
      ticket.model,
      line.sort((a, b) => (comesFirst(a, b) ? -1 : 1)),
    );
  }

  /** False when it was not suspended. */
  #thaw(id: TicketId): boolean {
    const inLine = this.#frozen.get(id);
    if (inLine !== undefined) this.#outOfLine(inLine);
    return this.#frozen.delete(id);
  }

  #outOfLine(ticket: Ticket): void {
    const line = this.waiting(ticket.model);
    must(line.includes(ticket), `ticket ${ticket.id} is not in line`);
    this.#waiting.set(
      ticket.model,
      line.filter((other) => other !== ticket),
    );
  }

  #end(ticket: Ticket, end: string): void {
    ticket.state = 'ended';
    ticket.end = end;
    this.#ends.set(end, (this.#ends.get(end) ?? 0) + 1);
  }
}
