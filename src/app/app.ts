import { join } from 'node:path';
import { Door, type Side } from '../access/door.ts';
import { openProcesses, type SystemProcesses } from '../adapters/processes.ts';
import { costFile } from '../adapters/cost-file.ts';
import { systemPrograms } from '../adapters/programs.ts';
import { residentBytes } from '../adapters/resident-memory.ts';
import { scratchFiles } from '../adapters/scratch-files.ts';
import { readTlsPair, watchTlsFiles, type TlsPair } from '../adapters/tls-files.ts';
import { controlPlane, metricsPlane } from '../api/plane.ts';
import type { Config } from '../config/schema.ts';
import { Commons } from '../core/commons.ts';
import { after, InvariantBroken, type ModelId, type SleepLevel } from '../core/kinds.ts';
import type { Log } from '../observe/log.ts';
import { OutputHub } from '../observe/output-hub.ts';
import type { Clock } from '../ports/clock.ts';
import type { Verdict } from '../ports/verdicts.ts';
import type { Gpu } from '../ports/gpu.ts';
import { BodyStore } from '../proxy/body-store.ts';
import { RequestBook } from '../proxy/request-book.ts';
import type { Gate } from '../proxy/gate.ts';
import { Listener } from '../proxy/server.ts';
import { reportToAll } from '../observe/reporter.ts';
import type { CostFile, CostsByModel } from '../ports/cost-file.ts';
import { waitsNotToBeKept } from './feasibility.ts';
import { CostKeeper } from '../runtime/cost-keeper.ts';
import { progressOf } from '../runtime/progress.ts';
import { LoadOverrides } from '../runtime/load-overrides.ts';
import { Supervisor, type StageSpec } from '../runtime/supervisor.ts';
import { namesOf } from './names.ts';
import { keptImages } from './checkpoints.ts';
import { keepers } from './conversations.ts';
import { absentLevels, levelsMissed } from './levels.ts';
import { openMetricsPort, type MetricsPort } from './metrics-port.ts';
import { enginesOf, preloadsOn, stageOf } from './stage-plan.ts';
import { plansOf, specOf, type StagePlan } from './stages.ts';
import { createTelling, type Telling } from './telling.ts';
import { ms, msOrNever } from './times.ts';
import { withVerdicts } from './verdicts.ts';
import { workshopOf, type Workshop } from './workshop.ts';
import { kinFrom } from './kin-from.ts';
import { Readings } from './readings.ts';
import { VramBook } from './vram-book.ts';

export type AppOptions = {
  readonly config: Config;
  /** Whether somebody asked for this `metrics_port`. If not, one that is taken is only worth a warning. */
  readonly metricsPortAsked: boolean;
  /** Whether there is no config that somebody could change, but only a command line. */
  readonly unconfigured: boolean;
  readonly log: Log;
  readonly clock: Clock;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Told of a broken invariant, after which nothing can be trusted. */
  readonly fatal: (error: InvariantBroken) => void;
};

/** What earlier days have told: what swaps cost, and where that is kept; and what validations found. And what this machine cannot do. */
type Known = {
  readonly file: CostFile;
  readonly known: CostsByModel;
  readonly verdicts: ReadonlyMap<string, readonly Verdict[]>;
  readonly absent: ReadonlyMap<SleepLevel, string>;
  readonly plans: readonly StagePlan[];
};

/** How long connections get to end once every engine is off. */
const LAST_BYTES_MS = 1_000;

/** One running catnap: everything made, tied together, and taken down in the reverse order. */
export class App {
  readonly #options: AppOptions;
  readonly #telling: Telling;
  readonly #processes: SystemProcesses;
  readonly #checkpoints: Workshop['checkpoints'];
  readonly #conversations: Workshop['conversations'];
  readonly #output: OutputHub;
  readonly #gpu: Gpu;
  readonly #vram: VramBook;
  readonly #readings: Readings;
  readonly #bodies: BodyStore;
  readonly #requests = new RequestBook();
  readonly #stages: readonly StageSpec[];
  readonly #supervisor: Supervisor;
  readonly #costs: CostKeeper;
  readonly #startedAt: Date;
  readonly #verdicts: ReadonlyMap<string, readonly Verdict[]>;
  #listener: Listener | undefined;
  #adminListener: Listener | undefined;
  #unwatch: () => void = () => {};
  #metricsPort: MetricsPort | undefined;

