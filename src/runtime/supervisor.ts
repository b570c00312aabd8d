import type { EngineRules } from '../core/engine.ts';
import type { EngineId, ModelId, SleepLevel } from '../core/kinds.ts';
import type { Member } from '../core/member.ts';
import type { RevisedTerms, StageOptions, TicketTerms, UnloadTerms } from '../core/stage-events.ts';
import type { Mode } from '../core/steering.ts';
import type { Driver, DriverEvents } from '../engines/driver.ts';
import type { Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';
import { Refused, type Acquire, type Admission, type Lease } from './admission.ts';
import type { CostsByModel } from '../ports/cost-file.ts';
import { startMs, type Forecast } from './forecast.ts';
import { EngineActor } from './engine-actor.ts';
import { LoadOverrides } from './load-overrides.ts';
import type { LoadWish, Operator, OrderEnd } from './operator.ts';
import { StageActor } from './stage-actor.ts';
import type { EngineView, ModelView, StageReader, StageView } from './view.ts';
import { Watchdog } from './watchdog.ts';

export type EngineSpec = {
  readonly id: EngineId;
  readonly model: ModelId;
  readonly rules: EngineRules;
  /** How long it may hold leases in silence before it must prove itself, and how long that may take. */
  readonly stallMs: number;
  readonly proofMs: number;
  readonly makeDriver: (events: DriverEvents) => Driver;
};

export type SupervisorOptions = {
  readonly stage: StageOptions;
  readonly engines: readonly EngineSpec[];
  readonly clock: Clock;
  readonly reporter: Reporter;
  /** What loads ask to be different; the drivers read it. */
  readonly overrides?: LoadOverrides;
};

export type Revised = RevisedTerms & {
  readonly engines: readonly EngineSpec[];
  /** The models of which another config says anything else. */
  readonly revised: ReadonlySet<ModelId>;
};

/** Makes the actors of one stage and its engines, ties them together, and closes them. */
export class Supervisor implements Admission, Operator, StageReader {
  readonly #clock: Clock;
  readonly #reporter: Reporter;
  readonly #stage: StageActor;
  readonly #watchdog: Watchdog;
  readonly #overrides: LoadOverrides;

  constructor({ stage, engines, clock, reporter, overrides = new LoadOverrides() }: SupervisorOptions) {
    this.#clock = clock;
    this.#overrides = overrides;
    this.#reporter = reporter;
    const dismissed = (engine: EngineId): void => this.#dismiss(engine);
    this.#stage = new StageActor({ ...stage, clock, reporter, dismissed });
    this.#watchdog = new Watchdog({ clock, leases: () => this.#stage.leases.values() });
    for (const spec of engines) this.#employ(spec);
  }

  /**
   * Another config, all of it in one turn. `engines` are all there are to be; those of `revised` models hear of it, the others are not touched.
   * False while catnap shuts down, when it changes nothing.
   */
  revise({ options, anew, engines, revised }: Revised): boolean {
    if (!this.#stage.stage.accepting) return false;
    for (const spec of engines) {
      const actor = this.#stage.engines.get(spec.id);
      if (actor === undefined) this.#employ(spec);
      else if (revised.has(spec.model)) {
        actor.revise(spec);
        this.#watchdog.watch({ actor, stallMs: spec.stallMs, proofMs: spec.proofMs });
      }
    }
    for (const model of anew) this.#overrides.clear(model);
    this.#stage.revise({ options, anew });
    // Replicas that one config wanted and the next one not, before they ever ran.
    const wanted = new Set(engines.map(({ id }) => id));
    for (const { phases } of this.#stage.stage.members.values()) for (const id of phases.keys()) wanted.add(id);
    for (const id of [...this.#stage.engines.keys()]) if (!wanted.has(id)) this.#dismiss(id);
    return true;
  }

  #employ({ id, model, rules, stallMs, proofMs, makeDriver }: EngineSpec): void {
    const moved: ConstructorParameters<typeof EngineActor>[0]['moved'] = (phase, took) =>
      this.#stage.engineMoved(id, model, phase, took);
    const [clock, reporter] = [this.#clock, this.#reporter];
    const actor = new EngineActor({ id, model, rules, clock, reporter, makeDriver, moved });
    this.#stage.adopt(actor);
    this.#watchdog.watch({ actor, stallMs, proofMs });
  }

  #dismiss(engine: EngineId): void {
    this.#stage.dismiss(engine);
    this.#watchdog.forget(engine);
  }

  async acquire(model: ModelId, terms: Acquire): Promise<Lease> {
    const lease = await this.#stage.acquire(model, terms);
    this.#watchdog.wake();
    return lease;
  }

  barred(model: ModelId): Refused | undefined {
    return this.#stage.barred(model);
  }

  acquireNow(model: ModelId, wishes?: TicketTerms): Lease | undefined {
    const lease = this.#stage.acquireNow(model, wishes);
    if (lease !== undefined) this.#watchdog.wake();
    return lease;
  }

  glance(model: ModelId): Lease | undefined {
    return this.#stage.glance(model);
  }

  async load(model: ModelId, { as, replicas, override }: LoadWish): Promise<OrderEnd> {
    const fresh = override !== undefined && this.#overrides.set(model, override);
    const end = await endOf(this.#stage.load(model, { as, fresh, replicas }));
    if (end.kind === 'refused' && override !== undefined) this.#overrides.drop(model, override);
    return end;
  }

  async unload(model: ModelId, terms: UnloadTerms): Promise<OrderEnd> {
    const end = await endOf(this.#stage.unload(model, terms));
    if (terms.level === 5) this.#overrides.clear(model);
    return end;
  }

  setLevel(model: ModelId, level: SleepLevel | undefined): void {
    this.#stage.setLevel(model, level);
  }

  setMode(mode: Mode['kind']): void {
    this.#stage.setMode(mode);
  }

  /** The last lines the engines of a model have printed. */
  tail(model: string, lines: number): readonly string[] {
    const own = [...this.#stage.engines.values()].filter((engine) => engine.model === model);
    return own.flatMap(({ driver }) => driver.tail(lines)).slice(-lines);
  }

  retryAfterMs(model: ModelId): number {
    return this.#stage.retryAfterMs(model);
  }

  /** What swaps of each model cost so far, to be kept. */
  costs(): CostsByModel {
    return new Map([...this.#stage.stage.members].map(([model, { costs }]) => [model, costs.save()]));
  }

  /** Resolves once every engine is proven gone. Asked again with less time, it hurries. */
  async shutDown(withinMs: number): Promise<void> {
    await this.#stage.shutDown(withinMs);
    this.#watchdog.stop();
  }

  view(): StageView {
    const now = this.#clock.now();
    const { stage } = this.#stage;
    const models = [...stage.members.values()].map((member) => this.#viewOf(member));
    let forecast: Forecast | undefined;
    const swap = [...stage.members.values()].find((member) => member.swap !== undefined)?.swap;
    return {
      now,
      accepting: stage.accepting,
      mode: stage.mode,
      models,
      readyInMs: (model) => (forecast ??= this.#stage.forecast()).readyInMs(model),
      swap: swap && { id: swap.id, to: swap.to, from: swap.from, sinceMs: now - swap.startedAt },
    };
  }

  #viewOf(member: Member): ModelView {
    const { model, part, lane, leases, sleepLevel, phases, held, replicas, stale, departs } = member;
    return {
      model,
      part: part.kind,
      waiting: lane.length,
      loadWaits: lane.hasLoad,
      held,
      replicas,
      override: this.#overrides.of(model),
      oldestWaitMs: lane.first && this.#clock.now() - lane.first.since,
      inFlight: leases.size,
      sleepLevel,
      stale,
      departs,
      engines: [...phases.keys()].map((engine) => this.#viewOfEngine(engine)).filter((view) => view !== undefined),
      startEstimateMs: startMs(member),
    };
  }

  #viewOfEngine(id: EngineId): EngineView | undefined {
    const actor = this.#stage.engines.get(id);
    if (actor === undefined) return undefined;
    const { engine, driver } = actor;
    return {
      engine: id,
      phase: engine.phase,
      goal: engine.goal,
      pid: driver.running?.pid,
      port: driver.running?.port,
      dozes: driver.dozes === true,
    };
  }
}

/** A refusal is an answer; anything else is a bug of ours. */
async function endOf(order: Promise<void>): Promise<OrderEnd> {
  try {
    await order;
    return { kind: 'done' };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { code, message, retryAfterMs } = error;
    return { kind: 'refused', code, message, retryAfterMs };
  }
}
