import type { Fact } from '../../../src/core/facts.ts';
import { after, type Millis, type ModelId } from '../../../src/core/kinds.ts';
import type { Member } from '../../../src/core/member.ts';
import type { StageEffect } from '../../../src/core/stage-events.ts';
import type { SwapRecord } from '../../../src/core/swap.ts';
import { comesFirst, type Ticket } from '../book.ts';
import { must } from '../violation.ts';
import { inPause, loadWaits, memberOf, ROUNDING, roomOf, trulyAtRest, type Checker, type Scene } from './checker.ts';

type Planned = Extract<Fact, { readonly kind: 'swap-planned' }>;

/**
 * Priorities and swaps that are worth more make others wait, and starve nobody: once somebody has waited for `max_wait_secs`, counted from when the
 * request counts as having come, no other model is called whose first request counts as having come later. Under `slack` whatever counts as
 * having come before the last turn of its model ended counts as having come then: so nobody has two turns before another has one.
 */
export class OvertakingChecker implements Checker {
  readonly #scene: Scene;
  /** Who could have been called when the step before this one ended. */
  readonly #able = new Set<ModelId>();
  /** Who has a turn, and when the last turns of the others ended. */
  readonly #onStage = new Set<Member>();
  readonly #leftAt = new WeakMap<Member, Millis>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(): void {
    for (const member of this.#scene.theatre.stage.members.values()) {
      const isOn = member.part.kind === 'on' || member.part.kind === 'draining';
      if (isOn) this.#onStage.add(member);
      else if (this.#onStage.delete(member)) this.#leftAt.set(member, this.#scene.now());
    }
  }

  effect(effect: StageEffect): void {
    if (effect.kind === 'tell' && effect.fact.kind === 'swap-finished') this.#mayBeShort(effect.fact.record);
    if (effect.kind === 'tell' && effect.fact.kind === 'swap-planned') this.#isFair(effect.fact);
  }

  settled(): void {
    this.#able.clear();
    for (const model of this.#scene.theatre.stage.members.keys()) if (this.#isAble(model)) this.#able.add(model);
  }

  #isFair({ to }: Planned): void {
    const { plan, book, now } = this.#scene;
    const called = book.first(to);
    // Whoever needs no room stands in nobody's way.
    if (called === undefined || roomOf(memberOf(this.#scene, to)) === 0) return;
    // `fifo` has nothing to wait for.
    const maxWaitMs = plan.policy === 'fifo' ? 0 : plan.terms.maxWaitMs;
    for (const model of this.#able) {
      const first = this.#first(model);
      if (model === to || first === undefined || !this.#isAble(model)) continue;
      const late = after(first.rank, maxWaitMs) <= now() - ROUNDING;
      must(
        !late || this.#isBefore(to, called, model, first),
        `${to} was called before ${model}, where ${first.id} is late already`,
      );
    }
  }

  /** A turn that nobody waited for any more may be over in the step in which it began. */
  #mayBeShort({ to, result }: SwapRecord): void {
    const member = this.#scene.theatre.stage.members.get(to);
    if (result === 'done' && member !== undefined && !this.#onStage.has(member))
      this.#leftAt.set(member, this.#scene.now());
  }

  #isBefore(called: ModelId, first: Ticket, model: ModelId, other: Ticket): boolean {
    if (this.#scene.plan.policy !== 'slack') return comesFirst(first, other);
    return this.#awaySince(called, first) <= this.#awaySince(model, other) + ROUNDING;
  }

  #awaySince(model: ModelId, { rank }: Ticket): number {
    return Math.max(rank, this.#leftAt.get(memberOf(this.#scene, model)) ?? rank);
  }

  #isAble(model: ModelId): boolean {
    const member = this.#scene.theatre.stage.members.get(model);
    if (member?.part.kind !== 'out' || this.#first(model) === undefined) return false;
    return trulyAtRest(this.#scene, member) && (!inPause(this.#scene, member) || loadWaits(this.#scene, model));
  }

  /** Those who would have nobody put away wait for room as it comes. */
  #first(model: ModelId): Ticket | undefined {
    return this.#scene.book.waiting(model).find(({ bound }) => !bound);
  }
}
