import type { ModelId } from '../../src/core/kinds.ts';
import type { ModelTerms } from '../../src/core/terms.ts';
import type { StageEvent, StageOptions } from '../../src/core/stage-events.ts';
import { Random } from '../../src/simulate/random.ts';
import type { WorldPlan } from './plan.ts';

/** Draws other configs for the world of a seed: models leave and come back, and each time some are others than they were. */
export class Reloads {
  /** When the config is read. */
  readonly #moments: readonly number[];
  readonly #random: Random;
  readonly #models: readonly ModelTerms[];
  readonly #options: Omit<StageOptions, 'models' | 'capacity'>;
  /** Where memory is looked at, what a model really takes stays, and a config that says less of it than that would be a lie. */
  readonly #costsStay: boolean;
  #now: readonly ModelTerms[];

  constructor(seed: number, { models, spanMs, memory }: WorldPlan, options: Omit<StageOptions, 'models'>) {
    const random = new Random(seed ^ 0x27d4eb2f);
    const { capacity: _, ...rest } = options;
    this.#random = random;
    this.#options = rest;
    this.#costsStay = memory !== undefined;
    this.#models = models.map(({ terms }) => terms);
    this.#now = this.#models;
    const storm = random.chance(0.3);
    this.#moments = Array.from({ length: storm ? random.int(10, 40) : random.int(1, 6) }, () =>
      random.between(0, storm ? spanMs / 2 : spanMs),
    );
  }

  schedule(at: (ms: number, next: () => StageEvent) => void): void {
    for (const ms of this.#moments) at(ms, () => this.next());
  }

  next(): Extract<StageEvent, { readonly kind: 'models-set' }> {
    const random = this.#random;
    const before = new Map<ModelId, ModelTerms>(this.#now.map((terms) => [terms.model, terms]));
    const anew: ModelId[] = [];
    const models = this.#models.flatMap((plan) => {
      // Room is set aside for it, which stays so.
      if (plan.keep === true) return [plan];
      if (random.chance(0.15)) return [];
      const was = before.get(plan.model) ?? plan;
      if (random.chance(0.4)) return [was];
      const revised = this.#revised(was, plan);
      // Other engines are never the same ones.
      if (revised.engines.length !== was.engines.length || random.chance(0.5)) anew.push(plan.model);
      return [revised];
    });
    this.#now = models;
    return { kind: 'models-set', options: { ...this.#options, models }, anew };
  }

  #revised(was: ModelTerms, { engines, sleepLevel, cost }: ModelTerms): ModelTerms {
    const random = this.#random;
    const own = random.chance(0.3) ? engines.slice(0, random.int(1, engines.length)) : was.engines;
    const replicas = random.int(1, own.length);
    const drawn = random.chance(0.2) ? random.pick([cost, Math.min(cost, 1), 0]) : was.cost;
    return {
      ...was,
      engines: own,
      replicas,
      cost: this.#costsStay ? was.cost : drawn,
      sleepLevel: random.pick([sleepLevel, was.sleepLevel, 5, 1]),
      shut: random.chance(0.8) ? was.shut : random.pick([undefined, 'model_not_loaded', 'model_disabled'] as const),
      targetInflight: random.pick([was.targetInflight, 1, 3]),
    };
  }
}
