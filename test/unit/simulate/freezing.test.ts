import { test } from 'vitest';
import { FOREVER, millis } from '../../../src/core/kinds.ts';
import { compare } from '../../../src/simulate/compare.ts';
import { GENERATORS } from '../../../src/simulate/generators.ts';
import type { Outcome } from '../../../src/simulate/tally.ts';
import type { Workload } from '../../../src/simulate/workload.ts';

const SECOND = 1_000;

function frozen(discipline: string, workload: () => Workload): Outcome | undefined {
  return compare({
    workload,
    disciplines: [discipline],
    freezes: true,
    stage: { capacity: 1, drains: false, drainMs: SECOND, minActiveMs: 0, priorityStepMs: 0 },
    terms: {
      maxWaitMs: 30 * SECOND,
      coalesceMs: 2 * SECOND,
      amortization: 0.5,
      tickMs: 500,
      quantumMs: 2 * SECOND,
      servingShare: 0.8,
      holds: true,
    },
    model: () => ({
      cost: 1,
      replicas: 1,
      targetInflight: 16,
      maxWaiting: 1_000_000,
      patienceMs: FOREVER,
      sleepLevel: 1,
    }),
    times: () => ({ comeMs: SECOND, goMs: SECOND }),
  }).get(discipline);
}

test('what was frozen goes on where it was, and has waited once', ({ expect }) => {
  const arrivals = [
    { at: millis(0), model: 'a', serviceMs: 10 * SECOND },
    { at: millis(3 * SECOND), model: 'b', serviceMs: SECOND },
  ];
  // a: on at 1, frozen at 3 with 8 to go. b: on at 5, done at 6. a: on again at 8, done at 16.
  const outcome = frozen('fifo', () => ({ name: 'two', models: ['a', 'b'], arrivals }));
  expect(outcome).toMatchObject({ served: 2, spanMs: 16 * SECOND, swaps: 3, drainingShare: 0 });
  expect(outcome?.waits).toMatchObject({ count: 2, meanMs: 1.5 * SECOND, maxMs: 2 * SECOND });
});

test('all are served, however often they are frozen', ({ expect }) => {
  for (const make of Object.values(GENERATORS)) {
    const workload = make({ seed: 5, spanMs: 300 * SECOND });
    const closed = workload.followUp !== undefined;
    const outcome = frozen('slack', () => make({ seed: 5, spanMs: 300 * SECOND }));
    expect(outcome?.rejected).toBe(0);
    expect(outcome?.waits.count).toBe(outcome?.served);
    if (!closed) expect((outcome?.served ?? 0) + (outcome?.left ?? 0)).toBe([...workload.arrivals].length);
  }
});
