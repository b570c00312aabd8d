import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelId } from '../core/kinds.ts';
import type { HandedLog, HandedProcess } from '../ports/handover.ts';
import type { Answer, AskTerms, Child, Exit, Leftover, Processes, SpawnSpec } from '../ports/process.ts';
import { exitOf } from './adopted-process.ts';
import { EngineProcess, startProcess, type Started } from './child-process.ts';
import { engineEnvironment, inheritedFrom, MARK } from './engine-env.ts';
import { engineFileName } from './engine-file-name.ts';
import { EngineLog } from './engine-log.ts';
import { lockFolder } from './folder-lock.ts';
import { GroupKin, ProcKin, type Kin } from './kin.ts';
import { reapLeftovers } from './leftovers.ts';
import { dropOldLogs } from './old-logs.ts';
import { Ports } from './ports.ts';
import { procTable, type ProcessId, type ProcessTable } from './process-table.ts';
import { Registry, type EngineRecord, type Entry } from './registry.ts';
import { signalGroup } from './signal-group.ts';
import { Starter } from './starter.ts';

export type ProcessesOptions = {
  /** Made if need be, and ours alone while we run: what we started is recorded in `engines`, what it printed in `logs`. */
  readonly stateDir: string;
  readonly logMaxBytes?: number;
  /** How many rotated files of each log are kept. */
  readonly logKeep?: number;
  readonly logTailLines?: number;
  readonly leftoverGraceMs?: number;
  /** Another catnap has the state folder and will let go of it: it is not ours before `enter`. */
  readonly waits?: boolean;
  /** Whether programs are asked so often that a small process is to start them. */
  readonly asksOften?: boolean;
  /** Told every line that any engine prints. */
  readonly onLine?: (model: ModelId, line: string) => void;
  /** Told what went wrong without stopping anything. */
  readonly onProblem: (message: string) => void;
};

/** Processes of this machine, all engines of this catnap among them. */
export interface SystemProcesses extends Processes {
  /** Kills every engine and everything it started, without waiting. For exit handlers: the last resort of a catnap that dies. */
  killAllNow(): void;
  /** The other catnap has let go of the state folder. Whatever it handed over is ours on disk before anything else is done. */
  enter(handed: readonly HandedProcess[]): Promise<void>;
  /** Gives the state folder back. */
  close(): Promise<void>;
  /** For whoever writes engines to disk and brings them back. */
  readonly host: CheckpointHost;
}

type Argv = SpawnSpec['argv'];

/** What the supervision of processes lends to checkpoints: helpers that count as the engine's own, and a way back to its log and record. */
export interface CheckpointHost {
  /** Undefined on a system that has no process table. */
  readonly table: ProcessTable | undefined;
  /** What tells this state folder from all others. */
  readonly state: string;
  markOf(child: Child): string;
  /**
   * While an engine is on disk its log is not cut, since it can only open it again as it was, and its port is given to
   * no other. Gives the release.
   */
  hold(child: Child, port: number): Promise<() => void>;
  /** Starts a program that works on the child and carries its mark. Killed as the child would be. */
  help(child: Child, argv: Argv, output: number): Promise<Started>;
  /** Gives this port to nobody until it is released. */
  keepPort(port: number): () => void;
  /** Starts a program that brings the child back: same mark, log and record. One of an earlier catnap gets a log and a record again. */
  revive(child: Child | Lost, argv: Argv, output: number): Promise<Reviving>;
}

/** A child of an earlier catnap, of which nothing is left but an image. */
export type Lost = Pick<SpawnSpec, 'engine' | 'model' | 'port'> & { readonly mark: string };

export type Reviving = {
  /** Until it has arrived this is the program, and whatever it has made so far. */
  readonly child: Child;
  /** The end of the program. */
  readonly ended: Promise<Exit>;
  /** Says which process the engine is. False when there is no such process. */
  arrived(pid: number): Promise<boolean>;
};

