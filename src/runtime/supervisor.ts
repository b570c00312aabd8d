import type { EngineRules } from '../core/engine.ts';
import { after, invariant, ticketId, type EngineId, type ModelId, type TicketId } from '../core/kinds.ts';
import type { ModelTerms } from '../core/terms.ts';
import type { LevelOrder, RevisedTerms, StageOptions, TicketTerms, UnloadTerms } from '../core/stage-events.ts';
import type { Mode } from '../core/steering.ts';
import type { Driver, DriverEvents } from '../engines/driver.ts';
import type { Clock } from '../ports/clock.ts';
import type { HandedCut, HandedStage } from '../ports/handover.ts';
import type { Reporter } from '../ports/reporter.ts';
import { Cut, type Acquire, type Admission, type Lease, type Refused } from './admission.ts';
import type { SavedCosts } from '../core/costs.ts';
import type { CostsByModel } from '../ports/cost-file.ts';
import type { Forecast } from './forecast.ts';
import { EngineActor, type ResidentBytes } from './engine-actor.ts';
import { endAll, type OpenLease } from './lease.ts';
import { boardView, modelView } from './viewing.ts';
import { handedModel, takenModel, underWay } from './handing-over.ts';
import type { Gauge } from './room-watch.ts';
import { LoadOverrides } from './load-overrides.ts';
import { endOf, type LoadWish, type Operator, type OrderEnd } from './operator.ts';
import { StageActor } from './stage-actor.ts';
import type { StageReader, StageView } from './view.ts';
import { Watchdog } from './watchdog.ts';

export type EngineSpec = {
  readonly id: EngineId;
  readonly model: ModelId;
  readonly rules: EngineRules;
  /** How long it may hold leases in silence before it must prove itself, and how long that may take. */
  readonly stallMs: number;
  readonly proofMs: number;
  readonly makeDriver: (events: DriverEvents) => Driver;
  /** The settings that it goes by, for whoever makes such a driver elsewhere. */
  readonly definition?: string;
};

/** One stage, and what is shown of it. */
export type StageSpec = {
  readonly name: string;
  readonly gpus: readonly string[];
  /** What its budget counts. */
  readonly counts: string;
  readonly options: StageOptions;
};

export type SupervisorOptions = {
  readonly stages: readonly StageSpec[];
  readonly engines: readonly EngineSpec[];
  readonly clock: Clock;
  readonly reporter: Reporter;
  /** What loads ask to be different; the drivers read it. */
  readonly overrides?: LoadOverrides;
  /** Measures what engines hold in host memory while they sleep. */
  readonly residentBytes?: ResidentBytes;
  /** Measures the memory of a stage. */
  readonly gaugeOf?: (stage: string) => Gauge | undefined;
  /** Ends requests that another catnap serves on engines that were taken over. */
  readonly cutElsewhere?: (cut: HandedCut) => void;
};

export type HandOverTerms = {
  /** How long engines that are on their way may take to arrive. */
  readonly withinMs: number;
  /** Nobody waits for that any more; its reason is why. */
  readonly signal: AbortSignal;
  readonly settled: (ticket: TicketId) => void;
};

/** What a stage leaves to the next one. */
export type Left = Pick<HandedStage, 'name' | 'mode' | 'models'>;

export type TakeOver = {
  readonly stages: readonly Left[];
  /** Whose engines are to be others than they are. */
  readonly anew: readonly ModelId[];
  /** What one of a model's engines is, by the settings it was started with. */
  readonly specOf: (id: EngineId, model: ModelId, definition: string) => EngineSpec;
  /** How long it may take to find out how one of them does. */
  readonly limitMs: number;
};

export type Revised = Pick<RevisedTerms, 'anew'> & {
  /** What each stage is told, by its name. Stages are neither made nor ended, and no model moves to another. */
  readonly stages: ReadonlyMap<string, RevisedTerms['options']>;
  readonly engines: readonly EngineSpec[];
  /** The models of which another config says anything else. */
  readonly revised: ReadonlySet<ModelId>;
};

type OnStage = { readonly spec: StageSpec; readonly actor: StageActor };

