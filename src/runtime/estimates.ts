import type { ModelId } from '../core/kinds.ts';

/** How much the newest sample moves the average. */
const WEIGHT = 0.3;

/** What starting or waking each model took so far: the first sample as it is, then a moving average. */
export class Estimates {
  readonly #ms = new Map<ModelId, number>();

  learn(model: ModelId, ms: number): void {
    const before = this.#ms.get(model);
    this.#ms.set(model, before === undefined ? ms : before + WEIGHT * (ms - before));
  }

  /** Undefined until the model has been started once. */
  startMs(model: ModelId): number | undefined {
    return this.#ms.get(model);
  }
}
