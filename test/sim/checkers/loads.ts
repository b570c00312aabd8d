import type { ModelId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { memberOf, type Checker, type Scene } from './checker.ts';

/** No more models load at a time than may, and whoever is kept goes for nobody. */
export class LoadsChecker implements Checker {
  readonly #scene: Scene;
  readonly #wasOn = new Set<ModelId>();
  /** Brought back in their turn, which waits for no place. */
  readonly #broughtBack = new Set<ModelId>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(_event: StageEvent): void {
    let loading = 0;
    for (const [model, { part, terms }] of this.#scene.theatre.stage.members) {
      if (part.kind !== 'entering') this.#broughtBack.delete(model);
      else if (this.#wasOn.has(model)) this.#broughtBack.add(model);
      if (part.kind === 'on') this.#wasOn.add(model);
      else this.#wasOn.delete(model);
      if (part.kind === 'entering' && terms.cost > 0 && !this.#broughtBack.has(model)) loading++;
    }
    const { mostLoads } = this.#scene.plan;
    must(loading <= mostLoads, () => `${loading} load at a time, and ${mostLoads} may`);
  }

  effect(effect: StageEffect): void {
    if (effect.kind !== 'tell' || effect.fact.kind !== 'swap-planned') return;
    const { from, to } = effect.fact;
    const kept = from.find((model) => memberOf(this.#scene, model).terms.keep === true);
    must(kept === undefined, `${kept} is kept, and has to make room for ${to}`);
  }
}
