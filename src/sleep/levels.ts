import type { NapLevel } from '../core/kinds.ts';
import { DriverError, type Done, type Order } from '../engines/driver.ts';
import type { Sleeper, Sleeps } from '../engines/sleeper.ts';
import type { Level } from './level.ts';
import { LEVEL_TRAITS } from './traits.ts';

/** The levels of one engine. Every sleep and every wake goes through here, so that none is without its proofs. */
export class Levels implements Sleeps {
  readonly #levels: ReadonlyMap<NapLevel, Level>;

  constructor(levels: readonly Level[]) {
    this.#levels = new Map(levels.map((level) => [level.level, level]));
  }

  async sleep(level: NapLevel, sleeper: Sleeper, order: Order): Promise<Done> {
    const way = this.#way(level, sleeper);
    const hindrance = await way.hindrance(sleeper, order.signal);
    if (hindrance !== undefined) throw new DriverError(hindrance);
    return way.sleep(sleeper, order);
  }

  async wake(level: NapLevel, sleeper: Sleeper, order: Order): Promise<Done> {
    return this.#way(level, sleeper).wake(sleeper, order);
  }

  hears(level: NapLevel): boolean {
    return LEVEL_TRAITS[level].hearsSignals;
  }

  async discard(level: NapLevel): Promise<void> {
    await this.#levels.get(level)?.discard?.();
  }

  #way(level: NapLevel, { name }: Sleeper): Level {
    const way = this.#levels.get(level);
    if (way === undefined) throw new DriverError(`${name} cannot be put to sleep at level ${level}`);
    return way;
  }
}
