import { test } from 'vitest';
import { millis } from '../../../src/core/kinds.ts';
import { holdsHost, residencyOf } from '../../../src/core/residency.ts';
import { LEVEL_TRAITS } from '../../../src/sleep/traits.ts';

test('what each level says of host memory and disk is what budgets and operators count with', ({ expect }) => {
  for (const level of [1, 2, 3, 'hybrid', 4] as const) {
    const { host, disk, preserves } = LEVEL_TRAITS[level];
    const residency = residencyOf({ kind: 'asleep', level, since: millis(0) });
    expect([level, host !== 'nothing', disk]).toEqual([
      level,
      holdsHost(level),
      residency === 'disk' ? 'image' : 'nothing',
    ]);
    // Level 4 loads weights again at least where it goes to level 2 first.
    expect([level, preserves.includes('weights')]).toEqual([level, level === 1 || level === 3]);
  }
});
