import { DriverError, type Done, type Order } from '../engines/driver.ts';
import type { Sleeper } from '../engines/sleeper.ts';
import { reasonOf } from '../engines/wait.ts';
import { CheckpointError, type Checkpoint, type Checkpoints } from '../ports/checkpoints.ts';
import type { Level } from './level.ts';

type CheckpointMeans = {
  readonly checkpoints: Checkpoints;
  /** What the engine is put to first where it can be, so that the image is small: outermost first. */
  readonly first: readonly Level[];
  /** How long it may take to answer once it is back, before what was done first is undone. */
  readonly answerMs: number;
};

/** Level 4: everything the engine is goes to disk, and no process is left. It comes back as the process it was. */
export class CheckpointLevel implements Level {
  readonly level = 4;
  readonly #means: CheckpointMeans;
  /** Where it is now, and what it was put to before it went there. */
  #saved: { readonly checkpoint: Checkpoint; readonly layers: readonly Level[] } | undefined;

  constructor(means: CheckpointMeans) {
    this.#means = means;
  }

  hindrance(): Promise<string | undefined> {
    return this.#means.checkpoints.hindrance();
  }

  async sleep(sleeper: Sleeper, order: Order): Promise<Done> {
    const { clock, child } = sleeper;
    const from = clock.now();
    const layers = await this.#prepare(sleeper, order);
    sleeper.letGo();
    try {
      const checkpoint = await this.#means.checkpoints.save(child, sleeper, order.signal);
      if (order.signal.aborted) {
        // Whoever gave up on this has seen to its end, and to what was kept until then.
        await checkpoint.drop();
        throw reasonOf(order.signal);
      }
      this.#saved = { checkpoint, layers };
    } catch (error) {
      if (!child.hasExited) sleeper.takeBack(child);
      throw failed(`${sleeper.name} cannot sleep at level 4`, error);
    }
    return { actMs: clock.now() - from, proofMs: 0 };
  }

  async wake(sleeper: Sleeper, order: Order): Promise<Done> {
    const { clock } = sleeper;
    const from = clock.now();
    const saved = this.#saved;
    if (saved === undefined) throw new DriverError(`${sleeper.name} is not on disk`);
    await this.#restore(sleeper, saved.checkpoint, order.signal);
    const backAt = clock.now();
    await sleeper.untilReady(this.#means.answerMs, order.signal);
    for (const layer of saved.layers.toReversed()) await layer.wake(sleeper, order);
    await this.discard();
    return { actMs: backAt - from, proofMs: clock.now() - backAt };
  }

  async discard(): Promise<void> {
    const saved = this.#saved;
    this.#saved = undefined;
    await saved?.checkpoint.drop();
  }

  /** What it cannot be put to here is left out: the image is larger then. */
  async #prepare(sleeper: Sleeper, order: Order): Promise<readonly Level[]> {
    const layers: Level[] = [];
    for (const layer of this.#means.first) {
      if ((await layer.hindrance(sleeper, order.signal)) !== undefined) continue;
      await layer.sleep(sleeper, order);
      layers.push(layer);
    }
    return layers;
  }

  /** What is on its way back is the engine's process at once, so that a stop finds it; its end is no crash until it is there. */
  async #restore(sleeper: Sleeper, checkpoint: Checkpoint, signal: AbortSignal): Promise<void> {
    try {
      const { child, back } = await checkpoint.restore(signal);
      sleeper.takeBack(child);
      sleeper.letGo();
      await back;
      sleeper.takeBack(child);
    } catch (error) {
      throw failed(`${sleeper.name} did not come back from disk`, error);
    }
  }
}

function failed(what: string, error: unknown): Error {
  if (error instanceof CheckpointError) return new DriverError(`${what}: ${error.message}`);
  return error instanceof Error ? error : new DriverError(what);
}
