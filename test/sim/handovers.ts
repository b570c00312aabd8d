import type { ModelId } from '../../src/core/kinds.ts';
import type { StageOptions } from '../../src/core/stage-events.ts';
import { Random } from '../../src/simulate/random.ts';
import type { CoreUnderTest } from './core-under-test.ts';
import { rulesOf } from './extras.ts';
import type { WorldPlan } from './plan.ts';
import type { Reloads } from './reloads.ts';
import type { Theatre } from './theatre.ts';

type In = (ms: number, run: () => void) => void;

type World = {
  readonly plan: WorldPlan;
  readonly theatre: Theatre;
  changeHands(options: StageOptions, anew: readonly ModelId[]): void;
};

/** Draws when another catnap takes the engines over in the world of a seed, and how long the one that is there may take to stand still. */
export class Handovers {
  readonly #random: Random;
  readonly #world: World;
  readonly #core: CoreUnderTest;
  readonly #reloads: Reloads | undefined;
  #standing: object | undefined;

  constructor(seed: number, world: World, core: CoreUnderTest, reloads: Reloads | undefined) {
    this.#random = new Random(seed ^ 0x51ed270b);
    this.#world = world;
    this.#core = core;
    this.#reloads = reloads;
  }

  schedule(at: In): void {
    const { spanMs } = this.#world.plan;
    for (let left = this.#random.int(1, 5); left > 0; left--)
      at(this.#random.between(0, spanMs), () => this.#begin(at));
  }

  /** Nothing is left to be handled in this turn. */
  settled(): void {
    if (this.#standing === undefined) return;
    const { plan, theatre, changeHands } = this.#world;
    if (!theatre.stage.accepting) return this.#giveUp();
    if (!theatre.isStill) return;
    this.#standing = undefined;
    const { models, anew } = this.#config();
    theatre.letGo();
    changeHands({ ...rulesOf(plan, this.#core), models }, anew);
  }

  /** It may be another one than before. */
  #config(): Pick<StageOptions, 'models'> & { readonly anew: readonly ModelId[] } {
    if (this.#reloads !== undefined) {
      const { options, anew } = this.#reloads.next();
      return { models: options.models, anew };
    }
    const models = this.#world.plan.models.map(({ terms }) => terms);
    return { models, anew: models.flatMap(({ model }) => (this.#random.chance(0.15) ? [model] : [])) };
  }

  #begin(at: In): void {
    const { theatre } = this.#world;
    if (this.#standing !== undefined || !theatre.stage.accepting) return;
    const standing = {};
    this.#standing = standing;
    at(this.#random.pick([0, 1_000, 10_000, 60_000]), () => {
      if (this.#standing === standing) this.#giveUp();
    });
    theatre.post({ kind: 'standstill-asked' });
  }

  #giveUp(): void {
    this.#standing = undefined;
    this.#world.theatre.post({ kind: 'standstill-over' });
  }
}
