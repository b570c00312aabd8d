import type { SleepLevel } from '../core/kinds.ts';
import type { Identity, TrialLevel, Verdict } from '../ports/verdicts.ts';
import type { Result } from './observed.ts';
import { heldIn } from './seen.ts';

/** A driver that could not be asked now may be the one it was. */
export const UNKNOWN_DRIVER = 'unknown';

/** What is worth remembering of a validation: what a level did, and not what an engine or a place would not let it do. */
export function verdictsOf(
  results: readonly Result[],
  model: string,
  identity: Identity,
  at: Date,
): readonly Verdict[] {
  return results.flatMap(({ level, outcome, fault, reasons, observed }) => {
    const passed = outcome === 'passed';
    if (!passed && !(outcome === 'failed' && fault === 'level')) return [];
    const held = passed && observed !== undefined ? { held: heldIn(observed) } : {};
    return [{ model, level, passed, reason: reasons[0] ?? '', at, identity, ...held }];
  });
}

/** Whether a verdict is about an engine as it is now; `ask`: only its version can tell. */
export function holds({ identity: then }: Verdict, now: Omit<Identity, 'version'>): 'yes' | 'no' | 'ask' {
  if (then.backend !== now.backend || then.settings !== now.settings) return 'no';
  const drivers = [then.driver, now.driver];
  if (then.driver !== now.driver && !drivers.includes(UNKNOWN_DRIVER)) return 'no';
  if (then.program === now.program && (now.program !== undefined || then.version === undefined)) return 'yes';
  return then.version === undefined ? 'no' : 'ask';
}

/** Of several on one level, the newest. */
export function newest(verdicts: readonly Verdict[]): readonly Verdict[] {
  const byLevel = new Map<TrialLevel, Verdict>();
  for (const verdict of verdicts) {
    const other = byLevel.get(verdict.level);
    if (other === undefined || other.at <= verdict.at) byLevel.set(verdict.level, verdict);
  }
  return [...byLevel.values()];
}

type Levels = { readonly wanted: SleepLevel; readonly allowed: readonly SleepLevel[] };

/**
 * The levels that are left once those that failed are taken out. `depth` is every level from the lightest to the deepest;
 * the last is always left, since it is where everything ends.
 */
export function obeyed(
  { wanted, allowed }: Levels,
  failed: readonly SleepLevel[],
  depth: readonly SleepLevel[],
): Levels {
  const deepest = depth.at(-1);
  const left = allowed.filter((level) => level === deepest || !failed.includes(level));
  if (left.includes(wanted)) return { wanted, allowed: left };
  const deeper = depth.slice(depth.indexOf(wanted) + 1).find((level) => left.includes(level));
  return { wanted: deeper ?? deepest ?? wanted, allowed: left };
}
