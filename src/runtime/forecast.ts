import type { Millis, ModelId } from '../core/kinds.ts';
import type { Member } from '../core/member.ts';

/** How soon to come back when nothing is known about the model yet. */
const UNKNOWN_MS = 5_000;
const LEAST_MS = 1_000;

/** What starting or waking a model is expected to take; undefined until it has been seen. */
export const startMs = ({ costs, level }: Member): number | undefined => (costs.come(level) ?? costs.come(5))?.ms;

/** When a request for this model would have its turn, by what is known: those before it come and go first. */
export function turnInMs(members: ReadonlyMap<ModelId, Member>, model: ModelId, now: Millis): number {
  const own = members.get(model);
  if (own === undefined) return UNKNOWN_MS;
  const comeMs = startMs(own) ?? UNKNOWN_MS;
  const { part, costs, cost, lane } = own;
  if (part.kind === 'on') return Math.max(LEAST_MS, costs.drainMs);
  if (part.kind === 'entering') return Math.max(LEAST_MS, comeMs - underWay(own, now));
  let ms = comeMs;
  if (cost === 0) return ms;
  for (const other of members.values()) {
    if (other === own || other.cost === 0) continue;
    const { kind } = other.part;
    if (kind === 'on' || kind === 'draining' || kind === 'entering')
      ms += other.costs.drainMs + other.costs.goMs(other.sleepLevel);
    const { first } = other.lane;
    const isBefore = first !== undefined && (lane.first === undefined || first.seq < lane.first.seq);
    if (kind === 'summoned' || (kind === 'out' && isBefore)) ms += (startMs(other) ?? UNKNOWN_MS) + other.costs.drainMs;
  }
  return ms;
}

/** For how long an engine of it has been on its way. */
function underWay({ phases }: Member, now: Millis): number {
  let longest = 0;
  for (const phase of phases.values())
    if (phase.kind === 'starting' || phase.kind === 'waking') longest = Math.max(longest, now - phase.since);
  return longest;
}
