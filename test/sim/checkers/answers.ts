import { unreachable, type ModelId, type TicketId } from '../../../src/core/kinds.ts';
import type { StageEffect, StageEvent } from '../../../src/core/stage-events.ts';
import { must } from '../violation.ts';
import { hasFailed, isKept, loadWaits, memberOf, type Checker, type Scene, roomOf } from './checker.ts';

type Reject = Extract<StageEffect, { readonly kind: 'reject' }>;
type Cut = Extract<StageEffect, { readonly kind: 'cut' }>;
type OrderDone = Extract<StageEffect, { readonly kind: 'order-done' }>;
type SetGoal = Extract<StageEffect, { readonly kind: 'set-goal' }>;

/** What is said is true: refusals, cuts and orders name what really is so, and no engine is put away under a lease. */
export class AnswersChecker implements Checker {
  readonly #scene: Scene;
  #closed = false;
  /** Whether this is about another config, which says anew what a model is: a failure of what it was is over. */
  #revised = false;
  /** Where everybody is by now, and was before this: what a request is told is about the moment in which it came. */
  #now: ReadonlyMap<ModelId, Way> = new Map();
  #before: ReadonlyMap<ModelId, Way> = new Map();
  /** Who needs room by now, and who did before this. */
  #needy: ReadonlySet<ModelId> = new Set();
  #neededRoom: ReadonlySet<ModelId> = new Set();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  handled(event: StageEvent, effects: readonly StageEffect[]): void {
    this.#revised = event.kind === 'models-set' || event.kind === 'handed-over';
    this.#before = this.#now;
    this.#neededRoom = this.#needy;
    const { members } = this.#scene.theatre.stage;
    const models = [...members.keys()];
    this.#needy = new Set(models.filter((model) => roomOf(memberOf(this.#scene, model)) > 0));
    this.#now = new Map(Array.from(models, (model) => [model, wayOf(this.#scene, model, effects)]));
  }

  /** Whether it is so, or was when this began. */
  #isOnWay(model: ModelId, way: Way): boolean {
    return this.#now.get(model) === way || this.#before.get(model) === way;
  }

  effect(effect: StageEffect): void {
    if (effect.kind === 'reject') this.#refusal(effect);
    if (effect.kind === 'cut') for (const ticket of effect.tickets) this.#cut(effect, ticket);
    if (effect.kind === 'order-done') this.#orderDone(effect);
    if (effect.kind === 'set-goal') this.#goal(effect);
    if (effect.kind !== 'closed') return;
    must(!this.#closed, 'closed was told twice');
    this.#closed = true;
    this.#everythingIsOff();
  }

  settled(): void {
    const { theatre, book, now, closingAt, plan } = this.#scene;
    const over = closingAt !== undefined && closingAt <= now();
    must(!over || !book.anyoneWaits, 'somebody waits though the time to shut down is up');
    for (const { id, engine, model, cut } of book.open) {
      if (cut !== undefined || engine === undefined) continue;
      must(!over, `lease ${id} is still open though the time to shut down is up`);
      if (book.frozen.has(id)) continue;
      const { kind } = theatre.engine(engine).phase;
      must(kind === 'awake', `lease ${id} is open on ${engine}, which is ${kind}`);
      const { part } = memberOf(this.#scene, model);
      const mayDrain = part.kind !== 'draining' || (part.deadline > now() && (plan.drains || part.for === undefined));
      must(mayDrain, `lease ${id} is still open though the drain is over`);
    }
    if (closingAt === undefined) return;
    if (!book.anyoneWaits && book.open.size === 0) this.#everythingGoes();
    const loads = plan.models.some(({ terms }) => book.waiting(terms.model).some(({ kind }) => kind === 'load'));
    must(!loads, 'somebody waits for a load while catnap shuts down');
  }

  rested(): void {
    const asked = this.#scene.closingAt !== undefined;
    must(this.#closed === asked, asked ? 'never told: closed' : 'closed, and nobody asked');
    if (this.#closed) this.#everythingIsOff();
  }

  #everythingGoes(): void {
    const { theatre } = this.#scene;
    for (const engine of theatre.engines) {
      const { kind } = theatre.engine(engine).phase;
      const goes = kind === 'off' || kind === 'failed' || kind === 'stopping' || kind === 'reaping' || kind === 'stuck';
      must(goes, `nobody is left to be served, and ${engine} is ${kind}`);
    }
  }

  #everythingIsOff(): void {
    const { theatre } = this.#scene;
    for (const engine of theatre.engines) {
      const { kind } = theatre.engine(engine).phase;
      must(kind === 'off' || kind === 'failed', `closed, and ${engine} is ${kind}`);
    }
  }

  #refusal({ code, ticket, model, retryAt }: Reject): void {
    const { book, theatre, closingAt, now } = this.#scene;
    if (code === 'model_not_found') {
      const member = theatre.stage.members.get(model);
      return must(member === undefined || member.departs, `${ticket} was told that there is no ${model}`);
    }
    const { terms } = memberOf(this.#scene, model);
    switch (code) {
      case 'lane_full':
        must(!book.ticket(ticket).back, `${ticket} was in line before and was told that the lane is full`);
        return must(
          book.waiting(model).filter(({ kind }) => kind !== 'frozen').length > terms.maxWaiting,
          `${ticket} was told that the lane is full`,
        );
      case 'engine_failed': {
        const kinds = terms.engines.map((engine) => theatre.engine(engine).phase.kind);
        const failed = kinds.some((kind) => kind === 'reaping' || kind === 'stuck' || kind === 'failed');
        must(failed, `${ticket} was told that ${model} failed, which is ${kinds.join('+')}`);
        must(retryAt !== undefined, `${ticket} was told that ${model} failed, and not when to come back`);
        return must(retryAt >= now(), `${ticket} was told to come back at ${retryAt}, and it is ${now()}`);
      }
      case 'model_unloading': {
        const goes = isKept(this.#scene, model) && this.#isOnWay(model, 'away');
        return must(book.unloading(model) || goes, `${ticket} was told that ${model} is being unloaded`);
      }
      case 'model_failed': {
        const failed = terms.engines.some((engine) => hasFailed(theatre.engine(engine).phase));
        return must(
          (failed || this.#revised) && isKept(this.#scene, model),
          `${ticket} was told that ${model} has failed`,
        );
      }
      case 'model_not_loaded':
      case 'model_disabled':
        if (book.ticket(ticket).bound && (!isKept(this.#scene, model) || loadWaits(this.#scene, model)))
          return must(
            this.#needy.has(model) || this.#neededRoom.has(model),
            `${ticket} was told that ${model} is not awake, which needs no room`,
          );
        must(
          !terms.engines.some((engine) => hasFailed(theatre.engine(engine).phase)),
          `${ticket} was not told that ${model} has failed`,
        );
        return must(isKept(this.#scene, model), `${ticket} was told that requests do not load ${model}`);
      case 'model_loading': {
        const comes = isKept(this.#scene, model) && this.#isOnWay(model, 'coming');
        return must(comes, `${ticket} was told that ${model} is being loaded`);
      }
      case 'manual_mode': {
        const { mode } = theatre.stage;
        const manual = mode.kind === 'manual' && mode.pinned !== model && terms.cost > 0;
        return must(manual, `${ticket} was told that swaps are in manual mode`);
      }
      case 'shutting_down':
        return must(closingAt !== undefined, `${ticket} was told that catnap shuts down`);
      case 'restarting':
        return must(!theatre.stage.accepting, `${ticket} was told that catnap restarts, which it does not`);
      case 'wait_timeout':
        return undefined;
      default:
        return unreachable(code);
    }
  }

  #cut({ code, model, mayReturn }: Cut, id: TicketId): void {
    const { book, theatre, now, plan, closingAt } = this.#scene;
    const { engine } = book.ticket(id);
    const phase = engine === undefined ? undefined : theatre.engine(engine).phase;
    const { part } = memberOf(this.#scene, model);
    const overdue = part.kind !== 'draining' || part.deadline <= now();
    const inVain = code === 'drained' && plan.drains && part.kind === 'draining' && part.for !== undefined;
    must(mayReturn === inVain, `${id} was cut (${code}) and ${mayReturn ? 'may' : 'may not'} come back`);
    if (code === 'engine_died') must(phase?.kind !== 'awake', `${id} was cut for the death of ${engine}, which lives`);
    else if (code === 'drained') must(!plan.drains || overdue, `${id} was cut before the drain's deadline`);
    else must(closingAt !== undefined && closingAt <= now(), `${id} was cut before the time to shut down was up`);
  }

  #orderDone({ order, model }: OrderDone): void {
    const { book, theatre } = this.#scene;
    const member = theatre.stage.members.get(model);
    if (member === undefined) return must(book.ticket(order).kind === 'unload', `${model} is not there, and loaded`);
    const engines = member.terms.engines.map((engine) => theatre.engine(engine));
    const kinds = engines.map(({ phase }) => phase.kind).join('+');
    if (book.ticket(order).kind === 'load') {
      const awake = engines.some(({ phase }) => phase.kind === 'awake');
      return must(awake, `${model} is said to be loaded and is ${kinds}`);
    }
    const latest = [...book.unloads].findLast((other) => other.model === model);
    const ended = book.ticket(order) === latest && latest.level === 5;
    for (const { phase, goal } of engines) {
      const sleeps = phase.kind === 'asleep' && goal.kind !== 'off' && !ended;
      must(sleeps || phase.kind === 'off' || phase.kind === 'failed', `${model} is said to be away and is ${kinds}`);
    }
    return undefined;
  }

  #goal({ engine, goal, atOnce }: SetGoal): void {
    const { theatre, book, plan } = this.#scene;
    const owner = plan.models.find(({ terms }) => terms.engines.includes(engine))?.terms.model;
    const asked = owner !== undefined && loadWaits(this.#scene, owner);
    const told = goal.kind === 'awake' ? asked : owner !== undefined && book.unloading(owner);
    must(!atOnce || told || this.#revised, `${engine} waits for no pause, and no operator asked for it`);
    if (goal.kind === 'awake') return must(!this.#closed, `${engine} is woken after the end`);
    const awake = theatre.engine(engine).phase.kind === 'awake';
    // Whoever was lost with its process has nothing to lose with the next one.
    const open = [...book.open].filter((ticket) => ticket.engine === engine && ticket.cut !== 'engine_died');
    const given = open.every(({ id, cut }) => book.frozen.has(id) || cut !== undefined);
    const frozen = goal.kind === 'asleep' && goal.frozen === true && given;
    return must(!awake || frozen || open.length === 0, `${engine} is put away under an open lease`);
  }
}

/** `coming`: on its way in, or an operator waits for it to be. */
type Way = 'on' | 'coming' | 'away';

function wayOf(scene: Scene, model: ModelId, effects: readonly StageEffect[]): Way {
  const { kind } = memberOf(scene, model).part;
  if (kind === 'on') return 'on';
  return kind === 'summoned' || kind === 'entering' || loadWaits(scene, model, effects) ? 'coming' : 'away';
}
