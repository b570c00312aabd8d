import { DriverError } from './driver.ts';
import { failedCall } from './own-calls.ts';
import type { OwnSleep, Sleeper } from './sleeper.ts';

export type TabbySleepTerms = {
  /** Loads the model again, as it was loaded before. */
  readonly load: (sleeper: Sleeper, signal: AbortSignal) => Promise<void>;
  readonly admin: Readonly<Record<string, string>>;
  readonly sleepMs: number;
};

const ASK_MS = 5_000;

/** TabbyAPI without its model: the process and its CUDA context stay, weights, cache and adapters do not. That is level 2. */
export class TabbySleep implements OwnSleep {
  readonly #terms: TabbySleepTerms;

  constructor(terms: TabbySleepTerms) {
    this.#terms = terms;
  }

  async hindrance(level: 1 | 2, sleeper: Sleeper, signal: AbortSignal): Promise<string | undefined> {
    if (level === 1) return 'TabbyAPI keeps no weights in host memory';
    return (await this.sleeps(sleeper, signal)) === true ? 'TabbyAPI has no model loaded' : undefined;
  }

  async release(_level: 1 | 2, sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    const { sleepMs: limitMs, admin: headers } = this.#terms;
    const answer = await sleeper.call('/v1/model/unload', { method: 'POST', limitMs, signal, headers });
    if (answer.kind !== 'answered' || answer.status >= 300)
      throw new DriverError(`TabbyAPI /v1/model/unload: ${failedCall(answer, limitMs)}`);
    if ((await this.sleeps(sleeper, signal)) === false)
      throw new DriverError('TabbyAPI took the order to unload its model and has it still');
  }

  async resume(): Promise<void> {
    // It takes memory as it loads.
  }

  reload(sleeper: Sleeper, signal: AbortSignal): Promise<void> {
    return this.#terms.load(sleeper, signal);
  }

  async forget(): Promise<void> {
    // Its cache is a new one.
  }

  partHindrance(): string {
    return 'TabbyAPI has no call that tears down its communicators';
  }

  async part(): Promise<void> {
    throw new DriverError(this.partHindrance());
  }

  async rejoin(): Promise<void> {
    // They were never torn down.
  }

  async sleeps(sleeper: Sleeper, signal: AbortSignal): Promise<boolean | undefined> {
    const answer = await sleeper.call('/v1/model', { method: 'GET', limitMs: ASK_MS, signal });
    if (answer.kind !== 'answered') return undefined;
    if (answer.status === 200) return false;
    return answer.status === 503 || answer.status === 400 ? true : undefined;
  }

  async settle(): Promise<void> {
    // Nothing else was there.
  }
}
