import { join } from 'node:path';
import { Door, type Side } from '../access/door.ts';
import { scratchFiles } from '../adapters/scratch-files.ts';
import type { ReloadEnd, ReloadWish } from '../api/admin/reload.ts';
import type { RestartEnd } from '../api/admin/restart.ts';
import { controlPlane, type Plane } from '../api/plane.ts';
import type { Config } from '../config/schema.ts';
import type { SleepLevel } from '../core/kinds.ts';
import type { OutputHub } from '../observe/output-hub.ts';
import type { Clock } from '../ports/clock.ts';
import type { Gpu } from '../ports/gpu.ts';
import type { Verdict } from '../ports/verdicts.ts';
import { BodyStore } from '../proxy/body-store.ts';
import type { Gate } from '../proxy/gate.ts';
import type { RequestBook } from '../proxy/request-book.ts';
import type { Prefetcher } from '../runtime/prefetcher.ts';
import { progressOf } from '../runtime/progress.ts';
import type { StageSpec, Supervisor } from '../runtime/supervisor.ts';
import { namesOf } from './names.ts';
import { announcerOf } from './prefetching.ts';
import type { Telling } from './telling.ts';
import { ms, msOrNever } from './times.ts';
import type { VramBook } from './vram-book.ts';

/** What is the same under every config. */
export type ReceptionMeans = {
  readonly supervisor: Supervisor;
  readonly telling: Telling;
  readonly clock: Clock;
  readonly gpu: Gpu;
  readonly output: OutputHub;
  readonly vram: VramBook;
  readonly prefetcher: Prefetcher;
  readonly requests: RequestBook;
  readonly bodies: BodyStore;
  /** The metrics as text. */
  readonly scrape: () => ReturnType<Telling['metrics']['text']>;
  readonly startedAt: Date;
  readonly version: string;
  readonly reload: (wish: ReloadWish) => Promise<ReloadEnd>;
  readonly restart: (by: string) => Promise<RestartEnd>;
  readonly leaving: AbortSignal;
  readonly bug: (error: unknown) => void;
};

/** What the config says. */
export type Settings = {
  readonly config: Config;
  readonly stages: readonly StageSpec[];
  readonly verdicts: ReadonlyMap<string, readonly Verdict[]>;
  /** Models of earlier configs: those of them that are not gone yet are still shown. */
  readonly departed: Config['models'];
};

/** What one port meets requests with. */
type Counter = { readonly gate: Gate; readonly control: Plane; readonly door: Door };

/** All that requests meet and that is made of the config. Each keeps the one that it has met. */
export type Reception = {
  readonly main: Counter;
  /** Undefined: operators use the main port. */
  readonly admin: Counter | undefined;
};

export function reception(settings: Settings, means: ReceptionMeans, before?: Reception): Reception {
  const { config, stages, verdicts, departed } = settings;
  const terms = new Map(stages.flatMap(({ options }) => options.models).map((each) => [each.model, each]));
  const { supervisor, telling, clock, gpu, output, vram, requests, bodies, bug } = means;
  const { failures, journal, reporter } = telling;
  const names = namesOf(config, () => supervisor.view());
  const control = controlPlane({
    config: { aliases: config.aliases, models: { ...departed, ...config.models } },
    find: (name, mayUse) => names.find(name, mayUse)?.model,
    stage: supervisor,
    reload: means.reload,
    restart: means.restart,
    leaving: means.leaving,
    lastFailure: (model) => failures.last(model),
    verdicts: (model) => verdicts.get(model) ?? [],
    metrics: means.scrape,
    operator: supervisor,
    clock,
    gpu,
    journal,
    requests,
    output: {
      tail: (model, lines) => supervisor.tail(model, lines),
      watch: (model, listener) => output.watch(model, listener),
    },
    vram: (model, replicas) => vram.of(model, replicas),
    effectiveTarget: (model) => terms.get(model)?.targetInflight ?? 1,
    costs: (model) => supervisor.costsOf(model),
    levels: (model) => levelsOfModel(config, model),
    startedAt: means.startedAt,
    version: means.version,
    bug,
  });
  const gate: Gate = {
    find: names.find,
    unnamed: names.unnamed,
    announce: announcerOf(means.prefetcher, names.find, reporter),
    admission: supervisor,
    requests,
    bodies,
    corsOrigins: config.cors_origins,
    assets: config.upstream_asset_paths.map((source) => new RegExp(source)),
    retryAfterMs: (model) => supervisor.retryAfterMs(model),
    progress: (model, mayUse) =>
      progressOf(supervisor.view(), model, {
        knows: mayUse && ((other) => mayUse(other, other)),
        turnMs: supervisor.retryAfterMs(model),
      }),
    reporter,
    clock,
    limits: limitsOf(config),
    bug,
  };
  const { admin_port, port } = config;
  const door = (serves: Side | undefined, was: Door | undefined): Door => doorOf(config, clock, serves, was);
  const forClients = admin_port === null ? undefined : ({ whom: 'clients', others: admin_port } as const);
  const main = { gate, control, door: door(forClients, before?.main.door) };
  if (admin_port === null) return { main, admin: undefined };
  const forOperators = { whom: 'operators', others: port } as const;
  const admin = { gate: { ...gate, corsOrigins: [] }, control, door: door(forOperators, before?.admin?.door) };
  return { main, admin };
}

function doorOf(config: Config, clock: Clock, serves: Side | undefined, before: Door | undefined): Door {
  const hosts = [config.host, ...config.allowed_hosts];
  const { keys, cors_origins: corsOrigins } = config;
  return new Door({ keys, hosts, corsOrigins, clock, before, ...(serves !== undefined && { serves }) });
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

/** Once the state folder is ours: nobody else's bodies lie in it. */
export function bodyStore(config: Config): BodyStore {
  return new BodyStore(scratchFiles(join(config.state_dir, 'bodies')), {
    eachBytes: config.body_memory_bytes,
    memoryBytes: config.body_memory_total_bytes,
    diskBytes: config.body_disk_bytes,
  });
}
