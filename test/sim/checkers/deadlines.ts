import { atLeast } from '../../../src/core/costs.ts';
import type { ModelId, TicketId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { memberOf, ROUNDING, type Checker, type Scene } from './checker.ts';

/**
 * A request that says how long it waits is not served later than that. It is refused before only when what was seen says that its model cannot come in
 * time; and nobody is put away for those who are too late whatever happens.
 */
export class DeadlinesChecker implements Checker {
  readonly #scene: Scene;
  readonly #deadlines = new Map<TicketId, number>();
  /** The longest that was seen of a way in, and of a way out of anybody. */
  readonly #longestIn = new Map<ModelId, number>();
  #longestOut = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
    // What those before have learned is handed over.
    for (const { model, costs } of scene.theatre.stage.members.values()) {
      for (const [leg, estimate] of Object.entries(costs.save())) {
        const ms = typeof estimate === 'object' && 'ms' in estimate ? estimate.ms : 0;
        if (leg.startsWith('come')) this.#longestIn.set(model, Math.max(ms, this.#longestIn.get(model) ?? 0));
        if (leg.startsWith('go')) this.#longestOut = Math.max(ms, this.#longestOut);
      }
    }
  }

  handled(event: StageEvent): void {
    if (event.kind === 'ticket-arrived' && event.terms?.withinMs !== undefined)
      this.#deadlines.set(event.ticket, this.#scene.now() + event.terms.withinMs);
    if (event.kind !== 'engine-moved' || event.took === undefined) return;
    const ms = event.took.actMs + event.took.proofMs;
    if (event.phase.kind === 'awake')
      this.#longestIn.set(event.model, Math.max(ms, this.#longestIn.get(event.model) ?? 0));
    else this.#longestOut = Math.max(ms, this.#longestOut);
  }

  effect(effect: StageEffect): void {
    if (effect.kind === 'tell' && effect.fact.kind === 'swap-planned' && effect.fact.from.length > 0)
      this.#isForSomebody(effect.fact.to, effect.fact.from);
    if (effect.kind !== 'grant' && effect.kind !== 'reject') return;
    const deadline = this.#deadlines.get(effect.ticket);
    if (deadline === undefined) return;
    const leftMs = deadline - this.#scene.now();
    if (effect.kind === 'grant') must(leftMs >= -ROUNDING, `${effect.ticket} is served ${-leftMs} ms too late`);
    if (effect.kind !== 'reject' || effect.code !== 'wait_timeout') return;
    const { jumps, lateTimersMs } = this.#scene.plan;
    must(jumps > 0 || leftMs >= -lateTimersMs - ROUNDING, `${effect.ticket} is told ${-leftMs} ms after its deadline`);
    if (!effect.reason.includes('hardly less')) return;
    const longest = (this.#longestIn.get(effect.model) ?? 0) + this.#longestOut;
    must(leftMs <= longest + ROUNDING, `${effect.ticket} is refused with ${leftMs} ms left, and ${longest} would do`);
  }

  settled(): void {
    if (this.#deadlines.size === 0) return;
    for (const model of this.#scene.theatre.stage.members.keys())
      for (const { id, kind } of this.#scene.book.waiting(model)) {
        // One that was suspended had its turn.
        if (kind === 'frozen') continue;
        const deadline = this.#deadlines.get(id) ?? Number.POSITIVE_INFINITY;
        must(this.#scene.now() <= deadline + ROUNDING, `${id} still waits after its deadline`);
      }
  }

  /** One at least of those who wait for it can be served by then, as far as is known. */
  #isForSomebody(to: ModelId, from: readonly ModelId[]): void {
    const { costs, level } = memberOf(this.#scene, to);
    const waiting = this.#scene.book.waiting(to);
    if (waiting.length === 0) return;
    const goes = from.map((model) => memberOf(this.#scene, model)).map((one) => atLeast(one.costs.go(one.sleepLevel)));
    const goMs = this.#scene.plan.memory === undefined ? Math.max(...goes) : 0;
    const readyAt = this.#scene.now() + goMs + atLeast(costs.come(level));
    const inTime = waiting.some(
      ({ id, kind }) => kind !== 'request' || (this.#deadlines.get(id) ?? Number.POSITIVE_INFINITY) >= readyAt,
    );
    must(inTime, `${from.join()} has to go for ${to}, and whoever waits for that is too late`);
  }
}
