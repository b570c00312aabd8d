import type { ModelId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { isHealthy } from '../plan.ts';
import { must } from '../violation.ts';
import { describe, isKept, ROUNDING, type Checker, type Scene } from './checker.ts';

/**
 * A stage with nothing to do goes home when it is time and at no other, and gives way at once to whoever is asked for. A start that nobody waits for is let
 * finish or called off, as the config says.
 */
export class LeisureChecker implements Checker {
  readonly #scene: Scene;
  #busyUntil = 0;
  #wasBusy = false;
  /** Whether the idle target has been on since the last that was busy; it may have gone deeper by its own idleness after that. */
  #wasHome = false;
  /** Whether this is about another config, for which a start may have to begin again. */
  #revised = false;
  /** Who was coming when the step before this one ended. */
  readonly #coming = new Set<ModelId>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(event: StageEvent): void {
    this.#revised = event.kind === 'models-set';
    // Its start has failed, and it comes again once others have made more room: until then it has not begun.
    for (const model of this.#coming) {
      const kind = this.#scene.theatre.stage.members.get(model)?.part.kind;
      const hasFailed = event.kind === 'engine-moved' && event.model === model;
      // Out at once where those who waited for it run out of time as that happens.
      if (kind === 'summoned' || (kind === 'out' && hasFailed)) this.#coming.delete(model);
    }
    if (this.#wasBusy || event.kind === 'handed-over') this.#busyUntil = this.#scene.now();
  }

  effect(effect: StageEffect): void {
    if (effect.kind !== 'tell') return;
    const { fact } = effect;
    const { cancels } = this.#scene.plan.extras;
    if (fact.kind === 'swap-planned' && fact.waiting === 0) this.#goesHome(fact.to, fact.from);
    if (fact.kind === 'swap-finished' && fact.record.result === 'withdrawn')
      must(
        cancels || this.#revised || !this.#coming.has(fact.record.to),
        `the start of ${fact.record.to} was called off`,
      );
  }

  settled(): void {
    const { theatre, book, plan } = this.#scene;
    const { idleTarget } = plan.extras;
    this.#wasBusy = book.anyoneWaits || book.open.size > 0;
    if (this.#wasBusy) this.#wasHome = false;
    // The config may have it no more.
    else if (idleTarget !== undefined)
      this.#wasHome ||= theatre.stage.members.get(idleTarget.model)?.part.kind === 'on';
    this.#coming.clear();
    for (const [model, { part, swap, lane }] of theatre.stage.members) {
      if (part.kind === 'entering') this.#coming.add(model);
      const forNobody = lane.length === 0 && (swap?.unasked !== true || book.anyoneWaits);
      if (part.kind === 'summoned') must(!forNobody, `${model} is summoned and nobody waits for it`);
      if (part.kind === 'entering' && plan.extras.cancels) must(!forNobody, `${model} starts and nobody waits for it`);
    }
  }

  rested(): void {
    const { plan, theatre, closingAt } = this.#scene;
    const target = plan.extras.idleTarget;
    if (target === undefined || !isHealthy(plan) || closingAt !== undefined) return;
    must(theatre.stage.mode.kind === 'manual' || this.#wasHome, () => `nobody went home: ${describe(this.#scene)}`);
  }

  #goesHome(model: ModelId, from: readonly ModelId[]): void {
    const { plan, theatre, book, now } = this.#scene;
    const target = plan.extras.idleTarget;
    must(target?.model === model, `${model} was summoned and nobody waits for it`);
    must(!book.anyoneWaits && book.open.size === 0, `${model} is to be home, and there is something to do`);
    const idle = now() - this.#busyUntil + ROUNDING;
    must(idle >= target.afterMs, `${model} is to be home after ${idle} of ${target.afterMs} ms`);
    must(theatre.stage.mode.kind === 'auto', `${model} is to be home in manual mode`);
    for (const other of [model, ...from]) must(!isKept(this.#scene, other), `${other} is an operator's to move`);
  }
}
