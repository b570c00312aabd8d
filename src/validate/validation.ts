import type { Driver } from '../engines/driver.ts';
import type { TrialLevel } from '../ports/verdicts.ts';
import { notTried, type Asked, type Subject } from './levels.ts';
import type { Result } from './observed.ts';
import { tryLevel, type TrialLimits, type TrialMeans } from './trial.ts';

export type Plan = {
  readonly asked: readonly Asked[];
  readonly cycles: number;
  readonly subject: Subject;
  readonly limits: TrialLimits;
  /** A driver whose engine is ready for the level, however narrow the settings are. */
  readonly driverFor: (level: TrialLevel) => Driver;
};

/** Tries one level after the other, each on an engine of its own. Rejects only when the signal fires. */
export async function validate(plan: Plan, means: TrialMeans, signal: AbortSignal): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const asked of plan.asked) {
    const result = await one(asked, results, plan, means, signal);
    means.progress(
      `level ${result.level}: ${result.outcome}${result.reasons.length > 0 ? `: ${result.reasons[0]}` : ''}`,
    );
    results.push(result);
  }
  return results;
}

async function one(
  asked: Asked,
  before: readonly Result[],
  plan: Plan,
  means: TrialMeans,
  signal: AbortSignal,
): Promise<Result> {
  const { level, named } = asked;
  const bare = { level, notes: [], observed: undefined };
  const why = notTried(asked, plan.subject);
  if (why !== undefined) return { ...bare, outcome: named ? 'failed' : 'skipped', fault: 'place', reasons: [why] };
  // An engine that is no good when it is fresh is no better for the next level.
  const unsound = before.find(({ fault }) => fault === 'engine');
  if (unsound !== undefined) {
    const reasons = [`not tried, since at level ${unsound.level} ${unsound.reasons[0] ?? 'the engine was no good'}`];
    return { ...bare, outcome: 'failed', fault: 'engine', reasons };
  }
  const { cycles, limits } = plan;
  return tryLevel({ level, named, cycles, limits, driver: plan.driverFor(level) }, means, signal);
}

/** Whether all is well: nothing failed, and something passed. */
export const allWell = (results: readonly Result[]): boolean =>
  results.every(({ outcome }) => outcome !== 'failed') && results.some(({ outcome }) => outcome === 'passed');
