import type { EngineId, ModelId, TicketId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { isKept, type Checker, type Scene } from './checker.ts';

type Revised = Extract<StageEvent, { readonly kind: 'models-set' }>;

/** Another config touches only what it changes: nobody is cut for it, nobody hangs, and whoever asks after it gets what it says. */
export class RevisionChecker implements Checker {
  readonly #scene: Scene;
  /** Engines that are of an earlier config, by the birth of their processes. */
  readonly #old = new Map<EngineId, number>();
  /** Requests that came when their model was to start anew before it serves anybody else. */
  readonly #late = new Map<TicketId, Map<EngineId, number>>();
  #models: ReadonlySet<ModelId>;
  #changed: ReadonlySet<ModelId> = new Set();

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#models = new Set(scene.plan.models.map(({ terms }) => terms.model));
  }

  handled(event: StageEvent, effects: readonly StageEffect[]): void {
    this.#changed = new Set();
    if (event.kind === 'models-set' && this.#scene.closingAt === undefined) this.#revised(event, effects);
    if (event.kind === 'handed-over') this.#handedOver(event);
    if (event.kind === 'ticket-arrived' && event.terms?.place === undefined)
      this.#arrived(event.ticket, event.model, effects);
  }

  effect(effect: StageEffect): void {
    if (effect.kind === 'dismissed') {
      for (const engine of effect.engines) {
        const { kind } = this.#scene.theatre.engine(engine).phase;
        must(kind === 'off' || kind === 'failed', `${engine} is dismissed and is ${kind}`);
        must(!this.#scene.lives(engine), `${engine} is dismissed and lives`);
        must(this.#scene.book.openOn(engine) === 0, `${engine} is dismissed under a lease`);
        // One that has its name later is another, and its processes are counted anew.
        for (const old of [this.#old, ...this.#late.values()]) old.delete(engine);
      }
    }
    if (effect.kind !== 'grant') return;
    const { born } = this.#scene.theatre.engine(effect.engine);
    const old = this.#late.get(effect.ticket)?.get(effect.engine);
    must(old !== born, `${effect.ticket} came after a change and is served as before it`);
  }

  settled(): void {
    const { theatre, book } = this.#scene;
    for (const [model, member] of theatre.stage.members) {
      must(!member.stale || !member.gone, `${model} is to start anew and has nothing to end`);
      if (!member.departs) continue;
      must(book.waiting(model).length === 0, `somebody waits for ${model}, which the config has no more`);
      const { kind } = member.part;
      must(kind === 'draining' || kind === 'leaving' || kind === 'out', `${model} is to leave for good and is ${kind}`);
    }
    for (const model of this.#models) must(theatre.stage.members.has(model), `${model} is in the config and not there`);
  }

  /** Whether they are those of a model that was put away with them, and that no request brings back any more. */
  #isShutOut({ tickets, model }: Extract<StageEffect, { readonly kind: 'cut' }>): boolean {
    const { book } = this.#scene;
    return isKept(this.#scene, model) && tickets.every((ticket) => book.frozen.has(ticket));
  }

  rested(): void {
    if (this.#scene.closingAt !== undefined) return;
    for (const [model, { departs }] of this.#scene.theatre.stage.members)
      must(!departs, `${model} never came to be forgotten`);
  }

  #revised({ options, anew }: Revised, effects: readonly StageEffect[]): void {
    const before = this.#models;
    this.#models = new Set(options.models.map(({ model }) => model));
    const removed = [...before].filter((model) => !this.#models.has(model));
    this.#changed = new Set([...anew, ...removed]);
    for (const effect of effects) {
      if (effect.kind !== 'cut') continue;
      const part = this.#scene.theatre.stage.members.get(effect.model)?.part;
      const overdue = part?.kind === 'draining' && part.deadline <= this.#scene.now();
      must(
        overdue || this.#changed.has(effect.model) || !this.#scene.plan.drains || this.#isShutOut(effect),
        `a stream of ${effect.model} is cut for nothing`,
      );
    }
    for (const model of this.#changed) {
      for (const engine of this.#scene.theatre.stage.members.get(model)?.terms.engines ?? []) {
        this.#old.set(engine, this.#scene.theatre.engine(engine).born);
      }
    }
  }

  #handedOver({ anew, models }: Extract<StageEvent, { readonly kind: 'handed-over' }>): void {
    const { theatre } = this.#scene;
    const members = [...theatre.stage.members.values()];
    this.#models = new Set(members.flatMap(({ model, departs }) => (departs ? [] : [model])));
    const old = new Set([...anew, ...models.flatMap(({ terms, stale }) => (stale ? [terms.model] : []))]);
    for (const { model, terms } of members)
      if (old.has(model)) for (const engine of terms.engines) this.#old.set(engine, theatre.engine(engine).born);
  }

  #arrived(ticket: TicketId, model: ModelId, effects: readonly StageEffect[]): void {
    const member = this.#scene.theatre.stage.members.get(model);
    if (member === undefined || member.departs) {
      must(
        effects.some((effect) => effect.kind === 'reject' && effect.ticket === ticket),
        `${ticket} asks for ${model}, which the config has no more, and is not told`,
      );
      return;
    }
    const mayComeBack = this.#scene.theatre.stage.mode.kind === 'auto' && !isKept(this.#scene, model);
    const { theatre, book } = this.#scene;
    const isOld = member.terms.engines.some((engine) => this.#old.get(engine) === theatre.engine(engine).born);
    if (isOld && mayComeBack && !book.ticket(ticket).bound) this.#late.set(ticket, new Map(this.#old));
  }
}
