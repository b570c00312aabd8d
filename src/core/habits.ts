import type { ModelId } from './kinds.ts';

/** How many models that follow one are remembered for each hour. */
const MOST_FOLLOWERS = 16;
/** Each new one makes those before it count for so much less. */
const FADES = 0.95;
/** A guess needs so much behind it, and so great a part of all that followed. */
const LEAST_SEEN = 2.5;
const LEAST_SHARE = 0.5;
const ALWAYS = 'always';

/** Which model is likely to be asked for after which, from what was: by the hour of the day where that is known well enough, else at any hour. */
export class Habits {
  readonly #followers = new Map<string, Map<ModelId, number>>();

  followed(last: ModelId, next: ModelId, hour: number): void {
    for (const when of [hour, ALWAYS]) {
      const key = `${when} ${last}`;
      const counts = this.#followers.get(key) ?? new Map<ModelId, number>();
      this.#followers.set(key, counts);
      for (const [model, count] of counts) counts.set(model, count * FADES);
      counts.set(next, (counts.get(next) ?? 0) + 1);
      if (counts.size > MOST_FOLLOWERS) counts.delete(leastOf(counts));
    }
  }

  /** Undefined: nothing is likely enough. */
  guess(last: ModelId, hour: number): ModelId | undefined {
    return likely(this.#followers.get(`${hour} ${last}`)) ?? likely(this.#followers.get(`${ALWAYS} ${last}`));
  }
}

function likely(counts: ReadonlyMap<ModelId, number> | undefined): ModelId | undefined {
  let all = 0;
  let best: readonly [ModelId, number] | undefined;
  for (const [model, count] of counts ?? []) {
    all += count;
    if (best === undefined || count > best[1]) best = [model, count];
  }
  return best !== undefined && all >= LEAST_SEEN && best[1] >= LEAST_SHARE * all ? best[0] : undefined;
}

const leastOf = (counts: ReadonlyMap<ModelId, number>): ModelId =>
  [...counts].reduce((least, other) => (other[1] < least[1] ? other : least))[0];
