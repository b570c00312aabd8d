/** How many lines of one crowd are let through in a window, and how long a window is. */
const PASS = 5;
const WINDOW_MS = 10_000;

type Window = { readonly since: number; passed: number; held: number };

/** Thins out lines that come in great numbers, so that a bad minute does not fill the disk; what was held back is counted. */
export class Crowds {
  readonly #windows = new Map<string, Window>();

  /** How many like it were held back before this one; undefined when this one is held back too. */
  pass(crowd: string, now: number): number | undefined {
    const window = this.#windows.get(crowd);
    if (window === undefined || now - window.since >= WINDOW_MS) {
      this.#windows.set(crowd, { since: now, passed: 1, held: 0 });
      return window?.held ?? 0;
    }
    if (window.passed < PASS) {
      window.passed += 1;
      return 0;
    }
    window.held += 1;
    return undefined;
  }
}
