import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Ports } from '../../src/adapters/ports.ts';
import { endGroup, hasEnded, spawnByHand, untilReady, type Recipe } from './bare-engine.ts';
import { firstByte } from './first-byte.ts';

const run = promisify(execFile);

/** The process we wait for is the engine itself before it was on disk for the first time, and criu, its parent, afterwards. */
type Engine = { readonly pid: number; readonly port: number; parent: ChildProcess | undefined; images: string };

/** Two engines that are written to disk and brought back by hand, with criu and the flags that catnap gives it. */
export class CriuByHand {
  readonly #criu: string;
  readonly #folder: string;
  readonly #ports = new Ports();
  readonly #engines = new Map<string, Engine>();
  #awake: string | undefined;

  constructor(criu: string, folder: string) {
    this.#criu = criu;
    this.#folder = folder;
  }

  async start(recipes: ReadonlyMap<string, Recipe>, signal: AbortSignal): Promise<void> {
    for (const [model, recipe] of recipes) {
      if (this.#awake !== undefined) await this.#dump(this.#awake);
      const port = await this.#ports.free();
      const child = await spawnByHand(recipe, port, join(this.#folder, `${model}.log`));
      this.#engines.set(model, { pid: child.pid ?? 0, port, parent: child, images: '' });
      await untilReady(child, port, signal);
      this.#awake = model;
    }
  }

  async swapTo(model: string, signal: AbortSignal): Promise<number> {
    const from = performance.now();
    if (this.#awake !== undefined) await this.#dump(this.#awake);
    const engine = this.#engineOf(model);
    await this.#restore(engine, signal);
    this.#awake = model;
    const { at } = await firstByte(engine.port, model, signal);
    rmSync(engine.images, { recursive: true });
    return at - from;
  }

  async stop(): Promise<void> {
    const engine = this.#awake === undefined ? undefined : this.#engineOf(this.#awake);
    if (engine?.parent === undefined || hasEnded(engine.parent)) return;
    if (engine.parent.pid === engine.pid) return endGroup(engine.parent);
    const ended = once(engine.parent, 'exit');
    process.kill(-engine.pid, 'SIGKILL');
    await ended;
  }

  async #dump(model: string): Promise<void> {
    const engine = this.#engineOf(model);
    const { parent } = engine;
    if (parent === undefined) throw new Error(`${model} does not run`);
    engine.images = mkdtempSync(join(this.#folder, 'image-'));
    const ended = once(parent, 'exit');
    await run(this.#criu, [
      ...['dump', '--tree', String(engine.pid), '--log-file', 'dump.log', '--timeout', '60'],
      ...['--link-remap', '--ghost-limit', '512M', ...common(engine.images)],
    ]);
    await ended;
    engine.parent = undefined;
  }

  async #restore(engine: Engine, signal: AbortSignal): Promise<void> {
    const pidFile = join(engine.images, 'root.pid');
    const args = ['restore', '--log-file', 'restore.log', '--pidfile', pidFile, ...common(engine.images)];
    const criu = spawn(this.#criu, args, { detached: true, stdio: 'ignore' });
    engine.parent = criu;
    while (!existsSync(join(engine.images, 'stats-restore'))) {
      signal.throwIfAborted();
      if (hasEnded(criu)) throw new Error(`criu restore ended with ${criu.exitCode}: see ${engine.images}/restore.log`);
      await pause(1);
    }
    while (!(await isHealthy(engine.port))) signal.throwIfAborted();
  }

  #engineOf(model: string): Engine {
    const engine = this.#engines.get(model);
    if (engine === undefined) throw new Error(`${model} was not started`);
    return engine;
  }
}

const common = (folder: string): string[] => [
  ...['--no-default-config', '--images-dir', folder, '--work-dir', folder, '-v2'],
  ...['--tcp-close', '--ext-unix-sk', '--file-locks', '--manage-cgroups=ignore', '--libdir', folder],
];

async function isHealthy(port: number): Promise<boolean> {
  const healthy = await new Promise<boolean>((resolve) => {
    get({ host: '127.0.0.1', port, path: '/health', agent: false }, (res) => {
      res.resume();
      resolve(res.statusCode === 200);
    }).once('error', () => resolve(false));
  });
  if (!healthy) await pause(1);
  return healthy;
}
