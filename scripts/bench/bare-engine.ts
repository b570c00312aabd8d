import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, closeSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Ports } from '../../src/adapters/ports.ts';
import { firstByte } from './first-byte.ts';

/** How an engine is started, with a place for the port. */
export type Recipe = { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> };

/** Milliseconds of one swap, part by part. */
export type BareSwap = {
  readonly totalMs: number;
  /** From SIGTERM to the end of the process. */
  readonly endMs: number;
  /** From the spawn to the first answer of any kind. */
  readonly listenMs: number;
  /** From the first answer to the first good one. */
  readonly readyMs: number;
  /** From the request to the first byte of its answer. */
  readonly answerMs: number;
};

const PORT = '{port}';
const BETWEEN_PROBES_MS = 1;
/** An engine that has not ended so long after SIGTERM is killed. */
const GRACE_MS = 5_000;

/** What a running engine was started with. Linux only, as it reads `/proc`. */
export function recipeOf(pid: number, port: number): Recipe {
  const words = (file: string): string[] => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0').slice(0, -1);
  const env = words('environ').map((entry): [string, string] => {
    const at = entry.indexOf('=');
    return [entry.slice(0, at), entry.slice(at + 1)];
  });
  return {
    argv: words('cmdline').map((word) => (word === String(port) ? PORT : word)),
    env: Object.fromEntries(env.filter(([name]) => name !== 'CATNAP_ENGINE')),
  };
}

/**
 * One engine at a time, driven by hand with as little as a swap can be done with: SIGTERM, the end of the process, a
 * spawn, probes as close together as they can be, the request. What catnap takes beyond this is its share.
 */
export class BareEngine {
  readonly #recipes: ReadonlyMap<string, Recipe>;
  readonly #log: string;
  readonly #ports = new Ports();
  #running: ChildProcess | undefined;

  constructor(recipes: ReadonlyMap<string, Recipe>, log: string) {
    this.#recipes = recipes;
    this.#log = log;
  }

  async swapTo(model: string, signal: AbortSignal): Promise<BareSwap> {
    // Looking for a port is not a part of the least a swap takes: whoever drives an engine by hand has one in mind.
    const port = await this.#ports.free();
    const from = performance.now();
    await this.stop();
    const ended = performance.now();
    const child = await this.#spawn(model, port);
    const { listening, ready } = await untilReady(child, port, signal);
    const { at } = await firstByte(port, model, signal);
    return {
      totalMs: at - from,
      endMs: ended - from,
      listenMs: listening - ended,
      readyMs: ready - listening,
      answerMs: at - ready,
    };
  }

  /** Ends the one that runs. */
  async stop(): Promise<void> {
    const child = this.#running;
    this.#running = undefined;
    if (child !== undefined) await endGroup(child);
  }

  async #spawn(model: string, port: number): Promise<ChildProcess> {
    const recipe = this.#recipes.get(model);
    if (recipe === undefined) throw new Error(`nothing says how ${model} is started`);
    const child = await spawnByHand(recipe, port, this.#log);
    this.#running = child;
    return child;
  }
}

/** As catnap does it: a session of its own, nothing to read, a file to write to. */
export async function spawnByHand({ argv, env }: Recipe, port: number, logFile: string): Promise<ChildProcess> {
  const [program, ...args] = argv.map((word) => (word === PORT ? String(port) : word));
  if (program === undefined) throw new Error('there is nothing to start');
  const log = openSync(logFile, 'a');
  try {
    const child = spawn(program, args, { env, detached: true, stdio: ['ignore', log, log] });
    await once(child, 'spawn');
    return child;
  } finally {
    closeSync(log);
  }
}

/** Tells a process and its group to end, and kills them when they do not. */
export async function endGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return;
  const group = -child.pid;
  const ended = once(child, 'exit');
  process.kill(group, 'SIGTERM');
  const late = setTimeout(() => process.kill(group, 'SIGKILL'), GRACE_MS);
  await ended;
  clearTimeout(late);
}

export async function untilReady(
  child: ChildProcess,
  port: number,
  signal: AbortSignal,
): Promise<{ listening: number; ready: number }> {
  let listening: number | undefined;
  for (;;) {
    signal.throwIfAborted();
    if (hasEnded(child)) throw new Error(`the engine ended before it was ready: ${child.spawnargs.join(' ')}`);
    const status = await probe(port, signal);
    const at = performance.now();
    if (status !== undefined) listening ??= at;
    if (status === 200) return { listening: listening ?? at, ready: at };
    await pause(BETWEEN_PROBES_MS);
  }
}

/** The status of `/health`, or undefined when there is no answer. */
function probe(port: number, signal: AbortSignal): Promise<number | undefined> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/health', agent: false, signal }, (res) => {
      res.resume();
      resolve(res.statusCode);
    }).once('error', () => resolve(undefined));
  });
}

export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;
