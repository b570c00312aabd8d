import type { Millis, ModelId, TicketId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import type { Ticket } from '../book.ts';
import { must } from '../violation.ts';
import { refusedIn, type Checker, type Scene } from './checker.ts';

/** One turn of a model: from the moment it is awake until it goes. */
export type Turn = {
  readonly key: string;
  readonly at: Millis;
  /** Tickets that came before this place were there when it began. */
  readonly from: number;
  /** Who waited for it when it began. */
  readonly waitedFor: readonly Ticket[];
  answered: number;
  settled: number;
  /** Set when a swap closed its batch: nobody else is served in this turn. */
  closed:
    | { readonly swap: number | undefined; readonly has: (ticket: Ticket) => boolean; readonly at: Millis }
    | undefined;
};

/** Keeps count of who has a turn and what came of it. */
export class Turns implements Checker {
  readonly #scene: Scene;
  readonly #turns = new Map<ModelId, Turn>();
  /** Whose turn ended in this step: its effects still belong to it. */
  readonly #over = new Set<ModelId>();
  readonly #withdrawn = new Set<number | undefined>();
  /** Who is told in this step that it is not served: nobody waits for a turn that begins as their time runs out. */
  #refused: ReadonlySet<TicketId> = new Set();
  /** Since when those have been on that change hands. They go on with their turns, though engines of them may have died meanwhile. */
  #handed: ReadonlyMap<ModelId, Millis | undefined> = new Map();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  get(model: ModelId): Turn | undefined {
    return this.#turns.get(model);
  }

  handled(event: StageEvent, effects: readonly StageEffect[]): void {
    this.#refused = refusedIn(effects);
    for (const model of this.#over) this.#turns.delete(model);
    this.#over.clear();
    if (event.kind === 'lease-settled') {
      const turn = this.#turns.get(event.model);
      if (turn !== undefined) turn.settled++;
    }
    const handed = event.kind === 'handed-over' ? event.models : [];
    this.#handed = new Map(handed.map(({ terms, onSince }) => [terms.model, onSince]));
    if (event.kind === 'ticket-arrived') this.#closeStale(event.model, event.ticket);
    if (event.kind === 'load-asked') this.#closeStale(event.model, event.order);
    for (const [model, { part }] of this.#scene.theatre.stage.members) {
      const on = part.kind === 'on' ? part : part.kind === 'draining' ? part.was : undefined;
      const turn = this.#turns.get(model);
      // It was to make room for a swap that was withdrawn before, and stays after all.
      if (part.kind === 'on' && this.#withdrawn.has(turn?.closed?.swap) && turn !== undefined) turn.closed = undefined;
      if (on === undefined) this.#over.add(model);
      else if (this.#turns.get(model)?.key !== `${on.since} ${on.from}`) this.#begin(model, `${on.since} ${on.from}`);
    }
  }

  /** Called before the effect is looked at by those who ask about turns. */
  effect(effect: StageEffect): void {
    if (effect.kind === 'tell' && effect.fact.kind === 'swap-planned') {
      // One that died in its turn and comes back when nobody waits any more goes in the step in which it came.
      for (const model of effect.fact.from) if (!this.#turns.has(model)) this.#begin(model, 'short');
    }
    if (effect.kind === 'tell' && effect.fact.kind === 'swap-finished') {
      const { id, to, result } = effect.fact.record;
      // A turn that nobody waited for any more may be over in the step in which it began.
      if (result === 'done' && !this.#turns.has(to)) this.#begin(to, 'short');
      if (result !== 'withdrawn') return;
      this.#withdrawn.add(id);
      const { members } = this.#scene.theatre.stage;
      // One that goes all the same, as another config has changed it, keeps its batch.
      for (const [model, turn] of this.#turns)
        if (turn.closed?.swap === id && members.get(model)?.part.kind !== 'draining') turn.closed = undefined;
    }
    if (effect.kind !== 'grant' && effect.kind !== 'order-done' && effect.kind !== 'thaw') return;
    const turn = this.#turns.get(effect.model);
    if (turn !== undefined) turn.answered++;
  }

  /** Engines of an earlier config serve nobody who came after the first one that is to have others. */
  #closeStale(model: ModelId, id: TicketId): void {
    const { book, now, theatre, plan } = this.#scene;
    const member = theatre.stage.members.get(model);
    const turn = this.#turns.get(model);
    if (member?.stale !== true || turn === undefined || turn.closed !== undefined) return;
    if (member.part.kind !== 'draining' || member.part.for !== undefined || member.unloads.length > 0) return;
    const { seq: until } = book.ticket(id);
    turn.closed = { swap: undefined, has: ({ seq }) => plan.drains && seq < until, at: now() };
  }

  #begin(model: ModelId, key: string): void {
    const { book, now, theatre } = this.#scene;
    for (const engine of theatre.stage.members.get(model)?.engines ?? []) {
      const { kind } = theatre.engine(engine).phase;
      must(kind === 'awake' || this.#handed.has(model), `a turn of ${model} begins and ${engine} is ${kind}`);
    }
    const waitedFor = book.waiting(model).filter(({ id }) => !this.#refused.has(id));
    const none = { answered: 0, settled: 0, closed: undefined };
    const at = this.#handed.get(model) ?? now();
    this.#turns.set(model, { key, at, from: book.arrivals, waitedFor, ...none });
  }
}
