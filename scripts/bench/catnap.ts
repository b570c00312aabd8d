import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { MODELS_PATH, ModelList } from '../../src/api/admin/contract.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { Fact } from '../../src/core/facts.ts';
import { LEGS } from '../../src/core/swap.ts';
import { waitFor } from '../../test/helpers/wait-for.ts';
import { recipeOf, type Recipe } from './bare-engine.ts';
import { firstByte } from './first-byte.ts';

/** One swap as the client saw it, and as catnap recorded it. */
export type CatnapSwap = {
  readonly totalMs: number;
  /** From the grant to the first byte of the engine, as `Server-Timing` has it. */
  readonly answerMs: number;
  readonly legs: SwapFinished['legs'];
};

const fact = <Kind extends Fact['kind']>(kind: Kind) => z.literal(kind);

const Listening = z.object({ fact: fact('listening'), url: z.url() });
const SwapFinished = z.object({
  fact: fact('swap-finished'),
  to: z.string(),
  result: z.string(),
  legs: z.partialRecord(z.enum(LEGS), z.number()),
});
type SwapFinished = z.infer<typeof SwapFinished>;

const CHECKOUT = join(import.meta.dirname, '../..');
/** As much of its log is kept for the case that it fails. */
const KEPT_LINES = 50;

type Start = {
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where it is built, if not here. */
  readonly checkout?: string | undefined;
};

/** A catnap of its own as people run it: the built product, in a process of its own. */
export class Catnap {
  readonly #child: ChildProcess;
  readonly #log: string[] = [];
  #port: number | undefined;
  #finished: SwapFinished | undefined;

  static async start(
    folder: string,
    config: ConfigInput,
    { nodeArgs = [], env = {}, checkout = CHECKOUT }: Start = {},
  ): Promise<Catnap> {
    const file = join(folder, 'config.json');
    writeFileSync(file, JSON.stringify({ ...config, port: 0, metrics_port: 0, state_dir: join(folder, 'state') }));
    const launcher = join(checkout, 'scripts/launch/catnap.mjs');
    const child = spawn(process.execPath, [...nodeArgs, launcher, '--config', file], {
      cwd: folder,
      env: { ...process.env, ...env, CATNAP_LOG: 'info', CATNAP_LOG_FORMAT: 'json' },
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    await once(child, 'spawn');
    const catnap = new Catnap(child);
    try {
      await waitFor('catnap to listen', () => catnap.#port !== undefined || catnap.#hasEnded);
      if (catnap.#hasEnded) throw new Error('it ended at once');
      return catnap;
    } catch (error) {
      await catnap.stop();
      throw new Error(`catnap did not start:\n${catnap.#log.join('\n')}`, { cause: error });
    }
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    if (child.stderr === null) throw new Error('catnap was started without a pipe for its log');
    createInterface(child.stderr).on('line', (line) => this.#read(line));
  }

  async swapTo(model: string, signal: AbortSignal): Promise<CatnapSwap> {
    this.#finished = undefined;
    const from = performance.now();
    const { at, timing } = await firstByte(this.#listeningPort, model, signal);
    // The log is written in the background, so it may come after the answer.
    const { to, result, legs } = await waitFor('the record of the swap', () => this.#finished);
    if (to !== model || result !== 'done') throw new Error(`the swap to ${to} was ${result}; ${model} was asked for`);
    return { totalMs: at - from, answerMs: engineMs(timing), legs };
  }

  /** One request, to its end. */
  async ask(model: string, signal: AbortSignal): Promise<void> {
    await firstByte(this.#listeningPort, model, signal);
  }

  /** How the engine of an awake model was started. */
  async recipe(model: string, signal: AbortSignal): Promise<Recipe> {
    const answer = await fetch(`http://127.0.0.1:${this.#listeningPort}${MODELS_PATH}`, { signal });
    const { models } = ModelList.parse(await answer.json());
    const engine = models.find(({ name }) => name === model)?.engines[0];
    if (typeof engine?.pid !== 'number' || engine.port === null) throw new Error(`${model} does not run`);
    return recipeOf(engine.pid, engine.port);
  }

  /** As an operator ends it: it ends its engines, and only then itself. */
  async stop(): Promise<void> {
    if (this.#hasEnded) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get #listeningPort(): number {
    if (this.#port === undefined) throw new Error('catnap does not listen yet');
    return this.#port;
  }

  #read(line: string): void {
    this.#log.push(line);
    if (this.#log.length > KEPT_LINES) this.#log.shift();
    const record = parsed(line);
    const listening = Listening.safeParse(record);
    if (listening.success) this.#port = Number(new URL(listening.data.url).port);
    this.#finished = SwapFinished.safeParse(record).data ?? this.#finished;
  }
}

/** Undefined for what Node itself has to say. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** `queue;dur=1.2, swap;dur=3.4, engine;dur=5.6` */
function engineMs(timing: string | undefined): number {
  const found = /\bengine;dur=([\d.]+)/.exec(timing ?? '')?.[1];
  if (found === undefined) throw new Error(`an answer came without the engine's time: ${timing}`);
  return Number(found);
}
