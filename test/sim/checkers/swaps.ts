import type { ModelId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import type { SwapRecord } from '../../../src/core/swap.ts';
import { must } from '../violation.ts';
import { ROUNDING, type Checker, type Scene } from './checker.ts';

/** Every swap that was planned is finished once, and its record adds up. */
export class SwapsChecker implements Checker {
  readonly #scene: Scene;
  readonly #open = new Map<number, { readonly to: ModelId; readonly at: number }>();
  #last = 0;
  #hasLetGo = false;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Whoever takes over knows of none of them. */
  handled(event: StageEvent): void {
    if (event.kind === 'let-go') this.#hasLetGo = true;
  }

  effect(effect: StageEffect): void {
    if (effect.kind !== 'tell') return;
    const { fact } = effect;
    if (fact.kind === 'swap-finished') this.#finished(fact.record);
    if (fact.kind !== 'swap-planned') return;
    must(!this.#scene.theatre.standsStill, `${fact.to} is called, and another catnap is to have the engines`);
    must(fact.swap === this.#last + 1, `swap ${fact.swap} follows ${this.#last}`);
    for (const { to } of this.#open.values()) must(to !== fact.to, `${fact.to} is summoned twice`);
    this.#last = fact.swap;
    this.#open.set(fact.swap, { to: fact.to, at: this.#scene.now() });
  }

  settled(): void {
    if (this.#hasLetGo) this.rested();
  }

  rested(): void {
    must(this.#open.size === 0, `swaps ${[...this.#open.keys()].join(', ')} were never finished`);
  }

  #finished(record: SwapRecord): void {
    const planned = this.#open.get(record.id);
    must(planned !== undefined, `swap ${record.id} was finished twice or never planned`);
    this.#open.delete(record.id);
    const { startedAt, totalMs, overheadMs, legs } = record;
    const spent = Object.values(legs);
    const inLegs = spent.reduce((sum, ms) => sum + ms, 0);
    const numbers = (): string => `swap ${record.id} does not add up: ${JSON.stringify({ legs, totalMs, overheadMs })}`;
    must(startedAt === planned.at && record.to === planned.to, `swap ${record.id} is not the one that was planned`);
    must(Math.abs(this.#scene.now() - startedAt - totalMs) < ROUNDING, numbers);
    must(spent.every((ms) => ms >= -ROUNDING) && inLegs <= totalMs + ROUNDING, numbers);
    must(Math.abs(totalMs - inLegs - overheadMs) < ROUNDING, numbers);
  }
}