  /** Rejects with a message that says what to change, and leaves nothing behind then. */
  static async open(options: AppOptions): Promise<App> {
    const { config, log, clock, version } = options;
    const telling = createTelling(config, version, log, clock);
    const warn = (message: string): void => telling.reporter.report({ kind: 'warned', message });
    const output = new OutputHub();
    const processes = await openProcesses({
      stateDir: config.state_dir,
      logMaxBytes: config.log_max_mib * 1_048_576,
      logKeep: config.log_keep,
      logTailLines: config.log_tail_lines,
      onLine(model, line) {
        log.engineLine(model, line);
        output.line(model, line);
      },
      onProblem: warn,
    });
    const judged = await withVerdicts(config, { programs: systemPrograms(options.env), processes, warned: warn });
    const costs = costFile(config.state_dir, warn);
    const absent = await absentLevels(config, systemPrograms(options.env));
    for (const message of levelsMissed(judged.config, absent)) warn(message);
    let app: App | undefined;
    try {
      // Before the GPUs are measured: what is left of an earlier catnap is not there to stay.
      for (const leftover of await processes.reapLeftovers()) {
        telling.reporter.report({ kind: 'leftover-reaped', ...leftover });
      }
      const plans = await plansOf(judged.config, { processes, clock, env: options.env, warn });
      const known = { file: costs, known: await costs.read(), verdicts: judged.verdicts, absent, plans };
      app = new App({ ...options, config: judged.config }, telling, processes, output, known);
      await app.#checkpoints.sweep(keptImages(config));
      await app.#conversations
        .sweep(keepers(config))
        .catch((error: unknown) => warn(`kept conversations: ${String(error)}`));
      await app.#listen();
      app.#preload();
      void app.#vram.measure(config);
      return app;
    } catch (error) {
      await app?.closeDoors();
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
    const { drivers, checkpoints, conversations, gpu } = workshopOf({ config, processes, clock, env, warned });
    this.#checkpoints = checkpoints;
    this.#conversations = conversations;
    this.#gpu = gpu;
    const overrides = new LoadOverrides();
    const engines = enginesOf(config, known.plans, { drivers, overrides, absent: known.absent });
    const commons = new Commons(config.policy.max_parallel_loads);
    const means = { commons, absent: known.absent };
    const stages = known.plans.map((plan) => specOf(plan, stageOf(config, plan, known.known, means)));
    this.#stages = stages;
    for (const impossible of waitsNotToBeKept(stages, config.policy)) warned(impossible);
    this.#costs = new CostKeeper(clock, known.file, () => this.#supervisor.costs());
    const bug = (error: unknown): void => this.#bug(error);
    const view = () => this.#supervisor.view();
    const kinOf = kinFrom(processes.host.table);
    this.#vram = new VramBook({ gpu, view, kinOf, bug });
    this.#readings = new Readings({ clock, gpu, view, kinOf, residentBytes, bug });
    this.#bodies = bodyStore(config);
    const reporter = reportToAll([telling.reporter, this.#costs, this.#vram], bug);
    this.#supervisor = new Supervisor({ stages, engines, clock, reporter, overrides });
  }

  /** The port clients talk to. */
  get port(): number {
    return this.#listener?.port ?? 0;
  }

  /** Lets what runs and waits finish within the time, ends every engine, then closes the ports. */
  async shutDown(withinMs: number, by: string): Promise<void> {
    const { clock, config } = this.#options;
    const { reporter } = this.#telling;
    const { models } = this.#supervisor.view();
    const inFlight = models.reduce((sum, model) => sum + model.inFlight, 0);
    const waiting = models.reduce((sum, model) => sum + model.waiting, 0);
    reporter.report({ kind: 'shutdown-asked', by, inFlight, waiting });
    this.#unwatch();
    this.#checkpoints.leave();
    await this.#supervisor.shutDown(withinMs);
    await this.#costs.close();
    const lastBytes = Math.min(LAST_BYTES_MS, ms(config.shutdown_timeout_secs));
    await Promise.all([this.#listener?.close(lastBytes), this.#adminListener?.close(lastBytes)]);
    this.#metricsPort?.close();
    await this.#processes.close();
    reporter.report({ kind: 'stopped', uptimeMs: clock.wallTime().getTime() - this.#startedAt.getTime() });
    await this.#telling.close();
  }

  /** Kills every engine and waits a moment for the proof. */
  async stopNow(): Promise<void> {
    const { clock } = this.#options;
    this.#checkpoints.leave();
    this.#processes.killAllNow();
    const enough = new Promise<void>((resolve) => clock.at(after(clock.now(), LAST_BYTES_MS), resolve));
    await Promise.race([this.#supervisor.shutDown(0), enough]);
  }

  /** Nobody is let in any more, and whoever is there is cut off. */
  async closeDoors(): Promise<void> {
    this.#metricsPort?.close();
    await this.#listener?.close(0);
    await this.#adminListener?.close(0);
  }

  /** For the handler of the process's exit: synchronous, the last resort. */
  killAllNow(): void {
    this.#processes.killAllNow();
  }

  async #listen(): Promise<void> {
    const { config, clock } = this.#options;
    const { metrics, failures, journal, reporter } = this.#telling;
    const names = namesOf(config, () => this.#supervisor.view());
    const bug = (error: unknown): void => this.#bug(error);
    const scrape = () => metrics.text({ ...this.#supervisor.view(), ...this.#readings.latest(), bodies: this.#bodies });
    const plane = controlPlane({
      config,
      find: (name, mayUse) => names.find(name, mayUse)?.model,
      stage: this.#supervisor,
      lastFailure: (model) => failures.last(model),
      verdicts: (model) => this.#verdicts.get(model) ?? [],
      metrics: scrape,
      operator: this.#supervisor,
      clock,
      gpu: this.#gpu,
      journal,
      requests: this.#requests,
      output: {
        tail: (model, lines) => this.#supervisor.tail(model, lines),
        watch: (model, listener) => this.#output.watch(model, listener),
      },
      vram: (model, replicas) => this.#vram.of(model, replicas),
      effectiveTarget: (model) => this.#termsOf(model)?.targetInflight ?? 1,
      levels: (model) => levelsOfModel(config, model),
      startedAt: this.#startedAt,
      version: this.#options.version,
      bug,
    });
    const gate: Gate = {
      find: names.find,
      unnamed: names.unnamed,
      admission: this.#supervisor,
      requests: this.#requests,
      bodies: this.#bodies,
      corsOrigins: config.cors_origins,
      assets: config.upstream_asset_paths.map((source) => new RegExp(source)),
      retryAfterMs: (model) => this.#supervisor.retryAfterMs(model),
      progress: (model, mayUse) =>
        progressOf(this.#supervisor.view(), model, {
          knows: mayUse && ((other) => mayUse(other, other)),
          turnMs: this.#supervisor.retryAfterMs(model),
        }),
      reporter,
      clock,
      limits: limitsOf(config),
      bug,
    };
    const { host, port } = config;
    const tls = config.tls === undefined ? undefined : await readTlsPair(config.tls);
    // Clients come last: once they are let in, nothing can go wrong with the start any more.
    if (config.metrics_port !== 0) await this.#listenForMetrics(metricsPlane({ metrics: scrape, bug }));
    if (config.admin_port !== null) {
      const own = { ...gate, corsOrigins: [] };
      const adminDoor = this.#door({ whom: 'operators', others: port });
      this.#adminListener = await Listener.open({
        host,
        port: config.admin_port,
        key: 'admin_port',
        tls,
        gate: own,
        control: plane,
        door: adminDoor,
      });
      reporter.report({ kind: 'listening', what: 'admin', url: urlOf(host, this.#adminListener.port, tls) });
    }
    const door = this.#door(config.admin_port === null ? undefined : { whom: 'clients', others: config.admin_port });
    this.#listener = await Listener.open({
      host,
      port,
      key: this.#options.unconfigured ? '-p' : 'port',
      tls,
      gate,
      control: plane,
      door,
    });
    reporter.report({ kind: 'listening', what: 'main', url: urlOf(host, this.#listener.port, tls) });
    this.#watchCertificate();
  }

  #termsOf(model: ModelId) {
    return this.#stages.flatMap(({ options }) => options.models).find((terms) => terms.model === model);
  }

  #door(serves: Side | undefined): Door {
    const { config, clock } = this.#options;
    const hosts = [config.host, ...config.allowed_hosts];
    const { keys, cors_origins: corsOrigins } = config;
    return new Door({ keys, hosts, corsOrigins, clock, ...(serves !== undefined && { serves }) });
  }

  #watchCertificate(): void {
    const { config, clock } = this.#options;
    if (config.tls === undefined) return;
    const warn = (message: string): void => this.#telling.reporter.report({ kind: 'warned', message });
    this.#unwatch = watchTlsFiles(config.tls, {
      everyMs: ms(config.tls.check_secs),
      clock,
      changed: (pair) => {
        this.#listener?.renew(pair);
        this.#adminListener?.renew(pair);
        this.#telling.reporter.report({ kind: 'certificate-renewed', file: config.tls?.cert ?? '' });
      },
      failed: (why) => warn(`${why}; the certificate from before stays in use`),
    });
  }

  /** What fails to load is told as any failure is, and holds up nobody. */
  #preload(): void {
    const { load, skip } = preloadsOn(this.#stages, this.#options.config);
    for (const model of load) {
      this.#supervisor
        .load(model, { as: 'load', replicas: undefined, override: undefined })
        .catch((error: unknown) => this.#bug(error));
    }
    if (skip.length === 0) return;
    const message = `there is no room to load ${skip.join(', ')} at start besides ${load.join(', ')}`;
    this.#telling.reporter.report({ kind: 'warned', message });
  }

  async #listenForMetrics(plane: ReturnType<typeof metricsPlane>): Promise<void> {
    const { config, metricsPortAsked } = this.#options;
    const { host, metrics_port: port } = config;
    try {
      this.#metricsPort = await openMetricsPort(host, port, plane);
      const url = `${urlOf(host, this.#metricsPort.port)}/metrics`;
      this.#telling.reporter.report({ kind: 'listening', what: 'metrics', url });
    } catch (error) {
      const why = `cannot listen on ${host}:${port} for metrics (${String(error)}); set \`metrics_port\` to a free port, or 0`;
      if (metricsPortAsked) throw new Error(why, { cause: error });
      this.#telling.reporter.report({ kind: 'warned', message: `${why}. /metrics answers on the main port` });
    }
  }

  #bug(error: unknown): void {
    if (error instanceof InvariantBroken) this.#options.fatal(error);
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#telling.reporter.report({ kind: 'warned', message: `a bug in catnap: ${told}` });
  }
}

function urlOf(host: string, port: number, tls?: TlsPair): string {
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Once the state folder is ours: nobody else's bodies lie in it. */
function bodyStore(config: Config): BodyStore {
  return new BodyStore(scratchFiles(join(config.state_dir, 'bodies')), {
    eachBytes: config.body_memory_bytes,
    memoryBytes: config.body_memory_total_bytes,
    diskBytes: config.body_disk_bytes,
  });
}

function limitsOf(config: Config): Gate['limits'] {
  return {
    maxConnections: config.max_connections,
    maxHeaderBytes: config.max_header_bytes,
    headerMs: ms(config.header_timeout_secs),
    maxBodyBytes: config.max_body_bytes,
    bodyMs: ms(config.body_timeout_secs),
    passOnBytes: config.body_pass_on_bytes,
    passOnMs: ms(config.body_pass_on_secs),
    keepAliveMs: ms(config.keep_alive_secs),
    slowReaderMs: ms(config.slow_reader_secs),
    connectMs: ms(config.connect_timeout_secs),
    commentAfterMs: msOrNever(config.wait_comment_after_secs),
    commentEveryMs: ms(config.wait_comment_every_secs),
    drainReplays: config.policy.drain_replays,
    maxPriority: config.policy.max_header_priority,
  };
}

/** What the model can be put to. */
function levelsOfModel({ models }: Config, model: string): readonly SleepLevel[] {
  const settings = models[model];
  return settings !== undefined && 'levels_allowed' in settings ? settings.levels_allowed : [5];
}
