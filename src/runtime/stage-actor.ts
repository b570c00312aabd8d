import { sharedRoom } from '../core/cast.ts';
import { ERRORS } from '../core/errors.ts';
import { atRest, type EnginePhase } from '../core/engine.ts';
import { invariant, ticketId, unreachable, type EngineId, type ModelId, type TicketId } from '../core/kinds.ts';
import { Stage } from '../core/stage.ts';
import type {
  LevelOrder,
  LoadTerms,
  RevisedTerms,
  StageEffect,
  StageEvent,
  StageOptions,
  TicketTerms,
  UnloadTerms,
} from '../core/stage-events.ts';
import type { Mode } from '../core/steering.ts';
import type { Took } from '../core/swap.ts';
import { isLasting, wordForClients } from '../core/trouble.ts';
import type { Clock } from '../ports/clock.ts';
import type { HandedCut } from '../ports/handover.ts';
import type { Reporter } from '../ports/reporter.ts';
import { Cut, Refused, type Acquire, type Admission, type Lease } from './admission.ts';
import { Alarm } from './alarm.ts';
import type { EngineActor } from './engine-actor.ts';
import { Forecast } from './forecast.ts';
import { Glance } from './glance.ts';
import { OpenLease } from './lease.ts';
import { Mailbox } from './mailbox.ts';
import { RoomWatch, type Gauge, type Gauged } from './room-watch.ts';

type HandedOver = Extract<StageEvent, { readonly kind: 'handed-over' }>;
type Grant = Extract<StageEffect, { readonly kind: 'grant' }>;
type Rejection = Extract<StageEffect, { readonly kind: 'reject' }>;

/** Somebody who waits for an answer of the stage: a request for its lease, an operator for an order. */
type Pending = {
  readonly granted: (grant: Grant | undefined) => void;
  readonly refused: (error: Refused) => void;
};

export type StageActorOptions = StageOptions & {
  readonly clock: Clock;
  readonly reporter: Reporter;
  /** A model has loaded for which others wait, here or on another stage. Undefined: there is no other stage. */
  readonly loadOver?: () => void;
  /** Measures memory where one may come in while others still leave. */
  readonly gauge?: Gauge | undefined;
  /** Told of an engine that is off and never wanted again. */
  readonly dismissed?: (engine: EngineId) => void;
  /** Told after each event. */
  readonly turned?: () => void;
  /** Gives the numbers of tickets, each once. Undefined: they are its own. */
  readonly numbers?: () => TicketId;
  /** Ends requests that another catnap serves. */
  readonly cutElsewhere?: (cut: HandedCut) => void;
};

/**
 * Owns one `Stage`: the only one that sends it events. Carries out its effects: goals to engine actors, grants and refusals to those who wait.
 * Everything happens in the turn of the event that caused it, so a request is never forwarded to a model that is not awake.
 */
export class StageActor implements Admission {
  readonly #clock: Clock;
  readonly #reporter: Reporter;
  readonly #stage: Stage;
  readonly #engines = new Map<EngineId, EngineActor>();
  readonly #mailbox = new Mailbox<StageEvent>((event) => this.#handle(event));
  readonly #alarm: Alarm;
  readonly #pending = new Map<TicketId, Pending>();
  readonly #leases = new Map<TicketId, OpenLease>();
  readonly #dismissed: (engine: EngineId) => void;
  readonly #closed = Promise.withResolvers<void>();
  readonly #loadOver: () => void;
  readonly #capacity: number;
  readonly #turned: () => void;
  readonly #numbers: () => TicketId;
  readonly #cutElsewhere: (cut: HandedCut) => void;
  /** Requests that another catnap granted and still serves, and whom to tell when one of all that are open has ended. */
  readonly #elsewhere = new Map<TicketId, ModelId>();
  #settledFor: ((ticket: TicketId) => void) | undefined;
  readonly #watch: RoomWatch | undefined;
  #tickets = 0;

