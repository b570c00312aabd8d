import { makeRoom, type Sight, type StageSight } from '../cast.ts';
import { after, type Millis } from '../kinds.ts';
import { stay, type Decision } from './policy.ts';

/**
 * In order of arrival: the model whose request has waited longest is next.
 * 1. Nobody waits for a model that is out: stay.
 * 2. The one who waits longest fits beside those who are on or promised room: let it in, whoever else is being waited for.
 * 3. It has to wait for others to go: whoever needs no room at all passes it.
 * 4. Those who are on are not enough to make room for it, as others are still coming: stay.
 * 5. Those who would have to go have not been on for `min_active_secs`: look again when they have.
 * 6. Leases are cut rather than waited for, and one of them has served nothing yet: let it serve one, as long as a drain would take.
 * 7. Swap. The stage closes the batches of those who go at the moment the first request for the new one arrived.
 */
export function fifo(sight: StageSight): Decision {
  const queue = sight.models
    .filter(({ part, oldest }) => part === 'out' && oldest !== undefined)
    .sort((a, b) => (a.oldest?.seq ?? 0) - (b.oldest?.seq ?? 0));
  const [next] = queue;
  if (next === undefined) return stay; // 1
  const room = makeRoom(sight, next);
  if (room?.length === 0) return { kind: 'swap', to: next.model, evict: [] }; // 2
  const free = queue.find(({ cost }) => cost === 0);
  if (free !== undefined) return { kind: 'swap', to: free.model, evict: [] }; // 3
  if (room === undefined) return stay; // 4
  const earliest = room.map((leaver) => mayLeaveAt(leaver, sight)).reduce((a, b) => (a > b ? a : b));
  if (sight.now < earliest) return { kind: 'look-again', at: earliest }; // 5, 6
  return { kind: 'swap', to: next.model, evict: room.map(({ model }) => model) }; // 7
}

function mayLeaveAt({ onSince, served, inFlight }: Sight, { minActiveMs, drains, drainMs }: StageSight): Millis {
  const unserved = !drains && served === 0 && inFlight > 0;
  return after(onSince, unserved ? Math.max(minActiveMs, drainMs) : minActiveMs);
}
