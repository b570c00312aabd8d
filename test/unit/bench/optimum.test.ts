import { test } from 'vitest';
import { offlineOptimum } from '../../../scripts/bench/optimum.ts';
import { FOREVER, millis } from '../../../src/core/kinds.ts';
import { compare, DISCIPLINES } from '../../../src/simulate/compare.ts';
import { GENERATORS } from '../../../src/simulate/generators.ts';
import { Random } from '../../../src/simulate/random.ts';
import type { Arrival } from '../../../src/simulate/workload.ts';

const TIMES = { comeMs: 3, goMs: 2 };

/** Every way in which models can come and go, each tried to its end: the least that all wait together. */
function byTryingAll(arrivals: readonly Arrival[]): number {
  const models = [...new Set(arrivals.map(({ model }) => model))];
  const moments = [...new Set(arrivals.map(({ at }) => Number(at)))].toSorted((a, b) => a - b);
  let least = Number.POSITIVE_INFINITY;
  const go = (on: string, since: number, waiting: ReadonlySet<Arrival>, waitedMs: number): void => {
    if (waitedMs >= least) return;
    for (const leave of [since, ...moments.filter((moment) => moment > since)]) {
      const granted = [...waiting].filter(({ model, at }) => model === on && at <= leave);
      const rest = new Set([...waiting].filter((arrival) => !granted.includes(arrival)));
      const waited = granted.reduce((sum, { at }) => sum + Math.max(0, since - at), waitedMs);
      if (rest.size === 0) least = Math.min(least, waited);
      const doneAt = Math.max(leave, ...granted.map(({ at, serviceMs }) => Math.max(at, since) + serviceMs));
      for (const next of models) {
        if (next === on || ![...rest].some(({ model, at }) => model === next && at <= leave)) continue;
        go(next, doneAt + TIMES.goMs + TIMES.comeMs, rest, waited);
      }
    }
  };
  for (const model of models) {
    const first = Math.min(...arrivals.filter((arrival) => arrival.model === model).map(({ at }) => at));
    go(model, first + TIMES.comeMs, new Set(arrivals), 0);
  }
  return least / arrivals.length;
}

test('it is what trying everything finds', ({ expect }) => {
  const random = new Random(3);
  for (let world = 0; world < 150; world++) {
    const names: [string, ...string[]] = world % 3 === 0 ? ['a', 'b', 'c'] : ['a', 'b'];
    const arrivals = Array.from({ length: random.int(2, 8) }, (): Arrival => ({
      at: millis(random.int(0, 40)),
      model: random.pick(names),
      serviceMs: random.int(0, 9),
    }));
    expect([world, offlineOptimum(arrivals, TIMES)?.meanMs]).toEqual([world, expect.closeTo(byTryingAll(arrivals), 6)]);
  }
});

test('no discipline does better, and one is near it at light load', ({ expect }) => {
  for (const name of ['light', 'moderate', 'zipf'] as const) {
    const make = () => GENERATORS[name]({ seed: 4, spanMs: 300_000 });
    const times = { comeMs: 2_000, goMs: 2_000 };
    const best = offlineOptimum([...make().arrivals], times)?.meanMs ?? 0;
    const found = compare({
      workload: make,
      disciplines: DISCIPLINES,
      stage: { capacity: 1, drains: true, drainMs: 600_000, minActiveMs: 0, priorityStepMs: 0 },
      terms: {
        maxWaitMs: 30_000,
        coalesceMs: 2_000,
        amortization: 0.5,
        tickMs: 500,
        quantumMs: 2_000,
        servingShare: 0.8,
        holds: true,
      },
      model: () => ({
        cost: 1,
        replicas: 1,
        targetInflight: 1_000,
        maxWaiting: 1_000_000,
        patienceMs: FOREVER,
        sleepLevel: 1,
      }),
      times: () => times,
    });
    const means = [...found.values()].map(({ waits }) => waits.meanMs);
    expect(best).toBeGreaterThan(0);
    expect(Math.min(...means)).toBeGreaterThanOrEqual(best);
    expect(Math.min(...means)).toBeLessThan(2 * best);
  }
});

test('where it would take too long it says nothing', ({ expect }) => {
  const arrivals = [...GENERATORS.zipf({ seed: 1, spanMs: 600_000 }).arrivals];
  expect(offlineOptimum(arrivals, TIMES, 10)).toBeUndefined();
});
