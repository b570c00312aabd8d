import type { Engine, EngineEvent, EngineRules } from '../../src/core/engine.ts';
import { after, soonest, ticketId, unreachable } from '../../src/core/kinds.ts';
import type { EngineId, Millis, ModelId, SleepLevel, TicketId } from '../../src/core/kinds.ts';
import type { LoadTerms, StageEffect, StageEvent, StageOptions } from '../../src/core/stage-events.ts';
import type { ModelTerms } from '../../src/core/terms.ts';
import type { Place } from '../../src/core/place.ts';
import { Book, type Ticket } from './book.ts';
import type { Checker } from './checkers/checker.ts';
import { allCheckers } from './checkers/index.ts';
import { realCore } from './core-under-test.ts';
import { rulesOf } from './extras.ts';
import { Handovers } from './handovers.ts';
import { Hold } from './hold.ts';
import { loseSleeps } from './losses.ts';
import { Looks } from './looks.ts';
import { Machine } from './machine.ts';
import { withFreezing } from './freezing.ts';
import { withMemory } from './memory-plan.ts';
import { anyModel, drawPlan, type ModelPlan, type WorldPlan } from './plan.ts';
import { Random } from '../../src/simulate/random.ts';
import { Reloads } from './reloads.ts';
import { Services } from './services.ts';
import { Theatre, type Hooks } from './theatre.ts';
import { Timeline } from './timeline.ts';
import { sayEffect, sayEvent } from './transcript.ts';
import { must } from './violation.ts';
import { Wishes } from './wishes.ts';
import type { Story, WorldOptions } from './world-options.ts';

const HOUR = 3_600_000;
const MOST_STEPS = 50_000;

/** Runs the production decision code through the world of this seed. Throws a `Violation` when a promise does not hold. */
export function runWorld(seed: number, options: WorldOptions = {}): Story {
  return new World(seed, options).run();
}

class World implements Hooks {
  readonly plan: WorldPlan;
  readonly book = new Book();
  readonly theatre: Theatre;
  closingAt: Millis | undefined;
  readonly now = (): Millis => this.#timeline.now;
  readonly #say: ((line: string) => void) | undefined;
  readonly #random: Random;
  readonly #wishes: Wishes;
  /** What operators do besides loading and unloading, and what else there may be, is drawn apart: worlds without it stay as they are. */
  readonly #steering: Random;
  readonly #extra: Random;
  readonly #sizes: Random;
  readonly #timeline: Timeline;
  readonly #machines = new Map<EngineId, Machine>();
  readonly #reloads: Reloads | undefined;
  readonly #looks: Looks | undefined;
  readonly #handovers: Handovers | undefined;
  #checkers: readonly Checker[];
  /** Who has told the stage, or is about to, that it is done with its lease. */
  readonly #settling = new Set<TicketId>();
  readonly #alarms = new Map<EngineId | 'stage', { readonly at: Millis; readonly cancel: () => void }>();
  readonly #places = new Map<TicketId, Place>();
  readonly #services = new Services((ms, run) => this.#in(ms, run), this.now);
  #tickets = 0;
  #swaps = 0;
  readonly #later = (ms: number, run: () => void): void => this.#in(ms, run);

