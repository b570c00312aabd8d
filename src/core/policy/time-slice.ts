import { uncommitted, type Candidate, type Sight, type StageSight } from '../cast.ts';
import { makeRoom } from '../leavers.ts';
import { after, millis, soonest, type Millis } from '../kinds.ts';
import { allIdle, contenders, someIdle, latest, mayLeaveAt, swapTo } from './leaving.ts';
import { stay, type Policy, type PolicyTerms } from './policy.ts';

/**
 * Whoever is on has a turn of `min_quantum_ms` at least. After that:
 * 1. A model that fits beside those who are on comes in at once.
 * 2. One whose first request has waited `max_wait_secs` is next, whoever is busy, and nobody passes it.
 * 3. When those who would go have nothing to do, the longest line is next, at the next tick (every `tick_interval_ms`).
 */
export const timeSlice =
  (terms: PolicyTerms): Policy =>
  (sight) => {
    const may = contenders(sight, terms.maxWaitMs);
    const [oldest] = may;
    if (oldest === undefined) return stay;
    const room = uncommitted(sight);
    const fits = room <= 0 ? undefined : may.find(({ cost }) => cost <= room);
    if (fits !== undefined) return swapTo(fits, [], 'none'); // 1
    const turns = [turnOf(oldest, sight, terms, 'when-late')]; // 2
    if (someIdle(sight)) turns.unshift(turnOf(longestOf(may, oldest), sight, terms, 'when-idle')); // 3
    let next: Millis | undefined;
    for (const turn of turns) {
      if (turn === undefined) continue;
      if (turn.at <= sight.now) return swapTo(turn.to, turn.leavers, 'none');
      next = soonest(next, turn.at);
    }
    return next === undefined ? stay : { kind: 'look-again', at: next };
  };

const longestOf = (candidates: readonly Candidate[], oldest: Candidate): Candidate =>
  candidates.reduce((a, b) => (b.waiting > a.waiting ? b : a), oldest);

type Turn = { readonly to: Candidate; readonly leavers: readonly Sight[]; readonly at: Millis };

/** When the turn of `to` comes, as things are: undefined while it cannot. */
function turnOf(
  to: Candidate,
  sight: StageSight,
  { maxWaitMs, quantumMs, tickMs }: PolicyTerms,
  how: 'when-idle' | 'when-late',
): Turn | undefined {
  const leavers = makeRoom(sight, to);
  if (leavers === undefined || (how === 'when-idle' && !allIdle(leavers))) return undefined;
  const over = latest([mayLeaveAt(leavers, sight), ...leavers.map(({ onSince }) => after(onSince, quantumMs))]);
  if (how === 'when-late') return { to, leavers, at: latest([over, after(to.first.rank, maxWaitMs)]) };
  const idle = leavers.map(({ idleSince }) => idleSince ?? sight.now);
  const from = latest([over, ...idle, ...sight.candidates.slice(0, 1).map(({ first }) => first.since)]);
  return { to, leavers, at: millis(Math.ceil(from / tickMs) * tickMs) };
}
