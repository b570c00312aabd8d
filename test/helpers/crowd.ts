import { setTimeout as pause } from 'node:timers/promises';

/** So long may anything take that one of a crowd asks for. */
const LIMIT_MS = 30_000;

/**
 * Many who do something at once for some time, and until enough has been done where a machine is slow, or until something is wrong.
 * Whatever they ask for comes to an end.
 */
export class Crowd {
  readonly wrong: string[] = [];
  /** How often each thing has been done. */
  readonly #done = new Map<string, number>();
  readonly #until: number;
  readonly #enough: Readonly<Record<string, number>>;

  /** `enough`: how often each thing is to be done at least. */
  constructor(secs: number, enough: Readonly<Record<string, number>>) {
    this.#until = performance.now() + secs * 1_000;
    this.#enough = enough;
  }

  get goesOn(): boolean {
    if (this.wrong.length > 0) return false;
    const late = performance.now() - this.#until;
    return (
      late < 0 || (late < LIMIT_MS && Object.entries(this.#enough).some(([what, least]) => this.times(what) < least))
    );
  }

  did(what: string): void {
    this.#done.set(what, this.times(what) + 1);
  }

  times(what: string): number {
    return this.#done.get(what) ?? 0;
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
