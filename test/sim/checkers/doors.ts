import type { ModelId, TicketId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { isKept, loadWaits, memberOf, type Checker, type Scene } from './checker.ts';

/** What operators keep to themselves stays with them: requests bring in no model that is kept, held, or out in manual mode. */
export class DoorsChecker implements Checker {
  readonly #scene: Scene;
  /** Kept by an unload for good, until the next load. */
  readonly #held = new Set<ModelId>();
  /** Why swaps are in manual mode: somebody said so, or these orders have not failed. */
  #saidManual = false;
  readonly #pins = new Set<TicketId>();
  #wasManual = false;
  /** Who was on when the step before this one ended. */
  readonly #on = new Set<ModelId>();
  /** Who is to start and not to wake. */
  readonly #fresh = new Set<ModelId>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(event: StageEvent, effects: readonly StageEffect[]): void {
    if (event.kind === 'handed-over') this.#handedOver(event);
    if (event.kind === 'mode-set') {
      this.#pins.clear();
      this.#saidManual = event.mode === 'manual';
    }
    const isThere = 'model' in event && this.#scene.theatre.stage.members.has(event.model);
    if (event.kind === 'unload-asked' && event.hold && isThere) this.#held.add(event.model);
    const refused = effects.some(
      (effect) => effect.kind === 'reject' && 'order' in event && effect.ticket === event.order,
    );
    if (event.kind === 'load-asked' && !refused) this.#load(event);
    for (const effect of effects) if (effect.kind === 'reject') this.#pins.delete(effect.ticket);
    const { mode } = this.#scene.theatre.stage;
    must(
      mode.kind === 'auto' || this.#saidManual || this.#pins.size > 0,
      'swaps are in manual mode, and nobody wants it',
    );
    if (event.kind === 'mode-set') must(mode.kind === event.mode, `the mode is ${mode.kind}, not ${event.mode}`);
    this.#wasManual = mode.kind === 'manual';
  }

  effect(effect: StageEffect): void {
    if (effect.kind === 'set-goal' && effect.goal.kind === 'awake') {
      this.#startsAfresh(effect.engine);
      this.#comesBack(effect.engine);
    }
    if (effect.kind === 'tell' && effect.fact.kind === 'model-forgotten') {
      for (const set of [this.#held, this.#fresh, this.#on]) set.delete(effect.fact.model);
    }
    if (effect.kind !== 'tell' || effect.fact.kind !== 'swap-planned') return;
    const { to } = effect.fact;
    must(!this.#isKept(to) || loadWaits(this.#scene, to), `${to} is brought in, which only an operator may do`);
  }

  settled(): void {
    for (const { terms } of this.#scene.plan.models) {
      const { model } = terms;
      const member = this.#scene.theatre.stage.members.get(model);
      if (member === undefined) continue;
      const { part, held } = member;
      if (part.kind === 'on') this.#on.add(model);
      else this.#on.delete(model);
      must(held === this.#held.has(model), `${model} is ${held ? '' : 'not '}held`);
      const waits = this.#scene.book.waiting(model).length > 0 && !loadWaits(this.#scene, model);
      must(
        part.kind !== 'out' || !waits || !this.#isKept(model),
        `somebody waits for ${model}, which nobody brings in`,
      );
    }
  }

  #handedOver({ mode, models }: Extract<StageEvent, { readonly kind: 'handed-over' }>): void {
    this.#saidManual = mode.kind === 'manual';
    const { kind } = this.#scene.theatre.stage.mode;
    must(kind === mode.kind, `the mode is ${kind}, and was ${mode.kind} before others had the engines`);
    for (const { terms, held } of models) if (held) this.#held.add(terms.model);
  }

  #load({ model, order, as, fresh }: Extract<StageEvent, { readonly kind: 'load-asked' }>): void {
    this.#held.delete(model);
    if (as === 'pin' || (as === 'switch' && this.#wasManual)) this.#pins.add(order);
    const { part } = memberOf(this.#scene, model);
    if (fresh && (part.kind === 'out' || part.kind === 'leaving')) this.#fresh.add(model);
  }

  #startsAfresh(engine: string): void {
    for (const model of this.#fresh) {
      const { terms } = memberOf(this.#scene, model);
      if (!terms.engines.some((own) => own === engine)) continue;
      this.#fresh.delete(model);
      for (const own of terms.engines) {
        const { kind } = this.#scene.theatre.engine(own).phase;
        must(kind !== 'asleep', `${own} is woken, and was to be started afresh`);
      }
    }
  }

  /** Who died in its turn is brought back by those who wait for it, but not where only operators bring it in. */
  #comesBack(engine: string): void {
    const owner = this.#scene.plan.models.find(({ terms }) => terms.engines.some((own) => own === engine));
    if (owner === undefined || !this.#on.has(owner.terms.model)) return;
    must(!isKept(this.#scene, owner.terms.model), `${engine} is brought back, which only an operator may do`);
  }

  #isKept(model: ModelId): boolean {
    const { mode } = this.#scene.theatre.stage;
    const manual = mode.kind === 'manual' && mode.pinned !== model && memberOf(this.#scene, model).terms.cost > 0;
    return manual || isKept(this.#scene, model);
  }
}
