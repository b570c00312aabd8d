import type { Fact } from '../../../src/core/facts.ts';
import type { ModelId, TicketId } from '../../../src/core/kinds.ts';
import type { Member } from '../../../src/core/member.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { comesFirst, type Ticket } from '../book.ts';
import { must } from '../violation.ts';
import {
  describe,
  loadsAreTaken,
  inPause,
  loadWaits,
  memberOf,
  ROUNDING,
  roomOf,
  sharedOf,
  trulyAtRest,
  type Checker,
  type Scene,
} from './checker.ts';
import { Turns, type Turn } from './turns.ts';

type Planned = Extract<Fact, { readonly kind: 'swap-planned' }>;
type SetGoal = Extract<StageEffect, { readonly kind: 'set-goal' }>;

/**
 * What every policy promises: a closed batch is served and stays closed, every turn serves somebody, nobody moves for nobody, and nobody waits without
 * a moment at which that is looked at again. What `fifo` promises besides: the oldest is next.
 */
export class FairnessChecker implements Checker {
  readonly #scene: Scene;
  readonly #turns: Turns;
  /** Who could have been summoned when the step before this one ended. */
  readonly #able = new Set<ModelId>();
  #isHandedOver = false;
  /** Who was summoned in this step and needs room. */
  #planned: { readonly model: ModelId; readonly first: Ticket }[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#turns = new Turns(scene);
  }

  handled(event: StageEvent, effects: readonly StageEffect[]): void {
    this.#planned = [];
    this.#isHandedOver = event.kind === 'handed-over';
    // What another config changes starts anew before it can come.
    if (event.kind === 'models-set') for (const model of event.anew) this.#able.delete(model);
    this.#turns.handled(event, effects);
  }

  effect(effect: StageEffect): void {
    this.#turns.effect(effect);
    if (effect.kind === 'grant') this.#inBatch(effect.ticket, effect.model);
    if (effect.kind === 'order-done' && this.#scene.book.ticket(effect.order).kind === 'load')
      this.#inOrder(effect.order, effect.model);
    if (effect.kind === 'set-goal') {
      if (effect.goal.kind === 'awake') this.#isWaitedFor(effect);
      else this.#batchWasServed(effect);
    }
    if (effect.kind === 'tell' && effect.fact.kind === 'swap-planned') this.#isDue(effect.fact);
  }

  settled(): void {
    const { theatre } = this.#scene;
    this.#able.clear();
    for (const [model, member] of theatre.stage.members) {
      const away = member.part.kind === 'out' || member.part.kind === 'summoned';
      const startable = trulyAtRest(this.#scene, member) && !this.#pauses(member);
      if (!away || !startable || this.#scene.book.first(model) === undefined) continue;
      // A start that ran out of memory waits for those who make more room, whatever it takes of the budget.
      const heldUp = loadsAreTaken(this.#scene) || member.roomIsComing;
      const waits = roomOf(member) > 0 || theatre.standsStill || (member.part.kind === 'summoned' && heldUp);
      must(waits, `${model} needs no room, and somebody waits for it`);
      this.#able.add(model);
    }
    this.#nobodyWaitsForNothing();
    this.#nobodyGoesForNothing();
  }

  /** Answered in the order of places, as far as they are in the batch. */
  #inOrder(id: TicketId, model: ModelId): Turn | undefined {
    const { book } = this.#scene;
    const turn = this.#turns.get(model);
    const first = book.waiting(model).find((ticket) => turn?.closed?.has(ticket) !== false);
    must(first?.id === id, `${id} was served before ${first?.id}, which came first`);
    return turn;
  }

  #inBatch(id: TicketId, model: ModelId): void {
    const { book, plan, theatre } = this.#scene;
    const ticket = book.ticket(id);
    const closed = this.#turns.get(model)?.closed;
    must(closed === undefined || closed.has(ticket), `${id} was served after the batch of ${model} was closed`);
    const turn = this.#inOrder(id, model);
    must(turn !== undefined, `${id} was served outside of a turn of ${model}`);
    const alone = roomOf(memberOf(this.#scene, model)) === sharedOf(plan);
    if (plan.policy !== 'fifo' || !alone || !plan.drains || plan.minActiveMs > 0 || ticket.seq < turn.from) return;
    // Nobody is summoned before another catnap has the engines.
    if (theatre.standsStill) return;
    // Whoever is more urgent and came after the batch was closed is not waited for any less.
    if (closed !== undefined && plan.priorityStepMs > 0) return;
    for (const other of this.#able) {
      const first = book.first(other);
      if (other === model || first === undefined || roomOf(memberOf(this.#scene, other)) === 0) continue;
      must(comesFirst(ticket, first), `${id} of ${model} was served before ${first.id}, which came first and was due`);
    }
  }

  #isWaitedFor({ engine }: SetGoal): void {
    const { book, theatre } = this.#scene;
    const comer = [...theatre.stage.members.values()].find(({ terms }) => terms.engines.includes(engine));
    // Whoever is on is to have all of its engines, though some may have died while it changed hands.
    if (this.#isHandedOver && comer?.anyAwake === true) return;
    const asked = comer === undefined || book.waiting(comer.model).length > 0 || comer.swap?.unasked === true;
    must(asked, `${engine} is to be awake, and nobody waits for it`);
  }

  #batchWasServed({ engine, goal }: SetGoal): void {
    const { book, plan, theatre, closingAt, now } = this.#scene;
    const model = [...theatre.stage.members.values()].find(({ terms }) => terms.engines.includes(engine))?.model;
    const turn = model === undefined ? undefined : this.#turns.get(model);
    if (model === undefined || turn?.closed === undefined || !plan.drains || book.unloading(model)) return;
    if (now() >= turn.closed.at + plan.drainMs) return;
    if (theatre.engine(engine).phase.kind !== 'awake' || (closingAt !== undefined && closingAt <= now())) return;
    const first = book.first(model);
    const served = first === undefined || !turn.closed.has(first);
    must(served, `${engine} is told to be ${goal.kind}, and ${first?.id} of its batch was not served`);
  }

  #isDue({ swap, to, from }: Planned): void {
    const { book, plan, theatre, now } = this.#scene;
    const first = book.first(to);
    if (first === undefined) return this.#goesHome(swap, from, to);
    const summoned = memberOf(this.#scene, to);
    must(!this.#pauses(summoned), `${to} was summoned in the pause after a failure`);
    must(trulyAtRest(this.#scene, summoned), `${to} was summoned before it was at rest`);
    if (roomOf(summoned) > 0)
      must(
        !book.waiting(to).every(({ bound }) => bound),
        `${to} was summoned for those who would have nobody put away`,
      );
    if (roomOf(summoned) > 0 && plan.policy === 'fifo') {
      for (const [model, member] of theatre.stage.members) {
        const other = book.first(model);
        if (model === to || other === undefined || comesFirst(first, other)) continue;
        const due = member.part.kind === 'out' && trulyAtRest(this.#scene, member);
        must(!due, `${to} was summoned before ${model}, for which somebody waits since before`);
      }
      for (const { model, first: other } of this.#planned)
        must(comesFirst(other, first), `${model} was summoned before ${to}, for which somebody waits since before`);
      this.#planned.push({ model: to, first });
    }
    for (const model of from) {
      const turn = this.#hadItsTurn(model, to);
      turn.closed = { swap, has: this.#batchOf(turn, first), at: now() };
      const serves = turn.answered > 0 || book.waiting(model).some(turn.closed.has);
      // Those who could not be served yet, since what had died still had its leases, may have left meanwhile.
      const waits = turn.waitedFor.some(({ state }) => state === 'waiting');
      must(!waits || serves, `${model} has to make room for ${to} and serves nobody`);
    }
  }

  /** Whether that may be is not for here; but those who go for it have had their turns. */
  #goesHome(swap: number, from: readonly ModelId[], to: ModelId): void {
    for (const model of from) this.#hadItsTurn(model, to).closed = { swap, has: () => false, at: this.#scene.now() };
  }

  /** Who is still served when a model has to go for the first of another. */
  #batchOf({ from }: Turn, first: Ticket): (ticket: Ticket) => boolean {
    const { plan, book } = this.#scene;
    if (plan.policy !== 'fifo' || !plan.drains) return () => false;
    const until = book.arrivals;
    return (ticket) => ticket.seq < from || (ticket.seq < until && comesFirst(ticket, first));
  }

  #hadItsTurn(model: ModelId, to: ModelId): Turn {
    const { plan, book, now } = this.#scene;
    const turn = this.#turns.get(model);
    must(turn !== undefined, `${model} has to make room for ${to} and is not on`);
    const age = now() - turn.at + ROUNDING;
    must(age >= plan.minActiveMs, `${model} has to make room for ${to} after ${age} of ${plan.minActiveMs} ms`);
    if (plan.drains || turn.settled > 0 || age >= plan.drainMs) return turn;
    const open = [...book.open].some((lease) => lease.model === model);
    must(!open, `${model} is cut for ${to} before it has served anybody to the end`);
    return turn;
  }

  /** Who is next is summoned as soon as enough of those who are on may go, whatever else is under way. */
  #nobodyWaitsForNothing(): void {
    const { theatre, book, now, closingAt, plan } = this.#scene;
    if (theatre.standsStill || (closingAt !== undefined && closingAt <= now())) return;
    let next: Ticket | undefined;
    let room = sharedOf(plan);
    let at = 0;
    for (const member of theatre.stage.members.values()) {
      const { kind } = member.part;
      const turn = this.#turns.get(member.model);
      if (kind === 'entering' || kind === 'summoned') room -= roomOf(member);
      if (kind === 'on' && turn !== undefined) at = Math.max(at, turn.at + this.#leastMs(turn));
      const first = kind === 'out' && this.#able.has(member.model) ? book.first(member.model) : undefined;
      if (first !== undefined && (next === undefined || comesFirst(first, next))) next = first;
    }
    if (next === undefined) return;
    const { model } = next;
    if (roomOf(memberOf(this.#scene, model)) > room) return;
    const due = theatre.stage.dueAt;
    if (plan.policy !== 'fifo')
      return must(due !== undefined, () => `${model} waits for ever: ${describe(this.#scene)}`);
    must(at > now(), () => `${model} is next, and nothing moves: ${describe(this.#scene)}`);
    must(due !== undefined && due <= at + ROUNDING, `${model} may come at ${at}, and the stage looks again at ${due}`);
    must(plan.minActiveMs > 0 || !plan.drains, `${model} is next, and nothing stands in its way`);
  }

  /** Who made room for a swap that was withdrawn stays, unless others count on the room. */
  #nobodyGoesForNothing(): void {
    const { theatre, book, plan, closingAt, now } = this.#scene;
    const isOver = theatre.standsStill && !theatre.stage.accepting;
    if (isOver || (closingAt !== undefined && closingAt <= now())) return;
    let room = sharedOf(plan);
    for (const member of theatre.stage.members.values()) {
      const { kind } = member.part;
      if (kind === 'on' || kind === 'entering' || kind === 'summoned') room -= roomOf(member);
    }
    // Whose start ran out of memory needs more room than it takes.
    const short = [...theatre.stage.members.values()].filter(({ part }) => part.kind === 'summoned');
    const asked = new Set(short.flatMap(({ roomFrom }) => roomFrom));
    for (const [model, member] of theatre.stage.members) {
      const { part } = member;
      if (member.stale || member.departs) continue;
      const turn = this.#turns.get(model);
      if (part.kind !== 'draining' || part.cut || turn?.closed !== undefined || book.unloading(model)) continue;
      if (asked.has(member)) continue;
      must(roomOf(member) > room, `${model} makes room for nobody`);
    }
  }

  /** Operators wait for no pause. */
  #pauses(member: Member): boolean {
    return inPause(this.#scene, member) && !loadWaits(this.#scene, member.model);
  }

  #leastMs({ settled }: Turn): number {
    const { minActiveMs, drains, drainMs } = this.#scene.plan;
    return drains || settled > 0 ? minActiveMs : Math.max(minActiveMs, drainMs);
  }
}
