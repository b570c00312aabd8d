import { newEngine, stepEngine, type Engine, type EngineCommand, type EngineRules } from '../core/engine.ts';
import { defaultEngineRules } from '../core/engine.ts';
import { Heap } from '../core/heap.ts';
import {
  after,
  invariant,
  millis,
  modelId,
  ticketId,
  type EngineId,
  type Millis,
  type ModelId,
  type TicketId,
} from '../core/kinds.ts';
import { Stage } from '../core/stage.ts';
import type { StageEffect, StageEvent, StageOptions } from '../core/stage-events.ts';
import type { Took } from '../core/swap.ts';
import { Tally, type Outcome } from './tally.ts';
import type { Arrival, Workload } from './workload.ts';

/** What swaps of a model take in the simulated world. */
export type SwapTimes = { readonly comeMs: number; readonly goMs: number };

export type ReplayOptions = {
  readonly stages: readonly StageOptions[];
  readonly workload: Workload;
  readonly times: (model: ModelId) => SwapTimes;
  /**
   * Who is cut off is put away with its work as it is: it goes back into the line as of that moment, and when it has its next turn only what was left of
   * its service is done.
   */
  readonly freezes?: boolean;
};

/** A request that is being served. */
type Job = { readonly arrival: Arrival; readonly since: Millis };

/** No command of a simulated engine fails, and none is late. */
const RULES: EngineRules = {
  ...defaultEngineRules,
  limits: { start: 1e9, sleep: 1e9, wake: 1e9, stop: 1e9 },
};

const priorityOf = ({ priority = 'normal' }: Arrival) => ({ priority });

type Due = { readonly at: Millis; readonly order: number; readonly run: () => void };

/** Plays a workload on the production stages and engines, with a clock of its own, and counts what comes of it. */
export function replay(options: ReplayOptions): Outcome {
  return new Replay(options).run();
}

class Replay {
  readonly #options: ReplayOptions;
  readonly #stages: readonly Stage[];
  readonly #stageOf = new Map<ModelId, Stage>();
  readonly #engines = new Map<EngineId, Engine>();
  readonly #tally: Tally;
  /** Who waits or is served. */
  readonly #clients = new Map<number, Arrival>();
  readonly #jobs = new Map<number, Job>();
  /** Those in the line that have been served in part. */
  readonly #frozen = new Set<number>();
  readonly #due = new Heap<Due>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  readonly #arrivals: Iterator<Arrival>;
  #now = millis(0);
  #order = 0;
  #tickets = 0;
  #events = 0;
  #next: Arrival | undefined;
  /** The mail of the stages: what is posted while an event is handled waits until that one is done. */
  readonly #mail: { readonly to: Stage; readonly event: StageEvent }[] = [];
  #handling = false;

