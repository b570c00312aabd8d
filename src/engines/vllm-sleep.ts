import type { EngineAnswer } from '../ports/engine-http.ts';
import type { FamilyMemory } from '../ports/handover.ts';
import type { Child } from '../ports/process.ts';
import { DriverError } from './driver.ts';
import { failedCall, fieldOf } from './own-calls.ts';
import type { OwnSleep, Sleeper } from './sleeper.ts';
import { VllmAdapters } from './vllm-adapters.ts';
import { knownBad, versionOf, wakesInParts } from './vllm-version.ts';

export type VllmSleepTerms = {
  /** The model's path and the names it goes by. */
  readonly names: readonly string[];
  /** Whether the running engine guesses tokens ahead: a load may decide it. */
  readonly speculates: () => boolean;
  /** Whether anything in the config speaks of LoRA adapters, and whether they can be loaded while it runs. */
  readonly lora: boolean;
  readonly loraAtRunTime: boolean;
  /** Whether the scales of its KV cache are among the weights. */
  readonly kvScales: () => boolean;
  /** Whether it keeps no graphs, and no shared memory of its own between GPUs. */
  readonly eager: boolean;
  readonly plainAllReduce: boolean;
  /** Whether our extension is in its workers, and whether its own sleep gives up what NCCL holds. */
  readonly extended: boolean;
  readonly suspendsNccl: boolean;
  /** How long one question about its state, one step that moves memory, and the loading of weights may take. */
  readonly askMs: number;
  readonly sleepMs: number;
  readonly stepMs: number;
  readonly loadMs: number;
};

type Communicators = { readonly part: string; readonly rejoin: string };

/** How Python says that it does not know a method. */
const NO_SUCH_METHOD = /has no attribute|not implemented|unknown method/i;

/** What our own extension adds to its workers. It includes what vLLM prepares by itself, which leaves NCCL alone. */
const OURS: Communicators = { part: 'catnap_part', rejoin: 'catnap_rejoin' };

/** The hooks that vLLM has of its own, by their names in one version and another, and those that patched builds have. */
const THEIRS: readonly Communicators[] = [
  { part: 'checkpoint_prepare', rejoin: 'checkpoint_restore' },
  { part: 'checkpoint_prepare_distributed_state', rejoin: 'checkpoint_restore_distributed_state' },
  { part: 'suspend_nccl', rejoin: 'resume_nccl' },
];

/** What its settings alone say against level 2, and against tearing communicators down. */
export function againstLevel2({
  speculates,
  lora,
  loraAtRunTime,
}: Pick<VllmSleepTerms, 'lora' | 'loraAtRunTime'> & { readonly speculates: boolean }): string | undefined {
  if (speculates) return 'vLLM does not load the weights of a draft model again after level 2';
  if (lora && !loraAtRunTime)
    return 'adapters are lost at level 2, and can only be loaded again with VLLM_ALLOW_RUNTIME_LORA_UPDATING=True in `env`';
  return undefined;
}

export function againstParting({
  eager,
  plainAllReduce,
}: Pick<VllmSleepTerms, 'eager' | 'plainAllReduce'>): string | undefined {
  const missing = [...(eager ? [] : ['--enforce-eager']), ...(plainAllReduce ? [] : ['--disable-custom-all-reduce'])];
  return missing.length === 0 ? undefined : `on several GPUs level hybrid needs ${missing.join(' and ')} in extra_args`;
}

/** vLLM's sleep mode, over its development routes. Answers of 200 are no proof of anything here. */
export class VllmSleep implements OwnSleep {
  readonly #terms: VllmSleepTerms;
  readonly #adapters: VllmAdapters;
  #communicators: Communicators | undefined;
  /** What a process has said of its version, which stays what it is for as long as that lives. */
  #told: { readonly child: Child; readonly version: string } | undefined;

  constructor(terms: VllmSleepTerms) {
    this.#terms = terms;
    this.#adapters = new VllmAdapters(terms.stepMs);
  }

  get remembers(): boolean {
    return this.#terms.lora;
  }

