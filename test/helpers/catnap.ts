import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { MODELS_PATH, ModelList, type EngineRow, type ModelRow } from '../../src/api/admin/contract.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import { ask, type Asking, type Reply } from './client.ts';
import { EventStream } from './event-stream.ts';
import { waitFor } from './wait-for.ts';

const PROGRAM = join(import.meta.dirname, '../../scripts/launch/catnap.mjs');

export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** One line of its log. */
const Line = z.looseObject({ fact: z.string(), level: z.string(), msg: z.string() });
export type Line = z.infer<typeof Line>;

export type Setting = {
  /** Everything it writes lies here, and everything it starts names it, so that whoever is left behind can be found. */
  readonly folder: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly args?: readonly string[];
};

/** Starts the built command line in the folder, as a user would who has nothing configured there. */
function launch(args: readonly string[], { folder, env }: Setting): ChildProcess {
  const own = { TMPDIR: folder, XDG_STATE_HOME: folder, CATNAP_LOG: 'debug,output=off', CATNAP_LOG_FORMAT: 'json' };
  return spawn(process.execPath, [PROGRAM, ...args], {
    cwd: folder,
    env: { ...process.env, ...own, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs the command line to its end. */
export async function runCatnap(
  args: readonly string[],
  setting: Setting,
): Promise<Ended & { readonly out: string; readonly err: string }> {
  const child = launch(args, setting);
  const [out, err, ended] = await Promise.all([readAll(child.stdout), readAll(child.stderr), exitOf(child)]);
  return { ...ended, out, err };
}

/** Where the config of a catnap in this folder lies, and what it is told to keep there. */
export const configFile = (folder: string): string => join(folder, 'catnap.json');
export const stateDir = (folder: string): string => join(folder, 'state');

/** Writes a config that gets in nobody's way unless it says otherwise: any free port, no port for metrics. */
export function writeConfig(folder: string, config: ConfigInput): string {
  const file = configFile(folder);
  writeFileSync(file, JSON.stringify({ port: 0, metrics_port: 0, state_dir: stateDir(folder), ...config }));
  return file;
}

/** A catnap that serves: the built product as a process of its own. */
export class Catnap {
  readonly exited: Promise<Ended>;
  readonly lines: Line[] = [];
  readonly #child: ChildProcess;
  /** What it says besides its log. */
  #said = '';
  #ended = false;
  #port = 0;

  /** Writes its config and starts it. */
  static launch(config: ConfigInput, setting: Setting): Catnap {
    const file = writeConfig(setting.folder, config);
    return new Catnap(launch(['--config', file, ...(setting.args ?? [])], setting));
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.exited = exitOf(child);
    void this.exited.then(() => {
      this.#ended = true;
    });
    for (const input of [child.stdout, child.stderr]) {
      if (input !== null) createInterface({ input }).on('line', (line) => this.#hear(line));
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Everything it has said, for the report of a test that failed. */
  get log(): string {
    return this.lines.map(({ level, msg }) => `${level} ${msg}\n`).join('') + this.#said;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Told to stop, as a supervisor would; resolves when it has ended. */
  stop(name: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.signal(name);
    return this.exited;
  }

  facts(kind: string, like: Readonly<Record<string, unknown>> = {}): Line[] {
    return this.lines.filter(
      (line) => line.fact === kind && Object.entries(like).every(([key, value]) => line[key] === value),
    );
  }

  /** Waits until it has told such a fact this many times, and gives the last of them. */
  fact(kind: string, like: Readonly<Record<string, unknown>> = {}, times = 1): Promise<Line> {
    return waitFor(
      `${kind} ${JSON.stringify(like)}`,
      () => {
        const found = this.facts(kind, like);
        return found.length >= times && found.at(-1);
      },
      { within: 60_000 },
    );
  }

  /** The facts of this kind that it has told by now. */
  async told(kind: string, like: Readonly<Record<string, unknown>> = {}): Promise<Line[]> {
    await this.hearAll();
    return this.facts(kind, like);
  }

  /**
   * The log comes by a way of its own and may be behind what catnap has answered. So something harmless is done that is told, and
   * once that is read so is all before it. Only where the log has `debug`.
   */
  async hearAll(): Promise<void> {
    const before = this.facts(NOISE).length;
    const noise = connect(this.#port, '127.0.0.1', () => noise.end('noise\r\n\r\n'));
    noise.on('error', () => {}).resume();
    await this.fact(NOISE, {}, before + 1);
  }

  ask(path: string, asking: Asking = {}): Promise<Reply> {
    return ask(this.#port, path, asking);
  }

  get(path: string): Promise<Reply> {
    return this.ask(path, { method: 'GET' });
  }

  /** A chat of one word, answered in one piece. */
  chat(model: string, more: object = {}): Promise<Reply> {
    return this.ask('/v1/chat/completions', { body: chatBody(model, more), headers: JSON_BODY });
  }

  /** The same as a stream. Resolves when the answer begins. */
  stream(model: string, more: object = {}): Promise<EventStream> {
    return EventStream.open(this.#port, '/v1/chat/completions', chatBody(model, { stream: true, ...more }));
  }

  async models(): Promise<ModelList> {
    return ModelList.parse(JSON.parse((await this.get(MODELS_PATH)).text));
  }

  async model(name: string): Promise<ModelRow> {
    const row = (await this.models()).models.find((model) => model.name === name);
    if (row === undefined) throw new Error(`${name} is not listed`);
    return row;
  }

  /** The engine of a model that runs. */
  async engine(name: string, replica = 0): Promise<{ readonly pid: number; readonly port: number }> {
    const row: EngineRow | undefined = (await this.model(name)).engines[replica];
    if (!row?.pid || !row.port) throw new Error(`${name} has no engine that runs`);
    return { pid: row.pid, port: row.port };
  }

  #hear(line: string): void {
    const found = Line.safeParse(parsed(line));
    if (found.success) this.lines.push(found.data);
    else this.#said += `${line}\n`;
  }

  /** Resolves once it listens; rejects with what it said when it ends before. */
  async listens(): Promise<this> {
    const line = await waitFor(
      'catnap to listen',
      () => this.facts('listening', { what: 'main' }).at(-1) ?? (this.ended && 'ended'),
      { within: 60_000 },
    ).catch((error: unknown) => {
      this.signal('SIGKILL');
      throw error;
    });
    if (line === 'ended') throw new Error(`catnap ended before it listened: ${this.log}`);
    this.#port = Number(new URL(String(line['url'])).port);
    return this;
  }
}

/** What is told of a client that says no HTTP. */
const NOISE = 'client-error';

export const JSON_BODY = { 'content-type': 'application/json' };

/** Short, and without chance. */
export const chatBody = (model: string, more: object = {}): string =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], temperature: 0, ...more });

async function exitOf(child: ChildProcess): Promise<Ended> {
  // `close` comes after the last line was read.
  const [code, signal] = await once(child, 'close');
  return { code, signal };
}

const readAll = (stream: ChildProcess['stdout']): Promise<string> =>
  stream === null ? Promise.resolve('') : text(stream);

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