/** Makes the actors of the stages and their engines, ties them together, and closes them. Knows which model is on which stage. */
export class Supervisor implements Admission, Operator, StageReader {
  readonly #clock: Clock;
  readonly #reporter: Reporter;
  readonly #stages: readonly OnStage[];
  /** Also for those that the config has no more: their stage has the last word on them. */
  readonly #stageOf = new Map<ModelId, StageActor>();
  /** Where each model is in the config. Those that it has no more come last. */
  #order: ReadonlyMap<ModelId, number> = new Map();
  readonly #watchdog: Watchdog;
  readonly #overrides: LoadOverrides;
  readonly #residentBytes: ResidentBytes | undefined;
  /** Told after each event while it is waited for that no engine is on its way. */
  #turned: (() => void) | undefined;
  #tickets = 0;

  constructor(options: SupervisorOptions) {
    const { stages, engines, clock, reporter, overrides = new LoadOverrides(), residentBytes, cutElsewhere } = options;
    this.#residentBytes = residentBytes;
    this.#clock = clock;
    this.#overrides = overrides;
    this.#reporter = reporter;
    const loadOver = (): void => {
      for (const { actor } of this.#stages) actor.lookAgain();
    };
    const dismissed = (engine: EngineId): void => this.#dismiss(engine);
    const turned = (): void => this.#turned?.();
    const numbers = (): TicketId => ticketId(++this.#tickets);
    const common = { clock, reporter, loadOver, dismissed, turned, numbers, ...(cutElsewhere && { cutElsewhere }) };
    this.#stages = stages.map((spec) => {
      const gauge = options.gaugeOf?.(spec.name);
      return { spec, actor: new StageActor({ ...spec.options, ...common, gauge }) };
    });
    for (const { spec, actor } of this.#stages) this.#place(spec.options.models, actor);
    this.#watchdog = new Watchdog({ clock, leases: () => this.#leases() });
    this.#order = orderOf(engines);
    for (const spec of engines) this.#employ(spec);
  }

  /**
   * Another config, all of it in one turn. `engines` are all there are to be; those of `revised` models hear of it, the others are not touched.
   * False while catnap shuts down, when it changes nothing.
   */
  revise({ stages, anew, engines, revised }: Revised): boolean {
    if (!this.#accepting) return false;
    for (const { spec, actor } of this.#stages) this.#place(stages.get(spec.name)?.models ?? [], actor);
    this.#order = orderOf(engines);
    for (const spec of engines) {
      const actor = this.#of(spec.model).engines.get(spec.id);
      if (actor === undefined) this.#employ(spec);
      else if (revised.has(spec.model)) {
        actor.revise(spec);
        this.#watchdog.watch({ actor, stallMs: spec.stallMs, proofMs: spec.proofMs });
      }
    }
    for (const model of anew) this.#overrides.clear(model);
    const wanted = new Set(engines.map(({ id }) => id));
    for (const { spec, actor } of this.#stages) {
      const options = stages.get(spec.name);
      if (options !== undefined) actor.revise({ options, anew: anew.filter((model) => this.#of(model) === actor) });
      for (const { phases } of actor.stage.members.values()) for (const id of phases.keys()) wanted.add(id);
    }
    // Replicas that one config wanted and the next one not, before they ever ran.
    for (const { actor } of this.#stages) for (const id of actor.engines.keys()) if (!wanted.has(id)) this.#dismiss(id);
    return true;
  }

  #place(models: readonly Pick<ModelTerms, 'model'>[], actor: StageActor): void {
    for (const { model } of models) {
      const known = this.#stageOf.get(model);
      invariant(known === undefined || known === actor, `${model} cannot move to another stage`);
      this.#stageOf.set(model, actor);
    }
  }

  #employ({ id, model, rules, stallMs, proofMs, makeDriver, definition }: EngineSpec): EngineActor {
    const stage = this.#of(model);
    const moved: ConstructorParameters<typeof EngineActor>[0]['moved'] = (phase, took) =>
      stage.engineMoved(id, model, phase, took);
    const [clock, reporter] = [this.#clock, this.#reporter];
    const residentBytes = this.#residentBytes;
    const driver = { makeDriver, ...(definition !== undefined && { definition }) };
    const actor = new EngineActor({ id, model, rules, clock, reporter, moved, residentBytes, ...driver });
    stage.adopt(actor);
    this.#watchdog.watch({ actor, stallMs, proofMs });
    return actor;
  }

  #dismiss(engine: EngineId): void {
    for (const { actor } of this.#stages) actor.dismiss(engine);
    this.#watchdog.forget(engine);
  }

  async acquire(model: ModelId, terms: Acquire): Promise<Lease> {
    const lease = await this.#of(model).acquire(model, terms);
    this.#watchdog.wake();
    return lease;
  }

  barred(model: ModelId): Refused | undefined {
    return this.#of(model).barred(model);
  }

  acquireNow(model: ModelId, wishes?: TicketTerms): Lease | undefined {
    const lease = this.#of(model).acquireNow(model, wishes);
    if (lease !== undefined) this.#watchdog.wake();
    return lease;
  }

  glance(model: ModelId): Lease | undefined {
    return this.#of(model).glance(model);
  }

  async load(model: ModelId, { override, ...wish }: LoadWish): Promise<OrderEnd> {
    const before = this.#overrides.of(model);
    const fresh = override !== undefined && this.#overrides.set(model, override);
    const end = await endOf(this.#of(model).load(model, { ...wish, fresh }));
    if (end.kind === 'refused' && override !== undefined) {
      if (end.code === 'engine_failed') this.#overrides.drop(model, override);
      else this.#overrides.takeBack(model, override, before);
    }
    return end;
  }

  async unload(model: ModelId, terms: UnloadTerms): Promise<OrderEnd> {
    const end = await endOf(this.#of(model).unload(model, terms));
    if (terms.level === 5) this.#overrides.clear(model);
    return end;
  }

  setLevel(model: ModelId, level: LevelOrder): boolean {
    return this.#of(model).setLevel(model, level);
  }

  setMode(mode: Mode['kind']): boolean {
    return this.#stages.map(({ actor }) => actor.setMode(mode)).every(Boolean);
  }

  /** The last lines the engines of a model have printed. */
  tail(model: string, lines: number): readonly string[] {
    const all = this.#stages.flatMap(({ actor }) => [...actor.engines.values()]);
    const own = all.filter((engine) => engine.model === model);
    return own.flatMap(({ driver }) => driver.tail(lines)).slice(-lines);
  }

  retryAfterMs(model: ModelId): number {
    return this.#of(model).retryAfterMs(model);
  }

  /** What swaps of one model cost so far. */
  costsOf(model: ModelId): SavedCosts {
    return this.#of(model).stage.members.get(model)?.costs.save() ?? {};
  }

  /** The same of all, to be kept. */
  costs(): CostsByModel {
    const members = this.#stages.flatMap(({ actor }) => [...actor.stage.members.values()]);
    return new Map(members.map(({ model, costs }) => [model, costs.save()]));
  }

  /** Resolves once every engine is proven gone. Asked again with less time, it hurries. */
  async shutDown(withinMs: number): Promise<void> {
    await Promise.all(this.#stages.map(({ actor }) => actor.shutDown(withinMs)));
    this.#watchdog.stop();
  }

  /**
   * Lets go of all engines without stopping any, once none is on its way. Rejects with who still is when the time is up, or with what the signal says, and
   * goes on then. Afterwards whoever is served is let finish, each told of with its ticket.
   */
  handOver({ withinMs, signal, settled }: HandOverTerms): Promise<readonly Left[]> {
    if (!this.#accepting || this.#turned !== undefined) return Promise.reject(new Error('catnap is about to end'));
    const { promise, resolve, reject } = Promise.withResolvers<readonly Left[]>();
    const giveUp = (why: string): void => {
      done();
      for (const { actor } of this.#stages) actor.standStill(false);
      reject(new Error(why));
    };
    const calledOff = (): void => giveUp(String(signal.reason));
    const cancel = this.#clock.at(after(this.#clock.now(), withinMs), () =>
      giveUp(`${underWay(this.#stages)} after ${withinMs / 1_000} s`),
    );
    const done = (): void => {
      cancel();
      signal.removeEventListener('abort', calledOff);
      this.#turned = undefined;
    };
    const look = (): void => {
      const isStill = this.#stages.every(({ actor }) => actor.isStill);
      if (this.#turned === undefined || (this.#accepting && !isStill)) return;
      if (!this.#accepting) return giveUp('catnap is shutting down');
      done();
      resolve(this.#letGo(settled));
    };
    // Everything that an event leads to has happened then.
    const lookSoon = (): void => queueMicrotask(look);
    this.#turned = lookSoon;
    signal.addEventListener('abort', calledOff);
    for (const { actor } of this.#stages) actor.standStill(true);
    return promise;
  }

  #letGo(settled: (ticket: TicketId) => void): readonly Left[] {
    this.#watchdog.stop();
    const now = this.#clock.now();
    return this.#stages.map(({ spec, actor }) => {
      const { stage, engines } = actor;
      // First of all: what is refused then takes back what it has set.
      actor.letGo(settled);
      const models = [...stage.members.values()].map((member) => {
        const running = [...member.phases.keys()].flatMap((id) => engines.get(id)?.release() ?? []);
        return handedModel(member, { override: this.#overrides.of(member.model), running, now });
      });
      return { name: spec.name, mode: stage.mode, models };
    });
  }

  /** Before anything else: engines that run already. Resolves once it is known of each how it does; they are all there in one turn. */
  async takeOver({ stages, anew, specOf, limitMs }: TakeOver): Promise<void> {
    const adopted = stages.flatMap(({ name, models }) => {
      const stage = this.#stages.find(({ spec }) => spec.name === name)?.actor;
      invariant(stage !== undefined, `there is no stage ${name}`);
      return models.flatMap(({ model, running, engines, override, leases, unload }) => {
        if (running.length === 0 && this.#of(model) !== stage) return [];
        this.#place([{ model }], stage);
        if (!anew.includes(model)) this.#overrides.set(model, override);
        const tickets = [...leases.map(({ ticket }) => ticket), ...(unload?.orders ?? [])];
        this.#tickets = Math.max(this.#tickets, ...tickets);
        const [first] = running;
        for (const id of first === undefined ? [] : engines)
          if (first !== undefined && !stage.engines.has(id)) this.#employ(specOf(id, model, first.definition));
        return running.flatMap((handed) => {
          const actor = stage.engines.get(handed.engine);
          return actor === undefined
            ? []
            : [actor.adopt(handed, specOf(handed.engine, model, handed.definition), limitMs)];
        });
      });
    });
    await Promise.all(adopted);
    const now = this.#clock.now();
    for (const { name, mode, models } of stages) {
      const onStage = this.#stages.find(({ spec }) => spec.name === name);
      if (onStage === undefined) continue;
      const { spec, actor } = onStage;
      const phases = new Map(Array.from(actor.engines.values(), (engine) => [engine.id, engine.present()] as const));
      const taken = models.flatMap((handed) => {
        const terms = spec.options.models.find(({ model }) => model === handed.model);
        return takenModel(handed, { terms, phases, now }) ?? [];
      });
      actor.takeOver({ mode, models: taken, anew });
    }
  }

  settledElsewhere(ticket: TicketId | undefined): void {
    for (const { actor } of this.#stages) actor.settledElsewhere(ticket);
  }

  cut(cut: HandedCut): void {
    for (const { actor } of this.#stages) actor.cut(cut);
  }

  /** After a handover: ends what is still open here. */
  cutAll(reason: string): void {
    endAll(this.#leases(), new Cut('restarting', reason), this.#reporter);
  }

  /** One reading of all stages. */
  view(): StageView {
    const now = this.#clock.now();
    const stages = this.#stages.map(({ spec, actor }) => boardView(spec, actor.stage, now));
    const seen = this.#stages.flatMap(({ spec, actor }) =>
      [...actor.stage.members.values()].map((member) =>
        modelView(member, { spec, actor, override: this.#overrides.of(member.model), now }),
      ),
    );
    const rank = (model: ModelId): number => this.#order.get(model) ?? Number.MAX_SAFE_INTEGER;
    const models = seen.toSorted((a, b) => rank(a.model) - rank(b.model));
    const manual = stages.find(({ mode }) => mode.kind === 'manual' && mode.pinned !== undefined);
    const mode = (manual ?? stages.find((stage) => stage.mode.kind === 'manual'))?.mode ?? { kind: 'auto' };
    const forecasts = new Map<StageActor, Forecast>();
    const readyInMs = (model: ModelId): number => {
      const actor = this.#of(model);
      const forecast = forecasts.get(actor) ?? actor.forecast();
      forecasts.set(actor, forecast);
      return forecast.readyInMs(model);
    };
    const swap = stages.find((stage) => stage.swap !== undefined)?.swap;
    return { now, accepting: this.#accepting, mode, models, stages, readyInMs, swap };
  }

  get #accepting(): boolean {
    return this.#stages.every(({ actor }) => actor.stage.accepting);
  }

  /** Of a model that never was the first stage says that there is none. */
  #of(model: ModelId): StageActor {
    const actor = this.#stageOf.get(model) ?? this.#stages[0]?.actor;
    invariant(actor !== undefined, 'there is no stage');
    return actor;
  }

  *#leases(): Generator<OpenLease> {
    for (const { actor } of this.#stages) yield* actor.leases.values();
  }
}

const orderOf = (engines: readonly EngineSpec[]): ReadonlyMap<ModelId, number> =>
  new Map([...new Set(engines.map(({ model }) => model))].map((model, at) => [model, at]));
