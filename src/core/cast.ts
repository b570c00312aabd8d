import type { Millis, ModelId } from './kinds.ts';

/**
 * A model's part on the stage.
 * `summoned`: it is next and waits until there is room. `entering`: its engines start or wake. `on`: awake, requests are granted.
 * `draining`: no new requests, but the batch that was there and the open leases are served. `leaving`: its engines are being put away.
 */
export type PartKind = 'out' | 'summoned' | 'entering' | 'on' | 'draining' | 'leaving';

/** What a policy may look at of one model that has somebody waiting or a part on the stage. */
export type Sight = {
  readonly model: ModelId;
  readonly part: PartKind;
  /** How much of the budget it takes while it is anywhere but away. */
  readonly cost: number;
  readonly waiting: number;
  /** Place in the order of arrivals and time of the one that waits longest. */
  readonly oldest: { readonly seq: number; readonly since: Millis } | undefined;
  readonly inFlight: number;
  /** Since when it is on, and how many requests it has served since. Zero for a model that is not on. */
  readonly onSince: Millis;
  readonly served: number;
};

export type StageSight = {
  readonly now: Millis;
  readonly capacity: number;
  readonly models: readonly Sight[];
  /** How long a model stays on before it may be sent off. */
  readonly minActiveMs: number;
  /** Whether open leases are waited for; if not, they are cut when a swap begins. */
  readonly drains: boolean;
  /** The longest a drain may take. */
  readonly drainMs: number;
};

/** Room that is neither taken nor promised, counted as it will be when all who are on their way off have gone. */
export function uncommitted({ capacity, models }: StageSight): number {
  let room = capacity;
  for (const { part, cost } of models) if (part === 'on' || part === 'entering' || part === 'summoned') room -= cost;
  return room;
}

/**
 * Whom to send off so that `to` fits: none if there is room, undefined if it cannot be had now (those who are still entering cannot go).
 * Those who are idle go first, then those who have been on longest; never more than needed.
 */
export function makeRoom(sight: StageSight, to: Sight): readonly Sight[] | undefined {
  let missing = to.cost - uncommitted(sight);
  if (missing <= 0) return [];
  const candidates = sight.models
    .filter(({ part, cost }) => part === 'on' && cost > 0)
    .sort((a, b) => Number(busy(a)) - Number(busy(b)) || a.onSince - b.onSince);
  const chosen: Sight[] = [];
  for (const candidate of candidates) {
    if (missing <= 0) break;
    chosen.push(candidate);
    missing -= candidate.cost;
  }
  if (missing > 0) return undefined;
  return chosen.filter((candidate) => {
    const spare = candidate.cost + missing <= 0;
    if (spare) missing += candidate.cost;
    return !spare;
  });
}

const busy = ({ inFlight, waiting }: Sight): boolean => inFlight > 0 || waiting > 0;
