import type { Candidate, Sight, StageSight } from '../cast.ts';
import { makeRoom } from '../leavers.ts';
import { after, millis, soonest, type Millis } from '../kinds.ts';
import { contenders, latest, mayLeaveAt, swapMs, swapTo } from './leaving.ts';
import { stay, type Policy, type PolicyTerms } from './policy.ts';

/**
 * A swap has to be worth its cost. For each model that is waited for, in order of arrival, as soon as one of these holds:
 * 1. It fits beside those who are on: let it in.
 * 2. Its first request has waited `max_wait_secs`: swap, whatever it costs.
 * 3. Those who would go have served for as long as the swap takes, and so many wait that they are worth it
 *    (`amortization_factor` for each second of cost, at least one): swap.
 * 4. They have, and its first request has waited `coalesce_window_ms` for company: swap.
 * None: look again when the first of these can hold. Nobody passes one who has waited for `max_wait_secs`.
 */
export const costAware =
  (terms: PolicyTerms): Policy =>
  (sight) => {
    // Those who take the same room send the same models off.
    const rooms = new Map<number, readonly Sight[] | undefined>();
    let next: Millis | undefined;
    for (const candidate of contenders(sight, terms.maxWaitMs)) {
      const { cost } = candidate;
      if (!rooms.has(cost)) rooms.set(cost, makeRoom(sight, candidate));
      const leavers = rooms.get(cost);
      if (leavers === undefined) continue;
      if (leavers.length === 0) return swapTo(candidate, [], 'none'); // 1
      const at = worthItAt(candidate, leavers, sight, terms);
      if (at <= sight.now) return swapTo(candidate, leavers, 'none');
      next = soonest(next, at);
    }
    return next === undefined ? stay : { kind: 'look-again', at: next };
  };

function worthItAt(candidate: Candidate, leavers: readonly Sight[], sight: StageSight, terms: PolicyTerms): Millis {
  const { first, waiting } = candidate;
  const costMs = swapMs(candidate, leavers);
  const tooLate = after(first.rank, terms.maxWaitMs); // 2
  const enough = waiting >= Math.max(1, Math.ceil((terms.amortization * costMs) / 1_000));
  const company = enough ? sight.now : after(first.since, terms.coalesceMs); // 3, 4
  const served = latest(leavers.map(({ onSince }) => after(onSince, costMs)));
  const worthIt = latest([company, served]);
  return latest([mayLeaveAt(leavers, sight), millis(Math.min(tooLate, worthIt))]);
}
