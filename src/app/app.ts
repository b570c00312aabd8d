import { openProcesses, type SystemProcesses } from '../adapters/processes.ts';
import { sweepKept } from './sweeping.ts';
import { systemPrograms } from '../adapters/programs.ts';
import { residentBytes } from '../adapters/resident-memory.ts';
import { readTlsPair } from '../adapters/tls-files.ts';
import type { ReloadEnd, ReloadWish } from '../api/admin/reload.ts';
import type { Door } from '../access/door.ts';
import { metricsPlane } from '../api/plane.ts';
import type { Changes } from '../config/reload/changes.ts';
import type { Config } from '../config/schema.ts';
import { Commons } from '../core/commons.ts';
import { after, InvariantBroken, type TicketId } from '../core/kinds.ts';
import { OutputHub } from '../observe/output-hub.ts';
import type { Verdict } from '../ports/verdicts.ts';
import type { Gpu } from '../ports/gpu.ts';
import type { Reporter } from '../ports/reporter.ts';
import type { HandedCut, Handover } from '../ports/handover.ts';
import type { BodyStore } from '../proxy/body-store.ts';
import { RequestBook } from '../proxy/request-book.ts';
import { reportToAll } from '../observe/reporter.ts';
import type { CostsByModel } from '../ports/cost-file.ts';
import { waitsNotToBeKept } from './feasibility.ts';
import { CostKeeper } from '../runtime/cost-keeper.ts';
import type { Prefetcher } from '../runtime/prefetcher.ts';
import { LoadOverrides } from '../runtime/load-overrides.ts';
import { Supervisor, type HandOverTerms, type StageSpec } from '../runtime/supervisor.ts';
import { FileWatch } from './file-watch.ts';
import type { Known } from './known.ts';
import { prefetcherOf } from './prefetching.ts';
import type { AppOptions } from './options.ts';
import { Listeners, type Given, type Pass } from './listeners.ts';
import { bodyStore, reception, type Reception, type ReceptionMeans, type Settings } from './reception.ts';
import { Reloader } from './reloader.ts';
import { plansAfter, remembering, revisionOf, stillThere, withOld } from './revision.ts';
import { enginesOf, preloadsOn, stageOf, type StageMeans } from './stage-plan.ts';
import type { Footprints } from './footprints.ts';
import { specOf, type StagePlan } from './stages.ts';
import { stateFolderOf } from './state-folder.ts';
import { handoverOf, termsOfTaking } from './taking-over.ts';
import { whatIsKnown } from './what-is-known.ts';
import { createTelling, type Telling } from './telling.ts';
import { ms } from './times.ts';
import { withVerdicts } from './verdicts.ts';
import { workshopOf, type Workshop } from './workshop.ts';
import { kinFrom } from './kin-from.ts';
import { Readings } from './readings.ts';
import { gaugesOf } from './room-gauge.ts';
import { VramBook } from './vram-book.ts';

/** How long connections get to end once every engine is off. */
const LAST_BYTES_MS = 1_000;
const TOO_LONG = 'catnap has restarted, and this took longer than `handover_drain_secs`';

/** One running catnap: everything made, tied together, and taken down in the reverse order. */
export class App {
  readonly #options: AppOptions;
  readonly #telling: Telling;
  readonly #processes: SystemProcesses;
  readonly #checkpoints: Workshop['checkpoints'];
  readonly #conversations: Workshop['conversations'];
  readonly #output: OutputHub;
  readonly #gpu: Gpu;
  readonly #prefetcher: Prefetcher;
  readonly #vram: VramBook;
  readonly #readings: Readings;
  readonly #bodies: BodyStore;
  readonly #requests = new RequestBook();
  readonly #overrides = new LoadOverrides();
  readonly #absent: Known['absent'];
  readonly #driversOf: Workshop['driversOf'];
  readonly #reloader: Reloader;
  readonly #stageMeans: StageMeans & { readonly commons: Commons };
  readonly #footprints: Footprints;
  /** As it is used, and as it was read: verdicts may have taken levels out of it. */
  #config: Config;
  #written: Config;
  /** Which models are on which stage, those included that the config has no more. */
  #plans: readonly StagePlan[];
  #stages: readonly StageSpec[];
  #knownCosts: CostsByModel;
  #departed: Config['models'] = {};
  #means: ReceptionMeans | undefined;
  #reception: Reception | undefined;
  readonly #supervisor: Supervisor;
  readonly #costs: CostKeeper;
  readonly #startedAt: Date;
  #verdicts: ReadonlyMap<string, readonly Verdict[]>;
  readonly listeners = new Listeners();
  readonly #leaving = new AbortController();
  readonly #watch: FileWatch;

