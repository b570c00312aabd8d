import { execFile, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ports } from '../../src/adapters/ports.ts';
import type { Lab } from '../../test/helpers/lab.ts';
import { endGroup, spawnByHand, untilReady, type Recipe } from './bare-engine.ts';
import { firstByte } from './first-byte.ts';

const run = promisify(execFile);

/** How often each tool was started. */
export type ToolStarts = { readonly [tool in (typeof TOOLS)[number]]: number };
const TOOLS = ['nvidia-smi', 'cuda-checkpoint'] as const;

export const startsIn = (lab: Lab): ToolStarts => ({
  'nvidia-smi': lab.starts('nvidia-smi'),
  'cuda-checkpoint': lab.starts('cuda-checkpoint'),
});

export type LabLevel = 1 | 2 | 3 | 'hybrid';

/** What each of them takes of a GPU at most. */
const ROOM_MIB = 14_700;

type Engine = { readonly child: ChildProcess; readonly port: number };

/**
 * Two stand-ins for vLLM on a lab of their own, swapped by hand with the calls of the level and nothing else, but for a look at
 * `nvidia-smi` after each sleep, until there is room for the other: who brings it back before that may ruin it.
 */
export class LabByHand {
  readonly #lab: Lab;
  readonly #level: LabLevel;
  readonly #log: string;
  readonly #ports = new Ports();
  readonly #engines = new Map<string, Engine>();
  #awake: string | undefined;

  constructor(lab: Lab, level: LabLevel, folder: string) {
    this.#lab = lab;
    this.#level = level;
    this.#log = join(folder, 'by-hand.log');
  }

  /** Starts them as catnap has started its own; the last one stays awake. */
  async start(recipes: ReadonlyMap<string, Recipe>, signal: AbortSignal): Promise<void> {
    for (const [model, { argv, env }] of recipes) {
      if (this.#awake !== undefined) await this.#sleep(this.#awake);
      const port = await this.#ports.free();
      const own = [this.#lab.tool('vllm'), ...argv.slice(argv.indexOf('serve'))];
      const child = await spawnByHand({ argv: own, env }, port, this.#log);
      this.#engines.set(model, { child, port });
      await untilReady(child, port, signal);
      this.#awake = model;
    }
  }

  async swapTo(model: string, signal: AbortSignal): Promise<number> {
    const from = performance.now();
    if (this.#awake !== undefined) await this.#sleep(this.#awake);
    await this.#wake(model);
    this.#awake = model;
    const { at } = await firstByte(this.#portOf(model), model, signal);
    return at - from;
  }

  async stop(): Promise<void> {
    for (const { pid } of this.#lab.ledger.holders()) await this.#cudaToRunning(pid);
    for (const { child } of this.#engines.values()) await endGroup(child);
  }

  /** What this lab's tools were started for so far. */
  get starts(): ToolStarts {
    return startsIn(this.#lab);
  }

  async #sleep(model: string): Promise<void> {
    const level = this.#level;
    if (level !== 3) await this.#post(model, `/sleep?level=${level === 'hybrid' ? 2 : level}&mode=wait`);
    if (level === 'hybrid') await this.#rpc(model, 'checkpoint_prepare_distributed_state');
    if (level === 3 || level === 'hybrid') await this.#cuda(model, ['lock', 'checkpoint']);
    while (!(await this.#hasRoom())) continue;
  }

  async #hasRoom(): Promise<boolean> {
    const query = ['--query-gpu=memory.free', '--format=csv,noheader,nounits'];
    const { stdout } = await run(this.#lab.tool('nvidia-smi'), query);
    return stdout
      .trim()
      .split('\n')
      .every((free) => Number(free) >= ROOM_MIB);
  }

  async #wake(model: string): Promise<void> {
    const level = this.#level;
    if (level === 3 || level === 'hybrid') await this.#cuda(model, ['restore', 'unlock']);
    if (level === 3) return;
    if (level === 1) return this.#post(model, '/wake_up');
    if (level === 'hybrid') await this.#rpc(model, 'checkpoint_restore_distributed_state');
    await this.#post(model, '/wake_up?tags=weights');
    await this.#rpc(model, 'reload_weights');
    await this.#post(model, '/wake_up?tags=kv_cache');
    await this.#post(model, '/reset_prefix_cache');
  }

  async #cuda(model: string, actions: readonly string[]): Promise<void> {
    const pids = this.#lab.ledger.holders().flatMap((holder) => (holder.model === model ? [holder.pid] : []));
    for (const action of actions) await Promise.all(pids.map((pid) => this.#act(action, pid)));
  }

  #act(action: string, pid: number): Promise<unknown> {
    return run(this.#lab.tool('cuda-checkpoint'), ['--action', action, '--pid', String(pid)]);
  }

  /** Frozen, they would not hear that they are to end. */
  async #cudaToRunning(pid: number): Promise<void> {
    if (this.#lab.ledger.holder(pid)?.state === 'checkpointed') this.#lab.ledger.setState(pid, 'running');
  }

  #rpc(model: string, method: string): Promise<void> {
    return this.#post(model, '/collective_rpc', JSON.stringify({ method }));
  }

  async #post(model: string, path: string, body?: string): Promise<void> {
    const url = `http://127.0.0.1:${this.#portOf(model)}${path}`;
    const answer = await fetch(url, { method: 'POST', ...(body !== undefined && { body }) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${model} ${path}: ${answer.status} ${text}`);
  }

  #portOf(model: string): number {
    const engine = this.#engines.get(model);
    if (engine === undefined) throw new Error(`${model} was not started`);
    return engine.port;
  }
}
