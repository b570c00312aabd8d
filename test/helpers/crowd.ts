import { setTimeout as pause } from 'node:timers/promises';

/** So long may anything take that one of a crowd asks for. */
const LIMIT_MS = 30_000;

/** Many who do something at once for some time, or until something is wrong. Whatever they ask for comes to an end. */
export class Crowd {
  readonly wrong: string[] = [];
  readonly #until: number;

  constructor(secs: number) {
    this.#until = performance.now() + secs * 1_000;
  }

  get goesOn(): boolean {
    return performance.now() < this.#until && this.wrong.length === 0;
  }

  /** What it comes to; undefined where it does not, which is wrong. */
  async bounded<T>(what: string, work: Promise<T>): Promise<T | undefined> {
    const over = new AbortController();
    const late = pause(LIMIT_MS, undefined, { signal: over.signal }).then(
      () => void this.wrong.push(`${what} hangs`),
      () => {}, // it came in time
    );
    try {
      return await Promise.race([work, late.then(() => undefined)]);
    } catch (error) {
      this.wrong.push(`${what}: ${String(error)}`);
      return undefined;
    } finally {
      over.abort();
    }
  }
}
