import { describe, test } from 'vitest';
import { millis } from '../../../src/core/kinds.ts';
import { defaultRestartRules, judge, type FailedWhile } from '../../../src/core/restart.ts';

const NOW = millis(1_000_000);

describe('how soon a failed engine is tried again, and whether those who wait are told', () => {
  const rows: readonly (readonly [FailedWhile, number, number, number, boolean])[] = [
    // while, failures before -> attempts, pause in seconds, told
    ['starting', 0, 1, 1, true],
    ['starting', 1, 2, 2, true],
    ['starting', 5, 6, 32, true],
    ['starting', 6, 7, 60, true],
    ['starting', 1_000, 1_001, 60, true],
    ['awake', 0, 1, 0, false],
    ['awake', 1, 2, 2, false],
    ['awake', 2, 3, 4, true],
    ['waking', 0, 1, 0, false],
    ['waking', 2, 3, 4, true],
    ['falling-asleep', 0, 0, 0, false],
    ['falling-asleep', 2, 2, 0, false],
    ['asleep', 2, 2, 0, false],
  ];
  for (const [during, before, attempts, pauseSecs, giveUp] of rows) {
    test(`${during} after ${before}: in ${pauseSecs} s, ${giveUp ? 'told' : 'kept'}`, ({ expect }) => {
      const { failure, retryAt } = judge(during, { reason: 'why' }, before, NOW, defaultRestartRules);
      expect(failure).toEqual({ during, reason: 'why', attempts, giveUp });
      expect(retryAt - NOW).toBe(pauseSecs * 1_000);
    });
  }
});