  constructor(options: ReplayOptions) {
    const { stages, workload } = options;
    this.#options = options;
    this.#stages = stages.map((terms) => {
      const stage = new Stage(terms);
      for (const { model } of terms.models) this.#stageOf.set(model, stage);
      return stage;
    });
    const models = stages.flatMap((terms) => terms.models);
    for (const { engines } of models) for (const engine of engines) this.#engines.set(engine, newEngine);
    this.#tally = new Tally(models.map(({ model }) => model));
    this.#arrivals = workload.arrivals[Symbol.iterator]();
    this.#fetch();
  }

  run(): Outcome {
    while (this.#advance());
    return this.#tally.outcome(this.#now, this.#events);
  }

  /** Whatever is next: an arrival, something that is due, or the stage's own moment. False when nothing is. */
  #advance(): boolean {
    const arrivesAt = this.#next?.at ?? Number.POSITIVE_INFINITY;
    const dueAt = this.#due.first?.at ?? Number.POSITIVE_INFINITY;
    const [stage, stageAt] = this.#firstDue();
    const at = Math.min(arrivesAt, dueAt, stageAt);
    if (at === Number.POSITIVE_INFINITY) return false;
    this.#now = millis(Math.max(this.#now, at));
    if (at === dueAt) this.#due.take()?.run();
    else if (at === arrivesAt) this.#arriveNext();
    else if (stage !== undefined) this.#send(stage, { kind: 'time-passed' });
    return true;
  }

  #firstDue(): readonly [Stage | undefined, number] {
    let first: Stage | undefined;
    let at = Number.POSITIVE_INFINITY;
    for (const stage of this.#stages) {
      const { dueAt = at } = stage;
      if (dueAt < at) [first, at] = [stage, dueAt];
    }
    return [first, at];
  }

  #fetch(): void {
    const { done, value } = this.#arrivals.next();
    this.#next = done === true ? undefined : value;
  }

  #arriveNext(): void {
    const arrival = this.#next;
    this.#fetch();
    if (arrival !== undefined) this.#arrive(arrival);
  }

  #arrive(arrival: Arrival): void {
    const ticket = ticketId(++this.#tickets);
    const model = modelId(arrival.model);
    this.#clients.set(ticket, arrival);
    if (arrival.leavesAfterMs !== undefined) this.#in(arrival.leavesAfterMs, () => this.#leave(ticket, model));
    this.#post({ kind: 'ticket-arrived', ticket, model, terms: priorityOf(arrival) });
  }

  #leave(ticket: ReturnType<typeof ticketId>, model: ModelId): void {
    const arrival = this.#clients.get(ticket);
    if (arrival === undefined) return;
    this.#clients.delete(ticket);
    this.#tally.left();
    this.#post({ kind: 'ticket-abandoned', ticket, model });
    this.#follow(arrival);
  }

  #post(event: StageEvent & { readonly model: ModelId }): void {
    const stage = this.#stageOf.get(event.model);
    invariant(stage !== undefined, `${event.model} is on no stage`);
    this.#send(stage, event);
  }

  #send(to: Stage, event: StageEvent): void {
    this.#mail.push({ to, event });
    if (this.#handling) return;
    this.#handling = true;
    for (let next = this.#mail.shift(); next !== undefined; next = this.#mail.shift()) {
      this.#events++;
      for (const effect of next.to.handle(next.event, this.#now)) this.#carryOut(effect);
    }
    this.#handling = false;
  }

  #carryOut(effect: StageEffect): void {
    switch (effect.kind) {
      case 'grant': {
        const { ticket, model, waitedMs } = effect;
        const arrival = this.#clients.get(ticket);
        invariant(arrival !== undefined, `${ticket} was served and is not there`);
        this.#clients.delete(ticket);
        if (!this.#frozen.delete(ticket)) this.#tally.granted(model, waitedMs, this.#now);
        this.#jobs.set(ticket, { arrival, since: this.#now });
        this.#in(arrival.serviceMs, () => this.#finish(ticket, model));
        return;
      }
      case 'reject': {
        const arrival = this.#clients.get(effect.ticket);
        this.#clients.delete(effect.ticket);
        this.#tally.rejected();
        if (arrival !== undefined) this.#follow(arrival);
        return;
      }
      case 'set-goal':
        this.#step(effect.engine, { kind: 'goal-set', goal: effect.goal, atOnce: effect.atOnce });
        return;
      case 'tell':
        this.#tally.told(effect.fact, this.#now);
        return;
      case 'load-over':
        for (const stage of this.#stages) this.#send(stage, { kind: 'time-passed' });
        return;
      case 'cut':
        if (this.#options.freezes === true) for (const ticket of effect.tickets) this.#freeze(ticket, effect.model);
        return;
      case 'freeze':
      case 'thaw':
      case 'order-done':
      case 'dismissed':
      case 'closed':
        return;
    }
  }

  #finish(ticket: TicketId, model: ModelId): void {
    const job = this.#jobs.get(ticket);
    if (job === undefined) return;
    this.#jobs.delete(ticket);
    this.#tally.settled(model, this.#now);
    this.#post({ kind: 'lease-settled', ticket, model });
    this.#follow(job.arrival);
  }

  #freeze(ticket: TicketId, model: ModelId): void {
    const job = this.#jobs.get(ticket);
    if (job === undefined) return;
    this.#jobs.delete(ticket);
    this.#post({ kind: 'lease-settled', ticket, model });
    const again = ticketId(++this.#tickets);
    const { leavesAfterMs: _, ...arrival } = job.arrival;
    this.#clients.set(again, { ...arrival, serviceMs: arrival.serviceMs - (this.#now - job.since) });
    this.#frozen.add(again);
    this.#post({ kind: 'ticket-arrived', ticket: again, model, terms: priorityOf(arrival) });
  }

  #follow(done: Arrival): void {
    const next = this.#options.workload.followUp?.(done, this.#now);
    if (next !== undefined) this.#in(next.at - this.#now, () => this.#arrive(next));
  }

  #step(id: EngineId, event: Parameters<typeof stepEngine>[1], took?: Took): void {
    const before = this.#engines.get(id) ?? newEngine;
    const { engine, effects } = stepEngine(before, event, this.#now, RULES);
    this.#engines.set(id, engine);
    const model = modelId(id.slice(0, id.lastIndexOf('#')));
    for (const { epoch, command } of effects) {
      const actMs = this.#takes(model, command);
      this.#in(actMs, () => this.#step(id, { kind: 'command-done', epoch }, { actMs, proofMs: 0 }));
    }
    if (engine.phase === before.phase) return;
    this.#tally.moved(model, engine.phase.kind, this.#now);
    this.#post({ kind: 'engine-moved', engine: id, model, phase: engine.phase, took });
  }

  #takes(model: ModelId, { kind }: EngineCommand): number {
    const { comeMs, goMs } = this.#options.times(model);
    return kind === 'start' || kind === 'wake' ? comeMs : goMs;
  }

  #in(ms: number, run: () => void): void {
    this.#due.push({ at: after(this.#now, ms), order: this.#order++, run });
  }
}
