import type { ModelId, TicketId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { isHealthy } from '../plan.ts';
import { must } from '../violation.ts';
import { planOf, ROUNDING, type Checker, type Scene } from './checker.ts';

type Grant = Extract<StageEffect, { readonly kind: 'grant' }>;

const HOUR = 3_600_000;

/** Nobody is sent away early or late: patience runs except while the request's own model is on its way, and that is bounded too. */
export class PatienceChecker implements Checker {
  readonly #scene: Scene;
  /** Per model, for how long it has not been entering. */
  readonly #ran = new Map<ModelId, number>();
  readonly #enteringSince = new Map<ModelId, number>();
  readonly #startedAt = new Map<TicketId, number>();
  readonly #ownDeadline = new Set<TicketId>();
  #last = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(event: StageEvent): void {
    const now = this.#scene.now();
    for (const [model, { part }] of this.#scene.theatre.stage.members) {
      if (!this.#enteringSince.has(model)) this.#ran.set(model, this.#ranFor(model) + now - this.#last);
      if (part.kind !== 'entering') this.#enteringSince.delete(model);
      else if (!this.#enteringSince.has(model)) this.#enteringSince.set(model, now);
    }
    this.#last = now;
    if (event.kind !== 'ticket-arrived') return;
    this.#startedAt.set(event.ticket, this.#ranFor(event.model));
    if (event.terms?.withinMs !== undefined) this.#ownDeadline.add(event.ticket);
  }

  effect(effect: StageEffect): void {
    if (effect.kind === 'grant') this.#saysHowLong(effect);
    if (effect.kind !== 'reject' || effect.code !== 'wait_timeout' || this.#ownDeadline.has(effect.ticket)) return;
    const { patienceMs } = planOf(this.#scene, effect.model).terms;
    const waited = this.#waited(effect.model, effect.ticket);
    must(waited >= patienceMs - ROUNDING, `${effect.ticket} was sent away after ${waited} of ${patienceMs} ms`);
    const starved = patienceMs >= HOUR && isHealthy(this.#scene.plan) && this.#scene.plan.endless === 0;
    must(!starved, `${effect.ticket} got no turn in an hour of a healthy world`);
  }

  settled(): void {
    for (const [model] of this.#scene.theatre.stage.members) {
      const { patienceMs } = planOf(this.#scene, model).terms;
      for (const { id, kind } of this.#scene.book.waiting(model)) {
        const waited = kind === 'request' ? this.#waited(model, id) : 0;
        must(waited <= patienceMs + ROUNDING, `${id} still waits after ${waited} of ${patienceMs} ms`);
      }
      const since = this.#enteringSince.get(model);
      if (since !== undefined) this.#entersInTime(model, since);
    }
  }

  #saysHowLong({ ticket, model, waitedMs, enteringMs }: Grant): void {
    const waited = this.#scene.now() - this.#scene.book.ticket(ticket).since;
    const entering = waited - this.#waited(model, ticket);
    must(
      Math.abs(waitedMs - waited) < ROUNDING,
      `${ticket} waited ${waited} ms and is said to have waited ${waitedMs}`,
    );
    must(Math.abs(enteringMs - entering) < ROUNDING, `${ticket} is said to have waited ${enteringMs} ms for its model`);
  }

  /** Starting is bounded by the engine's own limits, however often it fails. */
  #entersInTime(model: ModelId, since: number): void {
    const { rules, terms } = planOf(this.#scene, model);
    const { limits, restart, stopAgainMs } = rules;
    const once = limits.start + limits.wake + restart.longestDelayMs + 5 * (limits.stop + stopAgainMs);
    const bound = (restart.crashesBeforeGivingUp + 2) * terms.engines.length * once;
    const entering = this.#scene.now() - since;
    must(entering <= bound + this.#scene.plan.jumps * HOUR, `${model} has been entering for ${entering} ms`);
  }

  #waited(model: ModelId, ticket: TicketId): number {
    return this.#ranFor(model) - (this.#startedAt.get(ticket) ?? 0);
  }

  #ranFor(model: ModelId): number {
    return this.#ran.get(model) ?? 0;
  }
}