  constructor(seed: number, options: WorldOptions) {
    const { core = realCore, policy = 'fifo', urgency, extras, reloads = false, losses = false, say } = options;
    const drawn = { ...drawPlan(seed, policy, urgency, extras), reloads, losses };
    const frozen = options.freezes === true && policy === 'slack' ? withFreezing(drawn, seed) : drawn;
    const plan = options.overlap === true ? withMemory(frozen, seed) : frozen;
    const random = new Random(seed ^ 0x5bd1e995);
    this.plan = plan;
    this.#random = random;
    this.#wishes = new Wishes(seed, plan, options.deadlines === true);
    this.#extra = new Random(seed ^ 0x165667b1);
    this.#steering = new Random(seed ^ 0x3c6ef372);
    this.#sizes = new Random(seed ^ 0x510e527f);
    this.#say = say;
    this.#timeline = new Timeline(plan.shuffledTies ? () => random.next() : undefined);
    const models = plan.models.map(({ terms }) => terms);
    const stage = rulesOf(plan, core);
    this.theatre = new Theatre(core, { ...stage, models }, (model) => this.#modelPlan(model).rules, this);
    this.#reloads = plan.reloads ? new Reloads(seed, plan, stage) : undefined;
    this.#handovers = options.handovers === true ? new Handovers(seed, this, core, this.#reloads) : undefined;
    for (const model of models) this.#equip(model);
    this.#looks = plan.memory && new Looks(this, plan.memory, this.#sizes, this.#later);
    this.#checkers = allCheckers(this);
    if (losses) loseSleeps(seed, plan.spanMs, this.#later, () => this.#machines.values());
  }

  run(): Story {
    this.#schedule();
    this.#comeToRest();
    if (this.closingAt === undefined) {
      this.#shutDown(this.#random.pick([0, 5_000, 60_000]));
      this.#comeToRest();
    }
    return { ends: this.book.ends, swaps: this.#swaps, simulatedMs: this.now() };
  }

  // --- what the theatre tells

  handled(event: StageEvent, effects: readonly StageEffect[]): void {
    if (this.#say !== undefined) this.#tell(sayEvent(event));
    if (event.kind === 'models-set') for (const model of event.options.models) this.#equip(model);
    if (event.kind === 'ticket-abandoned') this.book.withdrawn(event.ticket);
    if (event.kind === 'lease-settled') this.book.settled(event.ticket);
    for (const checker of this.#checkers) checker.handled?.(event, effects);
  }

  effect(effect: StageEffect): void {
    if (this.#say !== undefined) this.#tell(sayEffect(effect), '  > ');
    for (const checker of this.#checkers) checker.effect?.(effect);
    switch (effect.kind) {
      case 'grant':
        this.#places.set(effect.ticket, effect.place);
        return this.#granted(this.book.granted(effect));
      case 'reject':
        this.book.rejected(effect.ticket, effect.model, effect.code);
        return this.#someoneLeavesInTurn();
      case 'order-done':
        return this.book.orderDone(effect.order, effect.model);
      case 'cut':
        for (const ticket of effect.tickets) this.#cut(this.book.cut(ticket, effect.code), effect.mayReturn);
        return this.#someoneLeavesInTurn();
      case 'freeze':
      case 'thaw':
        this.#services[effect.kind](effect.tickets);
        return this.book[effect.kind](effect.tickets, this.now());
      case 'tell':
        if (effect.fact.kind === 'swap-planned') this.#swaps++;
        return undefined;
      case 'dismissed':
        for (const engine of effect.engines) {
          this.#machines.delete(engine);
          this.#alarm(engine, undefined, () => {});
        }
        return undefined;
      case 'set-goal':
      case 'load-over':
      case 'closed':
        return undefined;
      default:
        return unreachable(effect);
    }
  }

  stepped(id: EngineId, before: Engine, engine: Engine, event: EngineEvent): void {
    if (this.#say !== undefined && engine.phase !== before.phase)
      this.#tell(`${id} ${before.phase.kind} -> ${engine.phase.kind} (${event.kind})`, '    ');
    if (engine.phase.kind === 'stuck' && before.phase.kind !== 'stuck') this.#machines.get(id)?.giveUp(before.epoch);
    for (const checker of this.#checkers) checker.stepped?.(id, before, engine, event);
    const due = this.theatre.engineDueAt(id);
    const missed = event.kind === 'time-passed' && due !== undefined && due <= this.now();
    must(!missed, `${id} was due at ${due} and did nothing about it`);
    this.#alarm(id, due, () => this.theatre.step(id, { kind: 'time-passed' }));
  }

  command(id: EngineId, ...[epoch, command]: Parameters<Machine['run']>): void {
    this.#machines.get(id)?.run(epoch, command);
  }

  settled(): void {
    for (const checker of this.#checkers) checker.settled?.();
    this.#looks?.begin();
    this.#handovers?.settled();
    this.#alarm('stage', this.theatre.stage.dueAt, () => this.theatre.post({ kind: 'time-passed' }));
  }

  rulesOf(id: EngineId): EngineRules {
    const plan = this.plan.models.find(({ terms }) => terms.engines.includes(id));
    must(plan !== undefined, `there is no ${id}`);
    return plan.rules;
  }

  readonly lives = (id: EngineId): boolean => this.#machines.get(id)?.lives ?? false;
  readonly heldBy = (id: EngineId): number => this.#machines.get(id)?.heldMib ?? 0;

  // --- clients

  #arrive({ terms: { model } }: ModelPlan): void {
    const random = this.#random;
    const id = this.#nextTicket();
    const terms = this.#wishes.next();
    const rank = this.#wishes.rankOf(terms, this.now());
    const ticket = this.book.arrived(id, model, 'request', this.now(), { rank, bound: terms.bound });
    if (random.chance(this.plan.impatient)) {
      this.#in(random.chance(0.2) ? 0 : random.around(8_000), () => this.#leave(ticket));
    }
    this.theatre.post({ kind: 'ticket-arrived', ticket: id, model, terms });
  }

  #leave(ticket: Ticket): void {
    if (ticket.gone || ticket.state === 'ended') return;
    ticket.gone = true;
    if (ticket.state === 'open') this.#settle(ticket);
    else this.theatre.post({ kind: 'ticket-abandoned', ticket: ticket.id, model: ticket.model });
  }

  #granted(ticket: Ticket): void {
    // It left in the turn in which it was granted: the place is given back at once.
    if (ticket.gone) return this.#settle(ticket);
    const { serviceMs } = this.#modelPlan(ticket.model);
    const ms = this.#random.chance(0.1) ? 0 : this.#random.around(serviceMs);
    const endless = this.#random.chance(this.plan.endless);
    return this.#services.begin(ticket.id, endless ? this.plan.spanMs * 3 : ms, () => this.#settle(ticket));
  }

  #cut(ticket: Ticket, mayReturn: boolean): void {
    const end = (): void => {
      this.#settle(ticket);
      if (mayReturn && this.#extra.chance(this.plan.extras.returns)) this.#comeBack(ticket);
    };
    if (this.#random.chance(0.3)) end();
    else this.#in(this.#random.around(300), end);
  }

  /** It had no byte of its answer and stands where it stood. */
  #comeBack({ id, model, seq, rank, gone, bound, back }: Ticket): void {
    const place = this.#places.get(id);
    if (gone || bound || back || place === undefined) return;
    const ticket = this.#nextTicket();
    this.book.arrived(ticket, model, 'request', this.now(), { rank, bound, seq });
    this.theatre.post({ kind: 'ticket-arrived', ticket, model, terms: { place } });
  }

  #settle(ticket: Ticket): void {
    if (this.#settling.has(ticket.id)) return;
    this.#settling.add(ticket.id);
    this.theatre.post({ kind: 'lease-settled', ticket: ticket.id, model: ticket.model });
  }

  #someoneLeavesInTurn(): void {
    if (!this.#random.chance(this.plan.faults.leavesInTurn)) return;
    const { model } = this.#random.pick(this.plan.models).terms;
    const ticket = this.#random.anyOf(this.book.waiting(model));
    if (ticket?.kind === 'request') this.#leave(ticket);
  }

  // --- operators and accidents

  #schedule(): void {
    const random = this.#random;
    const { spanMs, requests, burst, crashes, verdicts, orders, jumps, shutdowns } = this.plan;
    const some = (count: number, run: () => void): void => {
      for (let n = 0; n < count; n++) this.#in(random.between(0, spanMs), run);
    };
    for (let left = requests; left > 0;) {
      const together = Math.min(left, random.int(1, burst));
      const model = anyModel(this.plan, this.#random);
      some(1, () => {
        for (let n = 0; n < together; n++) this.#arrive(model);
      });
      left -= together;
    }
    some(crashes, () => this.#random.anyOf([...this.#machines.values()])?.crash('it crashed'));
    some(verdicts, () => this.#judge());
    some(orders, () => this.#order());
    this.#reloads?.schedule((ms, next) => this.#in(ms, () => this.theatre.post(next())));
    this.#handovers?.schedule((ms, run) => this.#in(ms, run));
    some(jumps, () => this.#timeline.jump(HOUR));
    some(random.int(0, 5), () => this.theatre.post({ kind: 'time-passed' }));
    some(random.int(0, 5), () => this.theatre.timePasses());
    for (const { atMs, withinMs } of shutdowns) this.#in(atMs, () => this.#shutDown(withinMs));
  }

  /** The watchdog's verdict, at times on a process that has gone since. */
  #judge(): void {
    const id = this.#random.anyOf(this.theatre.engines);
    if (id === undefined) return;
    const born = this.theatre.engine(id).born - (this.#random.chance(0.3) ? 1 : 0);
    this.theatre.step(id, { kind: 'unresponsive', born, reason: 'it does not answer' });
  }

  #order(): void {
    const { model } = anyModel(this.plan, this.#random).terms;
    const order = this.#nextTicket();
    const load = this.#random.chance(0.5);
    const level = this.#random.pick<SleepLevel>([1, 2, 'hybrid', 5, 5]);
    this.book.arrived(order, model, load ? 'load' : 'unload', this.now(), { rank: this.now(), level });
    if (load) this.theatre.post({ kind: 'load-asked', order, model, ...this.#loadTerms(model) });
    else this.theatre.post({ kind: 'unload-asked', order, model, level, hold: this.#steers(0.3) });
    if (this.#steers(0.4)) this.#steer();
    if (this.#random.chance(0.3)) this.#in(this.#random.around(500), () => this.#order());
  }

  #loadTerms(model: ModelId): LoadTerms {
    const random = this.#steering;
    const plain: LoadTerms = { as: 'load', fresh: false, replicas: undefined };
    if (!this.#steers(0.7)) return plain;
    const most = this.#modelPlan(model).terms.engines.length;
    return {
      as: random.pick(['load', 'switch', 'pin']),
      fresh: random.chance(0.4),
      replicas: random.pick([undefined, random.int(1, most)]),
    };
  }

  #steer(): void {
    const random = this.#steering;
    const { model } = random.pick(this.plan.models).terms;
    if (random.chance(0.6)) this.theatre.post({ kind: 'mode-set', mode: random.pick(['auto', 'auto', 'manual']) });
    else this.theatre.post({ kind: 'level-set', model, level: random.pick([null, 1, 5]) });
  }

  #steers(chance: number): boolean {
    return this.plan.steered && this.#steering.chance(chance);
  }

  #shutDown(withinMs: number): void {
    this.closingAt = soonest(this.closingAt, after(this.now(), withinMs));
    this.theatre.post({ kind: 'shutdown-asked', withinMs });
  }

  /** Others look after the engines from now on: what the ones before have still to hear goes to nobody. */
  readonly changeHands = (options: StageOptions, anew: readonly ModelId[]): void => {
    for (const [id, machine] of this.#machines) this.#machines.set(id, this.#machine(id, machine.plan, machine));
    for (const model of options.models) this.#equip(model);
    this.#places.clear();
    this.#checkers = allCheckers(this);
    for (const { id, engine } of this.book.open) {
      if (engine !== undefined && this.theatre.engine(engine).phase.kind === 'awake') continue;
      this.#settling.add(id);
      this.book.settled(id);
    }
    this.theatre.succeed(options, anew);
    for (const machine of this.#machines.values()) machine.tellOfItsEnd();
  };

  // --- the world itself

  #comeToRest(): void {
    must(this.#timeline.runUntilIdle(MOST_STEPS), 'the world does not come to rest');
    for (const checker of this.#checkers) checker.rested?.();
  }

  #alarm(key: EngineId | 'stage', at: Millis | undefined, ring: () => void): void {
    const set = this.#alarms.get(key);
    if (set !== undefined && set.at === at) return;
    set?.cancel();
    this.#alarms.delete(key);
    if (at === undefined || !Number.isFinite(at)) return;
    const late = this.plan.lateTimersMs * this.#random.next();
    const cancel = this.#timeline.at(after(at, late), () => {
      this.#alarms.delete(key);
      ring();
    });
    this.#alarms.set(key, { at, cancel });
  }

  #in(ms: number, run: () => void): void {
    const { tick } = this.plan;
    this.#timeline.at(after(this.now(), tick === 0 ? ms : Math.round(ms / tick) * tick), run);
  }

  #equip({ model, engines }: ModelTerms): void {
    for (const id of engines) {
      if (!this.#machines.has(id)) this.#machines.set(id, this.#machine(id, this.#modelPlan(model)));
    }
  }

  #machine(id: EngineId, plan: ModelPlan, before?: Machine): Machine {
    const machine: Machine = new Machine({
      before,
      id,
      plan,
      faults: this.plan.faults,
      random: this.#random,
      hold: before?.hold ?? (this.plan.memory && new Hold({ full: plan.mib, random: this.#sizes, in: this.#later })),
      in: this.#later,
      now: this.now,
      short: () => this.plan.extras.short > 0 && this.#extra.chance(this.plan.extras.short),
      // What one that was dismissed has to say goes to nobody.
      tell: (event, took) => this.#machines.get(id) === machine && this.theatre.step(id, event, took),
    });
    return machine;
  }

  #modelPlan(model: ModelId): ModelPlan {
    return this.plan.models.find(({ terms }) => terms.model === model) ?? this.plan.models[0];
  }

  #nextTicket(): TicketId {
    return ticketId(++this.#tickets);
  }

  #tell(line: string | undefined, indent = ''): void {
    if (line !== undefined) this.#say?.(`${(this.now() / 1_000).toFixed(3).padStart(9)}s ${indent}${line}`);
  }
}
