import type { ModelId } from '../core/kinds.ts';

/** What engines print, for whoever follows it. */
export class OutputHub {
  readonly #listeners = new Map<string, Set<(line: string) => void>>();

  line(model: ModelId, line: string): void {
    for (const listener of this.#listeners.get(model) ?? []) listener(line);
  }

  watch(model: string, listener: (line: string) => void): () => void {
    const own = this.#listeners.get(model) ?? new Set();
    this.#listeners.set(model, own.add(listener));
    return () => {
      own.delete(listener);
      if (own.size === 0) this.#listeners.delete(model);
    };
  }
}
