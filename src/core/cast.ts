import { invariant, type Millis, type ModelId } from './kinds.ts';
import type { Place } from './place.ts';
import type { StageOptions } from './stage-events.ts';

/**
 * A model's part on the stage.
 * `summoned`: it is next and waits until there is room. `entering`: its engines start or wake. `on`: awake, requests are granted.
 * `draining`: no new requests, but the batch that was there and the open leases are served. `leaving`: its engines are being put away.
 */
export type PartKind = 'out' | 'summoned' | 'entering' | 'on' | 'draining' | 'leaving';

/** What a policy may look at of one model. */
export type Sight = {
  readonly model: ModelId;
  readonly part: PartKind;
  /** How much of the budget it takes while it is anywhere but away. */
  readonly cost: number;
  readonly waiting: number;
  /** Place and time of the one that is first in its line, and the sum of the times at which all in it came. */
  readonly first: (Place & { readonly since: Millis }) | undefined;
  readonly sinceSum: number;
  readonly inFlight: number;
  /** Since when it is on, and how many requests it has served since. Zero for a model that is not on. */
  readonly onSince: Millis;
  readonly served: number;
  /** Since when it has nothing to do; undefined while it is busy. */
  readonly idleSince: Millis | undefined;
  /** When its last turn ended; undefined when it had none. */
  readonly leftAt: Millis | undefined;
  /** What it takes to bring it back from where it is, and from where it would be put, seldom exceeded. */
  readonly comeMs: number;
  readonly comeBackMs: number;
  /** What it takes to put it away, seldom exceeded, and for how long its work keeps it before that, on average. */
  readonly goMs: number;
  readonly drainMs: number;
  /** How much it is asked for, to be compared with others (`shareOf`), per engine place. */
  readonly logWork: number;
  /** Arrivals per millisecond to be expected while others want its place. */
  readonly contendedRate: number;
};

/** A model that is out and at rest, and that somebody waits for. */
export type Candidate = Sight & { readonly first: NonNullable<Sight['first']> };

/** All candidates together: what it takes for each to come, to drain and to go once, and how much they are asked for. */
export type Contention = { readonly cycleMs: number; readonly logWork: number };

export type StageSight = {
  readonly now: Millis;
  readonly capacity: number;
  /** Those who have a part, or an engine that is not at rest. */
  readonly cast: readonly Sight[];
  /** Those who are out and waited for, in the order of the places of their first. */
  readonly candidates: readonly Candidate[];
  readonly contention: () => Contention;
  /** How long a model stays on before it may be sent off. */
  readonly minActiveMs: number;
  /** Whether open leases are waited for; if not, they are cut when a swap begins. */
  readonly drains: boolean;
  /** The longest a drain may take. */
  readonly drainMs: number;
};

type Room = { readonly capacity: number; readonly cast: readonly Pick<Sight, 'part' | 'cost'>[] };

/** The budget without what is set aside for those that are kept. Nobody may want more than that. */
export function sharedRoom({ models, capacity }: Pick<StageOptions, 'models' | 'capacity'>): number {
  const kept = models.filter(({ keep }) => keep === true);
  const aside = kept.reduce((sum, { cost, costEach, engines }) => {
    return sum + (costEach === undefined ? cost : costEach * engines.length);
  }, 0);
  const shared = capacity - aside;
  invariant(shared >= 0, 'there is no room for those that are kept');
  for (const { model, cost, keep } of models) invariant(keep === true || cost <= shared, `${model} can never fit`);
  return shared;
}

/** Room that is neither taken nor promised, counted as it will be when all who are on their way off have gone. */
export function uncommitted({ capacity, cast }: Room): number {
  let room = capacity;
  for (const { part, cost } of cast) if (part === 'on' || part === 'entering' || part === 'summoned') room -= cost;
  return room;
}

export const isBusy = ({ inFlight, waiting }: Sight): boolean => inFlight > 0 || waiting > 0;
