import type { ModelId } from '../core/kinds.ts';
import type { LoadOverride } from '../ports/load-override.ts';

const NONE: LoadOverride = {};

/** What the last load of each model asked to be different, as long as it holds: until it is unloaded, or loaded in another way. */
export class LoadOverrides {
  readonly #held = new Map<ModelId, LoadOverride>();

  of(model: ModelId): LoadOverride {
    return this.#held.get(model) ?? NONE;
  }

  /** Whether that changes anything. */
  set(model: ModelId, override: LoadOverride): boolean {
    const changes = !sameOverride(this.of(model), override);
    if (Object.keys(override).length === 0) this.#held.delete(model);
    else this.#held.set(model, override);
    return changes;
  }

  /** A load that failed takes back what it asked for, unless another has asked since. */
  drop(model: ModelId, override: LoadOverride): void {
    if (this.#held.get(model) === override) this.#held.delete(model);
  }

  /** A load that was refused before it began has changed nothing, unless another has asked since. */
  takeBack(model: ModelId, override: LoadOverride, before: LoadOverride): void {
    const held = this.#held.get(model);
    const isLast = held === undefined ? Object.keys(override).length === 0 : held === override;
    if (isLast) this.set(model, before);
  }

  clear(model: ModelId): void {
    this.#held.delete(model);
  }
}

function sameOverride(a: LoadOverride, b: LoadOverride): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && a[key] === b[key]);
}