  memory(): FamilyMemory {
    return { communicators: this.#communicators, adapters: this.#adapters.noted };
  }

  recall({ communicators, adapters = [] }: FamilyMemory): void {
    this.#communicators = communicators;
    this.#adapters.noted = adapters;
  }

  async hindrance(level: 1 | 2, sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined> {
    const { names, speculates, lora, loraAtRunTime, kvScales } = this.#terms;
    const settings = level === 2 ? againstLevel2({ speculates: speculates(), lora, loraAtRunTime }) : undefined;
    if (settings !== undefined) return settings;
    const [told, sleeping] = await Promise.all([
      this.#version(sleeper, signal),
      this.#get('/is_sleeping', sleeper, signal),
    ]);
    const version = versionOf(told);
    const text = version === undefined ? 'of an unknown version' : told;
    const bad = knownBad(level, { version, names, lora, kvScales: kvScales() });
    if (bad !== undefined) return `vLLM ${text} cannot be put to level ${level}: ${bad}`;
    if (sleeping.kind === 'answered' && sleeping.status === 404)
      return 'vLLM has no sleep routes: VLLM_SERVER_DEV_MODE does not reach it, or it is older than 0.7';
    if (sleeping.kind !== 'answered') return `vLLM does not say whether it sleeps already: ${failedCall(sleeping)}`;
    // It would answer 200 to any further sleep and do nothing.
    if (fieldOf(sleeping, 'is_sleeping') === true) return 'vLLM sleeps already, half way, after a sleep that failed';
    return undefined;
  }

  async release(level: 1 | 2, sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    if (this.#terms.lora) await this.#adapters.note(sleeper, signal);
    await this.#post(`/sleep?level=${level}&mode=wait`, this.#terms.sleepMs, sleeper, signal);
    if ((await this.sleeps(sleeper, signal)) === false)
      throw new DriverError('vLLM took the order to sleep and says that it is awake');
  }

  async resume(part: 'weights' | 'kv_cache' | 'all', sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const inParts = part !== 'all' && wakesInParts(versionOf(await this.#version(sleeper, signal)));
    // One that wakes as a whole has done so with its weights, which are filled afterwards all the same.
    if (part === 'kv_cache' && !inParts) return;
    const query = inParts ? `?tags=${part}` : '';
    await this.#post(`/wake_up${query}`, this.#terms.stepMs, sleeper, signal);
    if ((!inParts || part === 'kv_cache') && (await this.sleeps(sleeper, signal)) === true)
      throw new DriverError('vLLM took the order to wake and says that it sleeps');
  }

  async #version(sleeper: Sleeper, signal: AbortSignal): Promise<string> {
    const { child } = sleeper;
    if (this.#told?.child === child) return this.#told.version;
    const version = String(fieldOf(await this.#get('/version', sleeper, signal), 'version'));
    if (versionOf(version) !== undefined) this.#told = { child, version };
    return version;
  }

  async reload(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    await this.#rpc('reload_weights', sleeper, signal, this.#terms.loadMs);
  }

  async forget(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    await this.#post('/reset_prefix_cache', this.#terms.stepMs, sleeper, signal);
  }

  partHindrance({ ranks }: Sleeper): string | undefined {
    return ranks === 1 ? undefined : againstParting(this.#terms);
  }

  /** Which call there is depends on what was built into it; the first that it knows is used from then on. */
  async part(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    let last = '';
    const { extended, suspendsNccl } = this.#terms;
    const ways = extended && !suspendsNccl ? [OURS] : THEIRS;
    for (const communicators of this.#communicators === undefined ? ways : [this.#communicators]) {
      try {
        await this.#rpc(communicators.part, sleeper, signal);
        this.#communicators = communicators;
        return;
      } catch (error) {
        last = error instanceof Error ? error.message : String(error);
        if (signal.aborted) throw error;
        if (!NO_SUCH_METHOD.test(last)) {
          // It may have gone well in some of the processes.
          await this.#rpc(communicators.rejoin, sleeper, signal);
          throw error;
        }
      }
    }
    // Whoever sleeps with what NCCL holds has nothing left to tear down.
    if (suspendsNccl) return;
    const tried = ways.map(({ part }) => part).join(', ');
    throw new DriverError(`vLLM has no call that tears down its communicators (${tried}): ${last}`);
  }

  async rejoin(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    if (this.#communicators !== undefined) await this.#rpc(this.#communicators.rejoin, sleeper, signal);
  }

  async sleeps(sleeper: Sleeper, signal: AbortSignal): Promise<boolean | undefined> {
    const said = fieldOf(await this.#get('/is_sleeping', sleeper, signal), 'is_sleeping');
    return typeof said === 'boolean' ? said : undefined;
  }

  async settle(level: 1 | 2, sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    if (this.#terms.lora) await this.#adapters.restore(level, sleeper, signal);
  }

  #rpc(method: string, sleeper: Sleeper, signal: AbortSignal, limitMs = this.#terms.stepMs): Promise<void> {
    return this.#post('/collective_rpc', limitMs, sleeper, signal, { method });
  }

  #get(path: string, sleeper: Sleeper, signal: AbortSignal): Promise<EngineAnswer> {
    return sleeper.call(path, { method: 'GET', limitMs: this.#terms.askMs, signal });
  }

  async #post(path: string, limitMs: number, sleeper: Sleeper, signal: AbortSignal, json?: unknown): Promise<void> {
    const answer = await sleeper.call(path, { method: 'POST', limitMs, signal, ...(json !== undefined && { json }) });
    if (answer.kind === 'answered' && answer.status < 300) return;
    throw new DriverError(`vLLM ${path.split('?', 1)[0]}: ${failedCall(answer, limitMs)}`);
  }
}
