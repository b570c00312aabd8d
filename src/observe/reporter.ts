import type { Fact } from '../core/facts.ts';
import type { Reporter } from '../ports/reporter.ts';

/**
 * Tells every fact to all of them. One that throws neither keeps it from the others nor disturbs who reports:
 * `failed` hears of it instead. Should that throw as well, nobody is left to be told.
 */
export function reportToAll(reporters: readonly Reporter[], failed: (error: unknown, fact: Fact) => void): Reporter {
  return {
    report(fact) {
      for (const reporter of reporters) {
        try {
          reporter.report(fact);
        } catch (error) {
          tryTo(() => failed(error, fact));
        }
      }
    },
  };
}

function tryTo(act: () => void): void {
  try {
    act();
  } catch {
    // The log itself is broken; the core goes on.
  }
}
