import type { StageSight } from '../cast.ts';
import { makeRoom } from '../leavers.ts';
import { mayLeaveAt, swapTo } from './leaving.ts';
import { stay, type Decision } from './policy.ts';

/**
 * In order of arrival: the model whose request has waited longest is next.
 * 1. Nobody waits for a model that is out: stay.
 * 2. The one who waits longest fits beside those who are on or promised room: let it in, whoever else is being waited for.
 * 3. Those who are on are not enough to make room for it, as others are still coming: stay.
 * 4. Those who would have to go may not go yet: look again when they may.
 * 5. Swap. The stage closes the batches of those who go at the moment the first request for the new one arrived.
 */
export function fifo(sight: StageSight): Decision {
  const [next] = sight.candidates;
  if (next === undefined) return stay; // 1
  const leavers = makeRoom(sight, next);
  if (leavers === undefined) return stay; // 3
  if (leavers.length === 0) return swapTo(next, [], 'earlier'); // 2
  const earliest = mayLeaveAt(leavers, sight);
  if (sight.now < earliest) return { kind: 'look-again', at: earliest }; // 4
  return swapTo(next, leavers, 'earlier'); // 5
}