  constructor(options: StageActorOptions) {
    this.#clock = options.clock;
    this.#reporter = options.reporter;
    this.#dismissed = options.dismissed ?? (() => {});
    this.#stage = new Stage(options);
    this.#loadOver = options.loadOver ?? (() => this.lookAgain());
    this.#capacity = sharedRoom(options);
    this.#turned = options.turned ?? (() => {});
    this.#numbers = options.numbers ?? (() => ticketId(++this.#tickets));
    this.#cutElsewhere = options.cutElsewhere ?? (() => {});
    this.#alarm = new Alarm(options.clock, () => this.#mailbox.post({ kind: 'time-passed' }));
    const { clock, gauge } = options;
    this.#watch =
      gauge &&
      new RoomWatch({
        clock,
        gauge: (engines) => gauge(engines.flatMap((engine) => this.#gauged(engine))),
        read: (reading) => this.#mailbox.post({ kind: 'memory-read', reading }),
      });
  }

  /** For showing, and for the watchdog: nobody decides by what they read here. */
  get stage(): Stage {
    return this.#stage;
  }

  get leases(): ReadonlyMap<TicketId, OpenLease> {
    return this.#leases;
  }

  get engines(): ReadonlyMap<EngineId, EngineActor> {
    return this.#engines;
  }

  /** Engines are made after the stage, since they tell it of their moves. */
  adopt(engine: EngineActor): void {
    this.#engines.set(engine.id, engine);
  }

  /** An engine that is off and never wanted again. */
  dismiss(engine: EngineId): void {
    this.#engines.delete(engine);
  }

  /** Another config. Once catnap shuts down it changes nothing. */
  revise(terms: RevisedTerms): void {
    this.#mailbox.post({ kind: 'models-set', ...terms });
  }

  /** Something outside has changed that the stage may have waited for. */
  lookAgain(): void {
    this.#mailbox.post({ kind: 'time-passed' });
  }

  engineMoved(engine: EngineId, model: ModelId, phase: EnginePhase, took: Took | undefined): void {
    this.#mailbox.post({ kind: 'engine-moved', engine, model, phase, took });
  }

  acquire(model: ModelId, { signal, wishes = {} }: Acquire): Promise<Lease> {
    const ticket = this.#numbers();
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    const leave = (): void => {
      this.#pending.delete(ticket);
      this.#mailbox.post({ kind: 'ticket-abandoned', ticket, model });
      reject(signal.reason);
    };
    const stopListening = (): void => signal.removeEventListener('abort', leave);
    if (signal.aborted) return Promise.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    this.#pending.set(ticket, {
      granted: (grant) => {
        stopListening();
        if (grant !== undefined) resolve(this.#open(grant));
      },
      refused: (error) => {
        stopListening();
        reject(error);
      },
    });
    this.#reporter.report({ kind: wishes.place === undefined ? 'request-arrived' : 'request-returned', model });
    this.#mailbox.post({ kind: 'ticket-arrived', ticket, model, terms: wishes });
    return promise;
  }

  barred(model: ModelId): Refused | undefined {
    const shut = this.#stage.barred(model);
    return shut && this.#refusalOf({ kind: 'reject', ticket: ticketId(0), model, ...shut });
  }

  acquireNow(model: ModelId, wishes: TicketTerms = {}): Lease | undefined {
    if (!this.#stage.hasPlaceFor(model)) return undefined;
    const ticket = this.#numbers();
    let lease: Lease | undefined;
    const granted = (grant: Grant | undefined): void => {
      lease = grant && this.#open(grant);
    };
    this.#pending.set(ticket, { granted, refused: () => {} });
    this.#reporter.report({ kind: 'request-arrived', model });
    this.#mailbox.post({ kind: 'ticket-arrived', ticket, model, terms: wishes });
    // In the middle of another turn it would be handled too late.
    if (this.#pending.delete(ticket)) this.#mailbox.post({ kind: 'ticket-abandoned', ticket, model });
    return lease;
  }

  glance(model: ModelId): Lease | undefined {
    for (const [engine, phase] of this.#stage.members.get(model)?.phases ?? []) {
      const backend = phase.kind === 'awake' ? this.#engines.get(engine)?.driver.backend : undefined;
      if (backend !== undefined && !backend.gone.aborted) {
        return new Glance({ ticket: this.#numbers(), model, engine, backend });
      }
    }
    return undefined;
  }

  /** Resolves when the model is awake; rejects with `Refused` as a request would be. The caller's leaving does not take the order back. */
  load(model: ModelId, terms: LoadTerms): Promise<void> {
    return this.#order((order) => ({ kind: 'load-asked', order, model, ...terms }));
  }

  /** Resolves when the model is put away. */
  unload(model: ModelId, terms: UnloadTerms): Promise<void> {
    return this.#order((order) => ({ kind: 'unload-asked', order, model, ...terms }));
  }

  setLevel(model: ModelId, level: LevelOrder): boolean {
    return this.#set({ kind: 'level-set', model, level });
  }

  setMode(mode: Mode['kind']): boolean {
    return this.#set({ kind: 'mode-set', mode });
  }

  /** False: it has let go, and decides nothing any more. */
  #set(event: StageEvent): boolean {
    this.#mailbox.post(event);
    return this.#settledFor === undefined;
  }

  /** Begins nothing new, or does again. */
  standStill(still: boolean): void {
    this.#mailbox.post({ kind: still ? 'standstill-asked' : 'standstill-over' });
  }

  /** Whether it stands still, and no engine is on its way anywhere. */
  get isStill(): boolean {
    return this.#stage.isStill && [...this.#engines.values()].every(({ engine }) => isAtRest(engine.phase));
  }

  /** Decides nothing any more. Whoever is served is let finish, and each is told of once it has ended. */
  letGo(settled: (ticket: TicketId) => void): void {
    this.#settledFor = settled;
    this.#mailbox.post({ kind: 'let-go' });
    // Unloads that are under way are the next one's.
    for (const { refused } of this.#pending.values()) refused(new Refused('restarting', GOES_ON, 1_000));
    this.#pending.clear();
    this.#closed.resolve();
  }

  takeOver(handed: Omit<HandedOver, 'kind'>): void {
    this.#mailbox.post({ kind: 'handed-over', ...handed });
    for (const { model, leases } of this.#stage.members.values())
      for (const ticket of leases.keys()) this.#elsewhere.set(ticket, model);
  }

  /** A request has ended that another catnap served; undefined: all of them have. */
  settledElsewhere(ticket: TicketId | undefined): void {
    const ended = ticket === undefined ? [...this.#elsewhere.keys()] : [ticket];
    for (const each of ended) {
      const model = this.#elsewhere.get(each);
      if (model === undefined) continue;
      this.#elsewhere.delete(each);
      this.#mailbox.post({ kind: 'lease-settled', ticket: each, model });
      this.#settledFor?.(each);
    }
  }

  /** Ends those that are served here, and passes on what is not. */
  cut({ tickets, code, reason, mayReturn }: HandedCut): void {
    const elsewhere = tickets.filter((ticket) => this.#elsewhere.has(ticket));
    for (const ticket of tickets) this.#leases.get(ticket)?.end(new Cut(code, reason, mayReturn));
    if (elsewhere.length > 0) this.#cutElsewhere({ tickets: elsewhere, code, reason, mayReturn });
  }

  /** Lets who is here finish within the time given, then puts every engine off. Asked again, it can only become more urgent. */
  shutDown(withinMs: number): Promise<void> {
    this.#mailbox.post({ kind: 'shutdown-asked', withinMs });
    return this.#closed.promise;
  }

  /** When models would have their turns, as things are now. */
  forecast(): Forecast {
    return new Forecast({ members: this.#stage.members, capacity: this.#capacity }, this.#clock.now());
  }

  /** When it makes sense to try again, from what is known of this model. */
  retryAfterMs(model: ModelId): number {
    return this.forecast().turnInMs(model);
  }

  #order(event: (order: TicketId) => StageEvent): Promise<void> {
    const order = this.#numbers();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#pending.set(order, { granted: () => resolve(), refused: reject });
    this.#mailbox.post(event(order));
    return promise;
  }

  #handle(event: StageEvent): void {
    const effects = this.#stage.handle(event, this.#clock.now());
    for (const effect of effects) this.#carryOut(effect);
    this.#alarm.set(this.#stage.dueAt);
    this.#turned();
    this.#watch?.follow(this.#stage.leavers);
  }

  /** One that goes to disk may come back to the GPU until it says otherwise. */
  #gauged(id: EngineId): readonly Gauged[] {
    const actor = this.#engines.get(id);
    if (actor === undefined) return [];
    const { phase } = actor.engine;
    const mayTake = phase.kind === 'falling-asleep' && phase.level === 4 && !actor.onlyGives;
    return [{ engine: id, mayTake, members: () => actor.driver.members() }];
  }

  #carryOut(effect: StageEffect): void {
    switch (effect.kind) {
      case 'set-goal':
        this.#engines.get(effect.engine)?.setGoal(effect.goal, effect.atOnce);
        return;
      case 'grant':
        this.#grant(effect);
        return;
      case 'order-done':
        this.#take(effect.order)?.granted(undefined);
        return;
      case 'reject': {
        this.#take(effect.ticket)?.refused(this.#refusalOf(effect));
        return;
      }
      case 'cut':
        this.cut(effect);
        return;
      case 'freeze':
      case 'thaw':
        for (const ticket of effect.tickets) this.#leases.get(ticket)?.stand(effect.kind === 'freeze');
        return;
      case 'dismissed':
        for (const engine of effect.engines) this.#dismissed(engine);
        return;
      case 'tell':
        this.#reporter.report(effect.fact);
        return;
      case 'load-over':
        this.#loadOver();
        return;
      case 'closed':
        this.#closed.resolve();
        return;
      default:
        unreachable(effect);
    }
  }

  #refusalOf({ code, reason, retryAt, failure, model }: Rejection): Refused {
    const lasting = failure !== undefined && isLasting(failure);
    const retryAfterMs = retryAt === undefined ? this.retryAfterMs(model) : Math.max(0, retryAt - this.#clock.now());
    const said = failure === undefined ? reason : `${model} cannot be served: ${wordForClients(failure)}`;
    return new Refused(code, said, ERRORS[code].retry && !lasting ? retryAfterMs : undefined, lasting);
  }

  #grant(grant: Grant): void {
    const { ticket, model } = grant;
    const pending = this.#take(ticket);
    // Its client left in the same turn: the grant does not count, and the place is given back at once.
    if (pending === undefined) this.#mailbox.post({ kind: 'lease-settled', ticket, model });
    else pending.granted(grant);
  }

  #open({ ticket, model, engine, place, waitedMs, enteringMs }: Grant): Lease {
    const backend = this.#engines.get(engine)?.driver.backend;
    invariant(backend !== undefined, `${engine} is awake and has no backend`);
    const lease = new OpenLease({
      ticket,
      model,
      engine,
      backend,
      place,
      queuedMs: waitedMs,
      swapMs: enteringMs,
      clock: this.#clock,
      settled: () => {
        this.#leases.delete(ticket);
        this.#mailbox.post({ kind: 'lease-settled', ticket, model });
        this.#settledFor?.(ticket);
      },
    });
    this.#leases.set(ticket, lease);
    this.#reporter.report({ kind: 'request-granted', model, waitedMs });
    return lease;
  }

  #take(ticket: TicketId): Pending | undefined {
    const pending = this.#pending.get(ticket);
    this.#pending.delete(ticket);
    return pending;
  }
}

const GOES_ON = 'catnap restarts, and goes on with it then';

const isAtRest = (phase: EnginePhase): boolean => phase.kind === 'awake' || atRest(phase);
