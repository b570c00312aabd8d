import type { EnginePhase } from './engine.ts';
import type { EngineId, Millis } from './kinds.ts';

/**
 * Since when each engine only gives memory back. One that had just begun to come may still take some while it is ended, and one that is being suspended
 * takes everything back where that fails half way, at times while it is ended for that.
 */
export class Giving {
  readonly #since = new Map<EngineId, Millis>();

  since(engine: EngineId): Millis | undefined {
    return this.#since.get(engine);
  }

  moved(engine: EngineId, before: EnginePhase, phase: EnginePhase): void {
    if (phase.kind === 'stuck') return;
    const goes = phase.kind === 'stopping' || phase.kind === 'reaping' || phase.kind === 'falling-asleep';
    const suspends = phase.kind === 'falling-asleep' && (phase.level === 3 || phase.level === 'hybrid');
    const hadAll = before.kind === 'awake' || before.kind === 'asleep';
    if (!goes || suspends) this.#since.delete(engine);
    else if (hadAll) this.#since.set(engine, phase.since);
  }
}
