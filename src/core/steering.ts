import type { ModelId, TicketId } from './kinds.ts';

/** Whether requests may swap. In manual mode only operators do, and requests for the pinned model. */
export type Mode = { readonly kind: 'auto' } | { readonly kind: 'manual'; readonly pinned: ModelId | undefined };

const AUTO: Mode = { kind: 'auto' };

/** The mode, and how it is taken back when the order that changed it fails. */
export class Steering {
  #mode: Mode = AUTO;
  /** Orders whose outcome is open, with the mode before each, the oldest first. */
  #open: { readonly order: TicketId; mode: Mode }[] = [];

  get mode(): Mode {
    return this.#mode;
  }

  /** Manual keeps a pin that is there. */
  set(kind: Mode['kind']): void {
    const pinned = this.#mode.kind === 'manual' ? this.#mode.pinned : undefined;
    this.#mode = kind === 'auto' ? AUTO : { kind, pinned };
    this.#open = [];
  }

  /** As another stage had it. */
  takeOver(mode: Mode): void {
    this.#mode = mode;
  }

  pin(order: TicketId, model: ModelId): void {
    this.#open.push({ order, mode: this.#mode });
    this.#mode = { kind: 'manual', pinned: model };
  }

  /** The model is not there any more. */
  forget(model: ModelId): void {
    const without = (mode: Mode): Mode =>
      mode.kind === 'manual' && mode.pinned === model ? { kind: 'manual', pinned: undefined } : mode;
    this.#mode = without(this.#mode);
    for (const open of this.#open) open.mode = without(open.mode);
  }

  /** What was before it is settled with it. */
  done(order: TicketId): void {
    const at = this.#open.findIndex((open) => open.order === order);
    this.#open.splice(0, at + 1);
  }

  failed(order: TicketId): void {
    const at = this.#open.findIndex((open) => open.order === order);
    const [gone] = at === -1 ? [] : this.#open.splice(at, 1);
    if (gone === undefined) return;
    const next = this.#open[at];
    if (next === undefined) this.#mode = gone.mode;
    else next.mode = gone.mode;
  }
}
