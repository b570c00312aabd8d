import { isDeeper } from '../../../src/core/depth.ts';
import type { Fact } from '../../../src/core/facts.ts';
import type { Millis, ModelId } from '../../../src/core/kinds.ts';
import type { Member } from '../../../src/core/member.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { describe, isKept, memberOf, ROUNDING, trulyAtRest, type Checker, type Scene } from './checker.ts';

type HandedOver = Extract<StageEvent, { readonly kind: 'handed-over' }>;
type Demoted = Extract<Fact, { readonly kind: 'model-demoted' }>;

/** Who has nothing to do goes deeper when it is time, and nobody else does: no request and no swap is ever disturbed by it. */
export class DemotionChecker implements Checker {
  readonly #scene: Scene;
  /** When each model was last known to be of use, and when anything was last asked of it. */
  readonly #used = new Map<ModelId, Millis>();
  readonly #touched = new Map<ModelId, Millis>();
  /** Since when each has been on that is. */
  readonly #onSince = new Map<ModelId, Millis>();

  /** Who went deeper in this step since sleepers may hold no more host memory. */
  readonly #madeRoom = new Set<ModelId>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(event: StageEvent, effects: readonly StageEffect[]): void {
    this.#madeRoom.clear();
    for (const effect of effects)
      if (effect.kind === 'tell' && effect.fact.kind === 'host-memory-short') this.#madeRoom.add(effect.fact.model);
    const now = this.#scene.now();
    if (event.kind === 'handed-over') this.#handedOver(event, now);
    if (!('model' in event)) return;
    this.#touched.set(event.model, now);
    if (event.kind === 'lease-settled') this.#used.set(event.model, now);
  }

  effect(effect: StageEffect): void {
    const now = this.#scene.now();
    if (effect.kind === 'grant') this.#used.set(effect.model, now);
    if (effect.kind === 'tell' && effect.fact.kind === 'model-demoted') this.#demoted(effect.fact);
  }

  settled(): void {
    const now = this.#scene.now();
    const { members } = this.#scene.theatre.stage;
    for (const model of members.keys()) if (this.#isBusy(model)) this.#used.set(model, now);
    for (const { model, part } of members.values()) if (part.kind === 'on') this.#onSince.set(model, part.since);
    if (this.#scene.closingAt !== undefined || this.#scene.theatre.standsStill) return;
    for (const member of members.values()) {
      const { model, part, terms } = member;
      const [first] = terms.demote ?? [];
      if (part.kind !== 'on' || first === undefined || this.#isBusy(model) || this.#stays(member)) continue;
      const from =
        Math.max(this.#touched.get(model) ?? 0, part.since) + Math.max(first.afterMs, this.#scene.plan.minActiveMs);
      must(now < from + ROUNDING, `${model} has had nothing to do since ${this.#touched.get(model)} and is still on`);
    }
  }

  rested(): void {
    if (this.#scene.closingAt !== undefined) return;
    for (const member of this.#scene.theatre.stage.members.values()) {
      const last = member.terms.demote?.at(-1);
      if (last === undefined || this.#stays(member)) continue;
      must(member.part.kind === 'out', `${member.model} is ${member.part.kind} for ever, and has nothing to do`);
      const asDeep = member.gone || !isDeeper(last.level, member.lightest);
      must(asDeep, `${member.model} sleeps at level ${member.lightest} for ever, and should go to ${last.level}`);
    }
  }

  #handedOver({ models }: HandedOver, now: Millis): void {
    for (const { terms, onSince, quietSince = now } of models) {
      this.#touched.set(terms.model, quietSince);
      this.#used.set(terms.model, quietSince);
      if (onSince !== undefined) this.#onSince.set(terms.model, onSince);
    }
  }

  #demoted({ model, from, to, idleMs }: Demoted): void {
    const { theatre, now } = this.#scene;
    const member = memberOf(this.#scene, model);
    must(!theatre.standsStill, `${model} is put to level ${to}, and another catnap is to have it`);
    must(!this.#isBusy(model), `${model} is put to level ${to} and has something to do`);
    must(!this.#stays(member), `${model} is put to level ${to} against an operator`);
    const step = member.terms.demote?.find(({ level }) => level === to);
    must(step !== undefined, `${model} is put to level ${to}, which nobody said`);
    const quiet = now() - (this.#used.get(model) ?? 0);
    must(quiet >= step.afterMs - ROUNDING && idleMs >= 0, `${model} is put to level ${to} after ${quiet} ms`);
    if (from === undefined) {
      const on = now() - (this.#onSince.get(model) ?? now());
      const least = Math.max(step.afterMs, this.#scene.plan.minActiveMs);
      must(on >= least - ROUNDING, `${model} is put to level ${to} after it has been on for ${on} ms`);
      return;
    }
    must(isDeeper(to, from), `${model} is put from level ${from} to ${to}`);
    for (const other of theatre.stage.members.values()) {
      if (other === member || this.#madeRoom.has(other.model)) continue;
      const { kind } = other.part;
      const still = kind === 'on' || (kind === 'out' && trulyAtRest(this.#scene, other));
      must(
        still && !(kind === 'out' && this.#waits(other.model)),
        () => `${model} goes deeper and disturbs: ${describe(this.#scene)}`,
      );
    }
  }

  #waits(model: ModelId): boolean {
    return this.#scene.book.waiting(model).length > 0;
  }

  #isBusy(model: ModelId): boolean {
    for (const { model: other } of this.#scene.book.open) if (other === model) return true;
    return this.#waits(model);
  }

  #stays({ model, terms }: Member): boolean {
    const { mode } = this.#scene.theatre.stage;
    return terms.keep === true || isKept(this.#scene, model) || mode.kind === 'manual';
  }
}
