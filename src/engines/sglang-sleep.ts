import type { EngineAnswer } from '../ports/engine-http.ts';
import type { FamilyMemory } from '../ports/handover.ts';
import { DriverError } from './driver.ts';
import { failedCall, fieldOf } from './own-calls.ts';
import type { OwnSleep, Sleeper } from './sleeper.ts';
import { pause, reasonOf } from './wait.ts';

export type SglangSleepTerms = {
  readonly modelPath: string;
  /** Whether it was started to keep in host memory the weights it gives up. */
  readonly keeps: boolean;
  readonly speculates: boolean;
  readonly lora: boolean;
  /** The key for its control routes, where it has one of its own. */
  readonly admin: Readonly<Record<string, string>>;
  /** How long giving memory up, one step that takes it, and the loading of weights may take. */
  readonly sleepMs: number;
  readonly stepMs: number;
  readonly loadMs: number;
};

const ASK_MS = 5_000;
const LOOK_EVERY_MS = 50;

/** What its settings alone say against a level. */
export function againstSglang(
  level: 1 | 2,
  { keeps, speculates, lora }: Pick<SglangSleepTerms, 'keeps' | 'speculates' | 'lora'>,
): string | undefined {
  if (level === 1 && !keeps)
    return 'SGLang was started to drop its weights, for level 2: it decides that when it starts. Set sleep_level to something else, or leave 2 out of levels_allowed';
  if (level === 2 && keeps)
    return 'SGLang was started to keep its weights in host memory, for level 1: it decides that when it starts. Set sleep_level to 2, or leave 1 out of levels_allowed';
  if (level === 2 && speculates)
    return 'SGLang does not load the weights of a draft model again after level 2; level 1 keeps them';
  if (level === 2 && lora) return 'adapters of SGLang do not survive level 2; level 1 keeps what they are applied to';
  return undefined;
}

/**
 * SGLang's memory saver. It gives memory up only while no request is left in it, and dies of a call that comes too early; asleep
 * it dies of any request. It answers before the memory is free, and does not answer at all when there is none to come back to.
 */
export class SglangSleep implements OwnSleep {
  readonly #terms: SglangSleepTerms;
  /** The process that was last told to give its memory up. It has no route that says so itself. */
  #released: number | undefined;

  constructor(terms: SglangSleepTerms) {
    this.#terms = terms;
  }

  memory(): FamilyMemory {
    return { released: this.#released };
  }

  recall({ released }: FamilyMemory): void {
    this.#released = released;
  }

  async hindrance(level: 1 | 2, sleeper: Sleeper): Promise<string | undefined> {
    if (this.#released === sleeper.child.pid) return 'SGLang sleeps already, or half way, after a sleep that failed';
    return againstSglang(level, this.#terms);
  }

  async release(_level: 1 | 2, sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    await this.#untilIdle(sleeper, signal);
    this.#released = sleeper.child.pid;
    await this.#post('/release_memory_occupation', {}, this.#terms.sleepMs, sleeper, signal);
  }

  /**
   * All of it at once, whichever part is asked for: weights may be loaded only when the rest is there as well, since loading
   * clears what it remembers of prompts. Which parts there are depends on its version, so none is named.
   */
  async resume(part: 'weights' | 'kv_cache' | 'all', sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    if (part === 'kv_cache') return;
    await this.#post('/resume_memory_occupation', {}, this.#terms.stepMs, sleeper, signal);
    this.#released = undefined;
  }

  async reload(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const { modelPath, loadMs } = this.#terms;
    const route = '/update_weights_from_disk';
    const answer = await this.#post(route, { model_path: modelPath }, loadMs, sleeper, signal);
    if (fieldOf(answer, 'success') === false)
      throw new DriverError(`SGLang ${route}: ${String(fieldOf(answer, 'message'))}`);
  }

  async forget(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    await this.#post('/flush_cache', {}, this.#terms.stepMs, sleeper, signal);
  }

  partHindrance(): string {
    return 'SGLang has no call that tears down its communicators';
  }

  async part(): Promise<void> {
    throw new DriverError(this.partHindrance());
  }

  async rejoin(): Promise<void> {
    // They were never torn down.
  }

  async sleeps(sleeper: Sleeper): Promise<boolean | undefined> {
    return this.#released === sleeper.child.pid ? true : undefined;
  }

  async settle(): Promise<void> {
    // Nothing but memory was given up.
  }

  /** Those who went away may still be counted for a moment. It empties its cache only when nobody is left. */
  async #untilIdle(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const { clock } = sleeper;
    const { sleepMs, admin } = this.#terms;
    const giveUpAt = clock.now() + sleepMs;
    for (;;) {
      const terms = { method: 'POST', json: {}, limitMs: ASK_MS, signal, headers: admin } as const;
      const answer = await sleeper.call('/flush_cache', terms);
      if (answer.kind === 'answered' && answer.status === 200) return;
      if (signal.aborted) throw reasonOf(signal);
      const isBusy = answer.kind === 'answered' && answer.status === 400;
      if (!isBusy || clock.now() >= giveUpAt)
        throw new DriverError(
          `SGLang ${isBusy ? 'still has requests' : '/flush_cache'}: ${failedCall(answer, ASK_MS)}`,
        );
      await pause(clock, LOOK_EVERY_MS, signal);
    }
  }

  async #post(
    path: string,
    json: object,
    limitMs: number,
    sleeper: Sleeper,
    signal: AbortSignal,
  ): Promise<EngineAnswer> {
    const answer = await sleeper.call(path, { method: 'POST', json, limitMs, signal, headers: this.#terms.admin });
    if (answer.kind === 'answered' && answer.status < 300) return answer;
    throw new DriverError(`SGLang ${path}: ${failedCall(answer, limitMs)}`);
  }
}