/** Rejects when the state folder cannot be used, or is in use by another catnap; the message says what to change. */
export async function openProcesses(options: ProcessesOptions): Promise<SystemProcesses> {
  const folders = { engines: join(options.stateDir, 'engines'), logs: join(options.stateDir, 'logs') };
  try {
    for (const folder of Object.values(folders)) makePrivate(folder);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${options.stateDir} cannot be used; set state_dir to a folder we may write to: ${why}`, {
      cause: error,
    });
  }
  const processes = new LocalProcesses(options, folders);
  if (options.waits !== true) await processes.enter([]);
  if (options.asksOften === true) processes.starter.begin();
  return processes;
}

function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
}

class LocalProcesses implements SystemProcesses, CheckpointHost {
  readonly table: ProcessTable | undefined = procTable();
  readonly state: string;
  readonly #options: ProcessesOptions;
  readonly #logs: string;
  readonly #registry: Registry;
  #unlock: (() => Promise<void>) | undefined;
  readonly #leaving: Promise<void>[] = [];
  readonly #ports = new Ports();
  readonly #running = new Set<EngineProcess>();
  readonly #asked = new Set<number>();
  readonly starter: Starter;

  constructor(options: ProcessesOptions, folders: { engines: string; logs: string }) {
    this.#options = options;
    this.#logs = folders.logs;
    this.#registry = new Registry(folders.engines, options.onProblem);
    const { dev, ino } = statSync(options.stateDir, { bigint: true });
    this.state = `${dev}-${ino}`;
    this.starter = new Starter(options.onProblem);
  }

  get host(): CheckpointHost {
    return this;
  }

  async enter(handed: readonly HandedProcess[]): Promise<void> {
    const { stateDir, onProblem } = this.#options;
    this.#unlock = await lockFolder(stateDir);
    for (const process of handed) await this.#record(process, process.mark, process);
    await dropOldLogs(this.#logs).catch((error: unknown) => {
      onProblem(`old logs in ${this.#logs} could not be removed: ${String(error)}`);
    });
  }

  async spawn(spec: SpawnSpec): Promise<Child> {
    const mark = randomBytes(16).toString('hex');
    const env = engineEnvironment(process.env, spec.env, mark);
    const log = this.#openLog(spec);
    const entry = await this.#record(spec, mark);
    let started: Started | undefined;
    try {
      started = await startProcess(spec, env, log.file);
      const leader = this.table?.look(started.pid);
      const child: EngineProcess = new EngineProcess(started, {
        of: { engine: spec.engine, model: spec.model, port: spec.port },
        kin: this.#kinOf(started.pid, mark, leader),
        mark,
        log,
        entry,
        onForgotten: () => this.#running.delete(child),
      });
      this.#running.add(child);
      await this.#complete(entry, leader);
      return child;
    } catch (error) {
      // Nobody would know of it.
      if (started !== undefined) signalGroup(started.pid, 'SIGKILL');
      await log.close();
      await entry?.remove();
      throw error;
    }
  }

  release(child: Child): HandedProcess {
    const { mark, log, of } = this.#own(child).parts;
    this.#running.delete(this.#own(child));
    const started = this.table?.look(child.pid)?.started ?? 0;
    const handed = { ...of, mark, pid: child.pid, started, log: log.handed };
    this.#leaving.push(log.leave());
    return handed;
  }

  async adopt(handed: HandedProcess): Promise<Child> {
    const { table } = this;
    if (table === undefined) throw new Error('this system has no process table to find the process in');
    const { engine, model, port, mark, pid, log: past } = handed;
    const of = { engine, model, port };
    const log = this.#openLog(of, past);
    const entry = await this.#record(of, mark, handed);
    const child: EngineProcess = new EngineProcess(
      { pid, exited: exitOf(handed, table) },
      { of, kin: this.#kinOf(pid, mark, handed), mark, log, entry, onForgotten: () => this.#running.delete(child) },
    );
    this.#running.add(child);
    return child;
  }

  async reapLeftovers(): Promise<readonly Leftover[]> {
    const { leftoverGraceMs: graceMs = 2_000, onProblem } = this.#options;
    if (this.table !== undefined) return reapLeftovers(this.#registry, this.table, { graceMs, onProblem });
    const entries = await this.#registry.entries();
    for (const { record } of entries) {
      onProblem(`engine ${record.engine} of an earlier catnap may still run; this system gives no way to prove it`);
    }
    await Promise.all(entries.map((entry) => entry.remove()));
    return [];
  }

  freePort(): Promise<number> {
    return this.#ports.free();
  }

  portIsFree(port: number): Promise<boolean> {
    return this.#ports.isFree(port);
  }

  ask(argv: readonly [string, ...string[]], limitMs: number, { signal, of }: AskTerms = {}): Promise<Answer> {
    return this.starter.ask(argv, limitMs, {
      ...(of !== undefined && { env: helperEnvironment(this.markOf(of)) }),
      ...(signal !== undefined && { signal }),
      watch: (pid, ended) => {
        this.#asked.add(pid);
        void ended.finally(() => this.#asked.delete(pid));
      },
    });
  }

  markOf(child: Child): string {
    return this.#own(child).parts.mark;
  }

  async hold(child: Child, port: number): Promise<() => void> {
    const { log } = this.#own(child).parts;
    const releasePort = this.#ports.keep(port);
    try {
      await log.hold();
    } catch (error) {
      releasePort();
      throw error;
    }
    return () => {
      releasePort();
      log.release();
    };
  }

  async help(child: Child, argv: Argv, output: number): Promise<Started> {
    const { mark } = this.#own(child).parts;
    const started = await startProcess({ argv, cwd: undefined }, helperEnvironment(mark), output);
    this.#asked.add(started.pid);
    void started.exited.finally(() => this.#asked.delete(started.pid));
    return started;
  }

  keepPort(port: number): () => void {
    return this.#ports.keep(port);
  }

  async revive(child: Child | Lost, argv: Argv, output: number): Promise<Reviving> {
    const old = 'mark' in child ? undefined : this.#own(child);
    const { of, mark, log, entry } = old?.parts ?? (await this.#partsOf(child));
    const helper = await startProcess({ argv, cwd: undefined }, helperEnvironment(mark), output);
    const leader = this.table?.look(helper.pid);
    // The helper ends with the engine, and does not tell how that one ended.
    const exited = helper.exited.then((): Exit => ({ code: null, signal: null }));
    const revived: EngineProcess = new EngineProcess(
      { pid: helper.pid, exited },
      {
        of,
        kin: this.#kinOf(helper.pid, mark, leader),
        mark,
        log,
        entry,
        onForgotten: () => this.#running.delete(revived),
      },
    );
    if (old !== undefined) this.#running.delete(old);
    this.#running.add(revived);
    await this.#complete(entry, leader);
    return {
      child: revived,
      ended: helper.exited,
      arrived: async (pid) => {
        const stat = this.table?.look(pid);
        if (stat?.alive !== true) return false;
        revived.isNow(pid, this.#kinOf(pid, mark, stat));
        await this.#complete(entry, stat);
        return true;
      },
    };
  }

  async #partsOf(lost: Child | Lost): Promise<Pick<EngineProcess['parts'], 'of' | 'mark' | 'log' | 'entry'>> {
    if (!('mark' in lost)) throw new Error(`process ${lost.pid} is none of ours`);
    const { mark, ...of } = lost;
    return { of, mark, log: this.#openLog(of), entry: await this.#record(of, mark) };
  }

  #own(child: Child): EngineProcess {
    for (const own of this.#running) if (own === child) return own;
    throw new Error(`process ${child.pid} is none of ours`);
  }

  killAllNow(): void {
    for (const child of this.#running) {
      try {
        child.killNow();
      } catch {
        signalGroup(child.pid, 'SIGKILL'); // the process table cannot be read any more; the group needs no reading
      }
    }
    for (const pid of this.#asked) signalGroup(pid, 'SIGKILL');
    // Of what it has just started nobody knows the number here.
    this.starter.close();
  }

  async close(): Promise<void> {
    this.starter.close();
    await Promise.all(this.#leaving);
    await this.#unlock?.();
  }

  #openLog({ engine, model }: Pick<SpawnSpec, 'engine' | 'model'>, handed?: HandedLog): EngineLog {
    const { logMaxBytes = 16 * 1024 * 1024, logKeep = 1, logTailLines = 500, onLine, onProblem } = this.#options;
    return new EngineLog({
      path: join(this.#logs, `${engineFileName(engine)}.log`),
      maxBytes: logMaxBytes,
      keep: logKeep,
      tailLines: logTailLines,
      onLine: onLine === undefined ? undefined : (line) => onLine(model, line),
      onProblem,
      ...(handed !== undefined && { handed }),
    });
  }

  /** A full disk must not keep models from answering; what is lost is only the way back to the engine after a crash of ours. */
  async #record(
    { engine, model, port }: Pick<SpawnSpec, 'engine' | 'model' | 'port'>,
    mark: string,
    leader: ProcessId | null = null,
  ): Promise<Entry | undefined> {
    const record: EngineRecord = {
      version: 1,
      engine,
      model,
      port,
      mark,
      boot: this.table?.boot ?? '',
      namespace: this.table?.namespace ?? '',
      catnap: { pid: process.pid, started: this.table?.self.started ?? 0 },
      leader: leader && { pid: leader.pid, started: leader.started },
    };
    try {
      return await this.#registry.add(record);
    } catch (error) {
      this.#options.onProblem(`engine ${engine} is started without a record on disk: ${String(error)}`);
      return undefined;
    }
  }

  async #complete(entry: Entry | undefined, leader: ProcessId | undefined): Promise<void> {
    if (entry === undefined || leader === undefined) return;
    try {
      await entry.complete({ pid: leader.pid, started: leader.started });
    } catch (error) {
      this.#options.onProblem(`the record of engine ${entry.record.engine} has no process number: ${String(error)}`);
    }
  }

  #kinOf(pid: number, mark: string, leader: ProcessId | undefined): Kin {
    if (this.table === undefined) return new GroupKin(pid);
    return new ProcKin(this.table, { mark: `${MARK}=${mark}`, leader, holdsSession: true });
  }
}

const helperEnvironment = (mark: string): Record<string, string> => ({ ...inheritedFrom(process.env), [MARK]: mark });
