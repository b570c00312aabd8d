import type { Millis, ModelId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { isKept, memberOf, planOf, type Checker, type Scene } from './checker.ts';

/** Requests that are put away with their engine: only where they may be, untouched while they stand still, and never forgotten. */
export class FrozenChecker implements Checker {
  readonly #scene: Scene;
  /** When each model went on last with what it was put away with. */
  readonly #thawed = new Map<ModelId, Millis>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(event: StageEvent): void {
    if (event.kind !== 'let-go') return;
    const [id] = this.#scene.book.frozen.keys();
    must(id === undefined, `${id} stands still, and another catnap is to have its engine`);
  }

  effect(effect: StageEffect): void {
    const { book, theatre, now } = this.#scene;
    if (effect.kind === 'freeze') {
      const { freezesAt } = planOf(this.#scene, effect.model).terms;
      must(!isKept(this.#scene, effect.model), `${effect.model} is put away with requests, and none brings it back`);
      must(freezesAt !== undefined, `${effect.model} is put away with requests, which it may not`);
      must(this.#thawed.get(effect.model) !== now(), `${effect.model} is put away again before it has gone on`);
      must(effect.tickets.length > 0, `${effect.model} is put away with requests it has not`);
    }
    if (effect.kind === 'grant')
      for (const { model, id } of book.frozen.values())
        must(model !== effect.model, `${effect.ticket} is granted on ${model} while ${id} stands still`);
    if (effect.kind !== 'thaw') return;
    this.#thawed.set(effect.model, now());
    for (const id of effect.tickets) {
      const { engine } = book.ticket(id);
      const kind = engine && theatre.engine(engine).phase.kind;
      must(kind === 'awake', `${id} is to go on, and its engine is ${kind}`);
    }
  }

  settled(): void {
    const { book, theatre } = this.#scene;
    for (const { id, model, engine } of book.frozen.values()) {
      must(engine !== undefined, `${id} has no engine`);
      const { phase } = theatre.engine(engine);
      const well = phase.kind === 'falling-asleep' || phase.kind === 'asleep' || phase.kind === 'waking';
      const instead = phase.kind !== 'waking' && well ? phase.instead : undefined;
      must(well && instead === undefined, `${id} stands still for ever: its engine is ${phase.kind}`);
      const { frozen, lane, part } = memberOf(this.#scene, model);
      must(frozen.has(id), `${id} is not told that it does not go on`);
      must(lane.length > 0 && part.kind !== 'on', `${id} stands still while ${model} is ${part.kind}`);
    }
  }

  rested(): void {
    must(this.#scene.book.frozen.size === 0, 'a request stands still for ever');
  }
}