  /** Rejects with a message that says what to change, and leaves nothing behind then. */
  static async open(options: AppOptions): Promise<App> {
    const { config, log, clock, version } = options;
    const telling = createTelling(config, version, log, clock);
    const warn = (message: string): void => telling.reporter.report({ kind: 'warned', message });
    const output = new OutputHub();
    const programs = systemPrograms(options.env);
    const processes = await openProcesses({
      ...stateFolderOf(config),
      onLine(model, line) {
        log.engineLine(model, line);
        output.line(model, line);
      },
      onProblem: warn,
      waits: options.predecessor !== undefined,
      // Each swap asks it and its kin several times.
      asksOften: (await programs.find(config.gpu.nvidia_smi_path)) !== undefined,
    });
    let app: App | undefined;
    try {
      const { handover, known, judged } = await whatIsKnown(options, { processes, reporter: telling.reporter });
      app = new App({ ...options, config: judged }, telling, processes, output, known);
      if (handover !== undefined) await app.#takeOver(handover);
      const kept = { checkpoints: app.#checkpoints, conversations: app.#conversations };
      await sweepKept(config, { ...kept, processes, programs, warned: warn });
      await app.#listen();
      if (handover === undefined) app.#preload();
      void app.#vram.measure(config);
      return app;
    } catch (error) {
      await app?.listeners.close(0);
      if (options.isLast === true) processes.killAllNow();
      await processes.close();
      throw error;
    }
  }

  private constructor(
    options: AppOptions,
    telling: Telling,
    processes: SystemProcesses,
    output: OutputHub,
    known: Known,
  ) {
    const { config, clock, env } = options;
    this.#verdicts = known.verdicts;
    this.#options = options;
    this.#telling = telling;
    this.#processes = processes;
    this.#output = output;
    this.#startedAt = clock.wallTime();
    const warned = (message: string): void => telling.reporter.report({ kind: 'warned', message });
    const { driversOf, checkpoints, conversations, gpu } = workshopOf({ config, processes, clock, env, warned });
    this.#config = config;
    this.#written = known.written;
    this.#absent = known.absent;
    this.#knownCosts = known.known;
    this.#plans = known.plans;
    this.#driversOf = driversOf;
    [this.#checkpoints, this.#conversations, this.#gpu] = [checkpoints, conversations, gpu];
    const overrides = this.#overrides;
    const engines = enginesOf(config, known.plans, { drivers: driversOf(config), overrides, absent: known.absent });
    const commons = new Commons(config.policy.max_parallel_loads);
    this.#footprints = known.footprints;
    this.#stageMeans = { commons, absent: known.absent, verdicts: known.verdicts, learned: known.learned };
    const stages = known.plans.map((plan) => specOf(plan, stageOf(config, plan, known.known, this.#stageMeans)));
    this.#stages = stages;
    for (const impossible of waitsNotToBeKept(stages, config.policy)) warned(impossible);
    this.#costs = new CostKeeper(clock, known.file, () => this.#supervisor.costs());
    const [bug, view] = [(error: unknown): void => this.#bug(error), () => this.#supervisor.view()];
    const kinOf = kinFrom(processes.host.table);
    this.#vram = new VramBook({ gpu, view, kinOf, bug, saw: known.footprints.saw });
    this.#readings = new Readings({ clock, gpu, view, kinOf, residentBytes, bug });
    this.#bodies = bodyStore(config);
    this.#prefetcher = prefetcherOf({ config: () => this.#settings().config, clock, reporter: telling.reporter, view });
    const reporter = reportToAll([telling.reporter, this.#costs, this.#vram, this.#prefetcher], bug);
    const cutElsewhere = (cut: HandedCut): void => options.predecessor?.cut(cut);
    const measures = { residentBytes, gaugeOf: gaugesOf(known.plans, { clock, gpu }) };
    this.#supervisor = new Supervisor({ stages, engines, clock, reporter, overrides, ...measures, cutElsewhere });
    this.#watch = new FileWatch({
      files: options.files,
      clock,
      reporter,
      renewed: (pair) => this.listeners.renew(pair),
      changed: () => void this.reload({ by: 'watch_config', now: false }),
    });
    this.#reloader = new Reloader({
      read: options.read,
      current: () => this.#written,
      accepting: () => this.#supervisor.view().accepting,
      apply: (next, changes, now) => this.#apply(next, changes, now),
      reporter,
    });
  }

  /** The port clients talk to. */
  get port(): number {
    return this.listeners.port;
  }

  /** The config in use, as it was read. */
  get written(): Config {
    return this.#written;
  }

  get accepting(): boolean {
    return this.#supervisor.view().accepting;
  }

  get reporter(): Reporter {
    return this.#telling.reporter;
  }

  /** How long requests may take to finish when it is told to stop. */
  get shutDownMs(): number {
    return ms(this.#config.shutdown_timeout_secs);
  }

  /** Lets what runs and waits finish within the time, ends every engine, then closes the ports. */
  async shutDown(withinMs: number, by: string): Promise<void> {
    const { reporter } = this.#telling;
    const { models } = this.#supervisor.view();
    const inFlight = models.reduce((sum, model) => sum + model.inFlight, 0);
    const waiting = models.reduce((sum, model) => sum + model.waiting, 0);
    reporter.report({ kind: 'shutdown-asked', by, inFlight, waiting });
    this.#watch.stop();
    this.#checkpoints.leave();
    await this.#supervisor.shutDown(withinMs);
    this.#prefetcher.close();
    await this.#costs.close();
    await this.listeners.close(Math.min(LAST_BYTES_MS, this.shutDownMs));
    await this.#processes.close();
    reporter.report({ kind: 'stopped', uptimeMs: this.uptimeMs });
    await this.#telling.close();
  }

  get uptimeMs(): number {
    return this.#options.clock.wallTime().getTime() - this.#startedAt.getTime();
  }

  /**
   * Lets go of every engine without stopping it, once none is on its way anywhere. Rejects with why that cannot be, and has changed nothing then.
   * After it only what is open is served; each request that ends is told, and `cut` ends one.
   */
  async handOver(terms: HandOverTerms): Promise<Handover> {
    if (this.#processes.host.table === undefined)
      throw new Error('on this system a process cannot be told from another one: engines cannot be handed over');
    const left = await this.#supervisor.handOver(terms);
    await Promise.all([this.#costs.close(), this.#footprints.close()]);
    await this.#processes.close();
    return handoverOf(left, this.#config.state_dir, this.#options.version, this.#stages);
  }

  /** Ends requests that were open when the engines were handed over. */
  cut(cut: HandedCut): void {
    this.#supervisor.cut(cut);
  }

  /** A request has ended that the predecessor served; undefined: all have, since it is no more. */
  settledElsewhere(ticket: TicketId | undefined): void {
    this.#supervisor.settledElsewhere(ticket);
  }

  #takeOver(handover: Handover): Promise<void> {
    const [config, { version }] = [this.#config, this.#options];
    const means = { drivers: this.#driversOf(config), overrides: this.#overrides, absent: this.#absent, version };
    return this.#supervisor.takeOver(termsOfTaking(handover, config, { ...means, plans: this.#plans }));
  }

  /** After a handover: its ports, for another one to listen on. Whoever looks on is sent there. */
  give(): readonly Given[] {
    this.#leaving.abort();
    return this.listeners.give();
  }

  /** After a handover: serves what is open, for so long at most, then ends everything that is left and stops no engine. */
  async leave(withinMs: number, pass: Pass): Promise<void> {
    this.#watch.stop();
    this.#prefetcher.close();
    const { clock } = this.#options;
    const cancel = clock.at(after(clock.now(), withinMs), () => this.#supervisor.cutAll(TOO_LONG));
    await this.listeners.leave(withinMs + LAST_BYTES_MS, pass);
    cancel();
    await this.#telling.close();
  }

  /** Kills every engine and waits a moment for the proof. */
  async stopNow(): Promise<void> {
    this.#checkpoints.leave();
    this.#processes.killAllNow();
    const { clock } = this.#options;
    const enough = new Promise<void>((resolve) => clock.at(after(clock.now(), LAST_BYTES_MS), resolve));
    await Promise.race([this.#supervisor.shutDown(0), enough]);
  }

  /** For the handler of the process's exit: synchronous, the last resort. */
  killAllNow(): void {
    this.#processes.killAllNow();
  }

  async #listen(): Promise<void> {
    const { clock } = this.#options;
    const { metrics, reporter } = this.#telling;
    const config = this.#config;
    const bug = (error: unknown): void => this.#bug(error);
    this.#means = {
      supervisor: this.#supervisor,
      telling: this.#telling,
      clock,
      gpu: this.#gpu,
      output: this.#output,
      vram: this.#vram,
      prefetcher: this.#prefetcher,
      requests: this.#requests,
      bodies: this.#bodies,
      scrape: () => metrics.text({ ...this.#supervisor.view(), ...this.#readings.latest(), bodies: this.#bodies }),
      startedAt: this.#startedAt,
      version: this.#options.version,
      reload: (wish) => this.reload(wish),
      restart: this.#options.restart,
      leaving: this.#leaving.signal,
      bug,
    };
    const own = (this.#reception = reception(this.#settings(), this.#means));
    const tls = config.tls === undefined ? undefined : await readTlsPair(config.tls);
    const { metricsPortAsked, unconfigured, before } = this.#options;
    const door = (): Door => (this.#reception ?? own).main.door;
    const plane = metricsPlane({ metrics: this.#means.scrape, bug, door });
    await this.listeners.open({
      config,
      reception: own,
      metrics: plane,
      metricsPortAsked,
      unconfigured,
      tls,
      reporter,
      before,
    });
    this.#watch.follow(config);
  }

  /** Reads the config again. What is wrong with it is told, and leaves everything as it was. */
  reload(wish: ReloadWish): Promise<ReloadEnd> {
    return this.#reloader.reload(wish);
  }

  #settings(): Settings {
    return { config: this.#config, stages: this.#stages, verdicts: this.#verdicts, departed: this.#departed };
  }

  /** Everything that can go wrong comes first; then all of it changes in one turn. */
  async #apply(written: Config, changes: Changes, now: boolean): Promise<readonly string[] | undefined> {
    const { env } = this.#options;
    const warn = (message: string): void => this.#telling.reporter.report({ kind: 'warned', message });
    const pair = written.tls === undefined ? undefined : await readTlsPair(written.tls);
    const programs = systemPrograms(env);
    const judged = await withVerdicts(written, { programs, processes: this.#processes, warned: warn });
    const changed = new Set([...changes.added, ...changes.changed.map(({ model }) => model)]);
    const config = withOld(judged.config, this.#config, changed);
    const costs = new Map([...this.#knownCosts, ...this.#supervisor.costs()]);
    this.#footprints.follow(config);
    const plans = plansAfter(this.#plans, config);
    const stages = plans.map((plan) => specOf(plan, stageOf(config, plan, costs, { ...this.#stageMeans, ...judged })));
    const drivers = this.#driversOf(config);
    const engines = enginesOf(config, plans, { drivers, overrides: this.#overrides, absent: this.#absent });
    const revised = revisionOf({ config, stages, changes, engines });
    const wereOn = this.#supervisor.view().models.filter(({ part }) => part === 'on' || part === 'draining');
    const departed = stillThere({ ...this.#departed, ...this.#config.models }, this.#supervisor.view());
    const settings: Settings = { config, stages, verdicts: judged.verdicts, departed };
    const means = this.#means;
    if (means === undefined) return undefined;
    const next = reception(settings, means, this.#reception);
    this.#stageMeans.commons.allow(config.policy.max_parallel_loads);
    if (!this.#supervisor.revise(revised)) return undefined;
    this.listeners.receive(next);
    if (pair !== undefined) this.listeners.renew(pair);
    [this.#config, this.#written, this.#stages, this.#reception] = [config, written, stages, next];
    this.#plans = remembering(this.#plans, plans);
    [this.#verdicts, this.#departed, this.#knownCosts] = [judged.verdicts, departed, costs];
    this.#watch.follow(config);
    void this.#vram.measure(config);
    for (const impossible of waitsNotToBeKept(stages, config.policy)) warn(impossible);
    const restarting = now ? wereOn.flatMap(({ model }) => (revised.anew.includes(model) ? [model] : [])) : [];
    for (const model of restarting) {
      const loaded = this.#supervisor.load(model, { as: 'load', replicas: undefined, override: undefined });
      loaded.catch((error: unknown) => this.#bug(error));
    }
    return restarting;
  }

  /** What fails to load is told as any failure is, and holds up nobody. */
  #preload(): void {
    const { load, skip } = preloadsOn(this.#stages, this.#config);
    for (const model of load) {
      this.#supervisor
        .load(model, { as: 'load', replicas: undefined, override: undefined })
        .catch((error: unknown) => this.#bug(error));
    }
    if (skip.length === 0) return;
    const message = `there is no room to load ${skip.join(', ')} at start besides ${load.join(', ')}`;
    this.#telling.reporter.report({ kind: 'warned', message });
  }

  #bug(error: unknown): void {
    if (error instanceof InvariantBroken) this.#options.fatal(error);
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#telling.reporter.report({ kind: 'warned', message: `a bug in catnap: ${told}` });
  }
}
