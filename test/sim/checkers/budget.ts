import type { Engine } from '../../../src/core/engine.ts';
import type { EngineId, ModelId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { describe, memberOf, roomOf, sharedOf, takenBy, trulyAtRest, type Checker, type Scene } from './checker.ts';

/** The budget holds at every moment, and nobody is let at an engine that is not awake or has enough to do. */
export class BudgetChecker implements Checker {
  readonly #scene: Scene;
  /** Engines that may hold memory: from the start or the waking until it is proven that they do not. Ending a sleeper takes none. */
  readonly #holding = new Set<EngineId>();

  /** Who has had room since the step before. */
  #inside: ReadonlySet<ModelId> = new Set();
  /** Who came in while others still left, of which the stage has to tell. */
  #overlaps: ModelId | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(event: StageEvent): void {
    if (event.kind !== 'handed-over') return;
    const { theatre } = this.#scene;
    for (const engine of theatre.engines) if (!theatre.atRest(engine)) this.#holding.add(engine);
    this.#inside = new Set(event.models.flatMap(({ terms, onSince }) => (onSince === undefined ? [] : [terms.model])));
  }

  effect(effect: StageEffect): void {
    this.#holds();
    if (effect.kind === 'tell' && effect.fact.kind === 'swap-overlaps') this.#overlaps = undefined;
    if (effect.kind === 'set-goal' && effect.goal.kind === 'awake') this.#comesIn(effect.engine);
    if (effect.kind !== 'grant') return;
    const { theatre, book } = this.#scene;
    const { ticket, model, engine } = effect;
    const { phase } = theatre.engine(engine);
    const { terms } = memberOf(this.#scene, model);
    must(phase.kind === 'awake', `${ticket} was granted on ${engine}, which is ${phase.kind}`);
    must(terms.engines.includes(engine), `${engine} does not serve ${model}`);
    must(book.openOn(engine) < terms.targetInflight, `${engine} was given more than target_inflight`);
  }

  stepped(engine: EngineId, _before: Engine, { phase }: Engine): void {
    if (phase.kind === 'starting' || phase.kind === 'waking') this.#holding.add(engine);
    if (this.#scene.theatre.atRest(engine)) this.#holding.delete(engine);
    this.#holds();
  }

  settled(): void {
    this.#holds();
    must(this.#overlaps === undefined, `${this.#overlaps} comes in while others still leave, and nobody is told`);
    const { members } = this.#scene.theatre.stage;
    const inside = [...members].filter(([, { part }]) => part.kind !== 'out' && part.kind !== 'summoned');
    this.#inside = new Set(inside.map(([model]) => model));
  }

  /** Nobody comes in before the room is proven free: then not even a sleeper that is being cleared away may be in it. */
  #comesIn(engine: EngineId): void {
    const { theatre, plan } = this.#scene;
    const members = [...theatre.stage.members.values()];
    const comer = members.find(({ terms }) => terms.engines.includes(engine));
    if (comer === undefined || roomOf(comer) === 0 || this.#inside.has(comer.model)) return;
    let room = sharedOf(plan) - roomOf(comer);
    for (const other of members) {
      const { kind } = other.part;
      // One that is told to go deeper in the same turn, but after this one has come in, was at rest then.
      const away = kind === 'out' || kind === 'summoned' || (kind === 'leaving' && !this.#inside.has(other.model));
      if (other !== comer && !(away && trulyAtRest(this.#scene, other))) room -= roomOf(other);
    }
    must(!theatre.standsStill, `${comer.model} comes in, and another catnap is to have the engines`);
    if (room >= 0) return;
    must(plan.memory !== undefined, () => `${comer.model} comes in without room: ${describe(this.#scene)}`);
    this.#overlaps = comer.model;
  }

  #holds(): void {
    const { theatre, plan } = this.#scene;
    let taken = 0;
    for (const member of theatre.stage.members.values()) {
      const { kind } = member.part;
      // What those really hold who leave is looked at where others may come in beside them.
      if (plan.memory !== undefined && kind === 'leaving') continue;
      const comes = kind === 'entering' || kind === 'on' || kind === 'draining';
      const holding = member.terms.engines.filter((engine, replica) => {
        return this.#holding.has(engine) || (comes && replica < member.replicas);
      });
      taken += takenBy(member, holding.length);
    }
    must(taken <= plan.capacity, () => `${taken} of ${plan.capacity} are taken: ${describe(this.#scene)}`);
  }
}
