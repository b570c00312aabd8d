import { isBusy, type Candidate, type Sight, type StageSight } from '../cast.ts';
import { after, type Millis } from '../kinds.ts';
import type { Decision } from './policy.ts';

/** From when on all of them may be sent off. Who is cut rather than waited for has until then served one request, or as long as a drain would take. */
export function mayLeaveAt(leavers: readonly Sight[], { minActiveMs, drains, drainMs }: StageSight): Millis {
  return latest(
    leavers.map(({ onSince, served, inFlight }) => {
      const unserved = !drains && served === 0 && inFlight > 0;
      return after(onSince, unserved ? Math.max(minActiveMs, drainMs) : minActiveMs);
    }),
  );
}

/** Who may be next: once the first has waited too long, only that one, or those who pass it would keep it out for ever. */
export function contenders({ candidates, now }: StageSight, maxWaitMs: number): readonly Candidate[] {
  const [first] = candidates;
  return first !== undefined && after(first.first.rank, maxWaitMs) <= now ? [first] : candidates;
}

export const swapTo = ({ model }: Candidate, leavers: readonly Sight[], batch: 'earlier' | 'none'): Decision => ({
  kind: 'swap',
  to: model,
  evict: leavers.map(({ model }) => model),
  batch,
});

export const latest = (moments: readonly Millis[]): Millis => moments.reduce((a, b) => (a > b ? a : b));

export const allIdle = (leavers: readonly Sight[]): boolean => !leavers.some(isBusy);

/** Whether anybody who takes room is on and has nothing to do. */
export const someIdle = ({ cast }: StageSight): boolean =>
  cast.some((sight) => sight.part === 'on' && sight.cost > 0 && !isBusy(sight));

/** What it takes until the candidate is awake when these have to go for it, without their drains. They go and it comes one after the other. */
export const swapMs = ({ comeMs }: Sight, leavers: readonly Sight[]): number =>
  comeMs + leavers.reduce((longest, { goMs }) => Math.max(longest, goMs), 0);
