import { isBusy, uncommitted, type Candidate, type Sight, type StageSight } from '../cast.ts';
import { makeRoom } from '../leavers.ts';
import { logSum, shareOf } from '../demand.ts';
import { after, millis, FOREVER, type Millis } from '../kinds.ts';
import { allIdle, latest, mayLeaveAt, someIdle, swapMs, swapTo } from './leaving.ts';
import { stay, type Policy, type PolicyTerms } from './policy.ts';

/** So much of a round is dealt out evenly, whatever anybody is asked for: what is not known yet must not starve anybody. The parts of all are one round. */
const EVENLY = 0.1;
/** A hold is looked at again this much later at least. */
const LEAST_HOLD_MS = 1;

/**
 * Nobody is sent off before it has to be. The latest moment at which a swap may begin is the one at which all who wait can still be served in time
 * (`max_wait_secs`), one after the other, as long as their swaps are expected to take.
 * 1. A model that fits beside those who are on comes in at once, unless the one who waits longest is late already.
 * 2. Those who would go are idle: the model that most wait for, by the cost of the swap, comes in, or the first one when it is late.
 *    They are held a little when, by what was seen, requests for them are worth more waiting than those who wait now.
 * 3. They are busy, and there is time left: look again when it is over.
 * 4. They are busy, and it is over: they go once they have had their part of a round in which `serving_share` of the time is spent on serving. So
 *    when more is wanted than can be done in time, everybody is late in the same proportion, and the time is not spent on swaps.
 * Who waits longest is next, until somebody has waited for too long: then it is the model that has been away longest, so that none has two turns before
 * another that is waited for has one.
 */
export const slack =
  (terms: PolicyTerms): Policy =>
  (sight) => {
    const first = firstOf(sight, terms);
    if (first === undefined) return stay;
    const { now } = sight;
    const leaversOfFirst = makeRoom(sight, first);
    if (leaversOfFirst?.length === 0) return swapTo(first, [], 'none'); // 1
    const latestStart = latestStartOf(sight, leaversOfFirst ?? [], terms);
    const late = now >= latestStart;
    const room = uncommitted(sight);
    const fits = late || room <= 0 ? undefined : sight.candidates.find(({ cost }) => cost <= room);
    if (fits !== undefined) return swapTo(fits, [], 'none'); // 1
    if (leaversOfFirst === undefined) return stay;
    if (late && !allIdle(leaversOfFirst)) {
      const go = latest([
        mayLeaveAt(leaversOfFirst, sight),
        ...leaversOfFirst.map((leaver) => floorOf(leaver, sight, terms)),
      ]);
      return now >= go ? swapTo(first, leaversOfFirst, 'none') : { kind: 'look-again', at: go }; // 4
    }
    const idle = late ? { to: first, leavers: leaversOfFirst } : worthMost(sight);
    if (idle === undefined) return { kind: 'look-again', at: latestStart }; // 3
    const mayGo = mayLeaveAt(idle.leavers, sight);
    const heldTo = late || !terms.holds ? now : heldUntil(idle.to, idle.leavers, now); // 2
    const at = latest([mayGo, millis(Math.min(heldTo, Math.max(now, latestStart)))]);
    return at <= now ? swapTo(idle.to, idle.leavers, 'none') : { kind: 'look-again', at };
  };

/** The one that waits longest; once that is too long for one at least, the one whose model has been away longest. */
function firstOf({ candidates, now }: StageSight, { maxWaitMs }: PolicyTerms): Candidate | undefined {
  const [first] = candidates;
  if (first === undefined || after(first.first.rank, maxWaitMs) > now) return first;
  let longest = first;
  for (const candidate of candidates) {
    // Nobody has been away for longer than its first has waited.
    if (candidate.first.rank >= awaySince(longest)) break;
    if (awaySince(candidate) < awaySince(longest)) longest = candidate;
  }
  return longest;
}

/** Since when somebody waits for a turn of it: what it left behind in its last one counts from the end of that. */
const awaySince = ({ first: { rank }, leftAt = rank }: Candidate): Millis => latest([rank, leftAt]);

/** The latest moment at which the first swap may begin so that nobody has to wait for too long, if one follows the other. */
function latestStartOf(sight: StageSight, leavers: readonly Sight[], { maxWaitMs }: PolicyTerms): Millis {
  const { now, candidates } = sight;
  let before: readonly Sight[] = leavers;
  let spentMs = leavers.reduce((longest, leaver) => Math.max(longest, isBusy(leaver) ? leaver.drainMs : 0), 0);
  let start: Millis = FOREVER;
  for (const candidate of candidates) {
    spentMs += swapMs(candidate, before);
    start = millis(Math.min(start, candidate.first.rank + maxWaitMs - spentMs));
    // Those behind can only make it earlier, and it is over already.
    if (start <= now) return start;
    // It serves somebody before the next one comes.
    spentMs += candidate.drainMs;
    before = [candidate];
  }
  return start;
}

/** Until when a busy model has its part of a round among all who want a turn. */
function floorOf(leaver: Sight, sight: StageSight, { servingShare }: PolicyTerms): Millis {
  if (!isBusy(leaver)) return leaver.onSince;
  const contention = sight.contention();
  const share = shareOf(leaver.logWork, logSum(leaver.logWork, contention.logWork));
  const part = EVENLY / (sight.candidates.length + 1) + (1 - EVENLY) * share;
  const roundMs = contention.cycleMs + leaver.comeBackMs + leaver.drainMs + leaver.goMs;
  return after(leaver.onSince, ((part * servingShare) / (1 - servingShare)) * roundMs);
}

type Next = { readonly to: Candidate; readonly leavers: readonly Sight[] };

/** Of those for whom nobody busy has to go, the one that most wait for by the cost of its swap; of equals the one who waits longest. */
function worthMost(sight: StageSight): Next | undefined {
  if (!someIdle(sight)) return undefined;
  // Those who take the same room send the same models off.
  const rooms = new Map<number, readonly Sight[] | undefined>();
  let best: (Next & { readonly worth: number }) | undefined;
  for (const candidate of sight.candidates) {
    const { cost } = candidate;
    if (!rooms.has(cost)) rooms.set(cost, makeRoom(sight, candidate));
    const leavers = rooms.get(cost);
    if (leavers === undefined || !allIdle(leavers)) continue;
    const worth = candidate.waiting / Math.max(1, swapMs(candidate, leavers));
    if (best === undefined || worth > best.worth) best = { to: candidate, leavers, worth };
  }
  return best;
}

/**
 * Until when those who wait for `to` have waited as much as the swap there and back would make others wait, as far as the past tells. Both are
 * counted in milliseconds times requests.
 */
function heldUntil(to: Candidate, leavers: readonly Sight[], now: Millis): Millis {
  const there = swapMs(to, leavers);
  let displaced = 0;
  for (const { contendedRate, comeBackMs } of leavers)
    displaced += (contendedRate * (there + to.goMs + comeBackMs) ** 2) / 2;
  const waited = to.waiting * now - to.sinceSum;
  return waited >= displaced ? now : after(now, Math.max(LEAST_HOLD_MS, (displaced - waited) / to.waiting));
}
