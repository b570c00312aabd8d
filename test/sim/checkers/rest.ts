import { isHealthy } from '../plan.ts';
import { must } from '../violation.ts';
import { describe, type Checker, type Scene } from './checker.ts';

const TROUBLE = ['engine_failed', 'engine_died', 'model_unloading', 'shutting_down'];

/** The world comes to rest: nobody waits, nothing is lent, no engine is on its way, and a healthy world saw no trouble. */
export class RestChecker implements Checker {
  readonly #scene: Scene;
  readonly #healthy: boolean;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#healthy = isHealthy(scene.plan);
  }

  rested(): void {
    const { theatre, book, now } = this.#scene;
    must(!book.anyoneWaits, () => `somebody waits for ever: ${describe(this.#scene)}`);
    must(book.open.size === 0, () => `a lease is open for ever: ${describe(this.#scene)}`);
    must(book.unloads.size === 0, () => `an order is never done: ${describe(this.#scene)}`);
    const due = theatre.stage.dueAt;
    must(due === undefined || due > now(), `the stage is due at ${due} and was never asked`);
    for (const engine of theatre.engines) {
      const { phase, goal } = theatre.engine(engine);
      const settled = goal.kind === 'awake' ? phase.kind === 'awake' : theatre.atRest(engine);
      must(settled, `${engine} is ${phase.kind} for ever`);
    }
    if (!this.#healthy || this.#scene.closingAt !== undefined) return;
    for (const code of TROUBLE) must(!book.ends.has(code), `${code} in a healthy world`);
  }
}
