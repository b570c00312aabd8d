import fc from 'fast-check';
import { describe, test } from 'vitest';
import { FOREVER, millis } from '../../../src/core/kinds.ts';
import { compare, DISCIPLINES } from '../../../src/simulate/compare.ts';
import { GENERATORS, manyModels } from '../../../src/simulate/generators.ts';
import type { Outcome } from '../../../src/simulate/tally.ts';
import type { Arrival, Workload } from '../../../src/simulate/workload.ts';
import { timeline } from '../../../src/simulate/drawing.ts';

const SECOND = 1_000;

type World = {
  readonly workload: Workload;
  readonly maxWaitMs: number;
  readonly servingShare?: number;
  readonly holds?: boolean;
  readonly comeMs: number;
  readonly goMs: number;
  readonly places?: number;
  readonly stepMs?: number;
};

/** The time is given in whole turns, and those that lie at the ends of what is looked at count as well. */
const SHARE_IS_OFF_BY = 0.1;

function play(discipline: string, world: World): Outcome {
  const { workload, maxWaitMs, servingShare = 0.8, holds = true, comeMs, goMs, places = 16, stepMs = 0 } = world;
  const outcome = compare({
    workload: () => workload,
    disciplines: [discipline],
    stage: { capacity: 1, drains: true, drainMs: 600 * SECOND, minActiveMs: 0, priorityStepMs: stepMs },
    terms: { maxWaitMs, coalesceMs: 2_000, amortization: 0.5, tickMs: 500, quantumMs: 2_000, servingShare, holds },
    model: () => ({
      cost: 1,
      replicas: 1,
      targetInflight: places,
      maxWaiting: 1_000_000,
      patienceMs: FOREVER,
      sleepLevel: 1,
      costs: { 'come:5': known(comeMs), 'come:1': known(comeMs), 'go:1': known(goMs) },
    }),
    times: () => ({ comeMs, goMs }),
  }).get(discipline);
  if (outcome === undefined) throw new Error(`${discipline} was not played`);
  return outcome;
}

const known = (ms: number) => ({ ms, spreadMs: 0, samples: 9 });

/** Requests for each model at equal distances. */
function regular(rates: readonly number[], serviceMs: number, spanMs: number): Workload {
  const arrivals: Arrival[] = rates.flatMap((perSec, n) => {
    const gapMs = SECOND / perSec;
    const count = Math.floor(spanMs / gapMs);
    return Array.from({ length: count }, (_, k) => ({ at: millis((k + n / 10) * gapMs), model: `m${n}`, serviceMs }));
  });
  return { name: 'regular', models: rates.map((_, n) => `m${n}`), arrivals: arrivals.toSorted((a, b) => a.at - b.at) };
}

/** The longest time each model was not awake, between its turns, up to a moment. */
function absences({ timeline: stretches, byModel }: Outcome, untilMs: number): readonly number[] {
  return [...byModel.keys()].map((model) => {
    const awake = stretches.filter((stretch) => stretch.model === model && stretch.phase === 'awake');
    const gaps = awake.slice(1).map(({ fromMs }, n) => fromMs - (awake[n]?.toMs ?? 0));
    return Math.max(0, ...gaps.filter((_, n) => (awake[n + 1]?.fromMs ?? 0) <= untilMs));
  });
}

describe('under slack', () => {
  test('nobody waits for longer than max_wait_secs and the drains, when that can be done', ({ expect }) => {
    const worlds = fc.record({
      models: fc.integer({ min: 2, max: 5 }),
      perSec: fc.double({ min: 0.02, max: 0.1, noNaN: true }),
      serviceMs: fc.integer({ min: 100, max: 3_000 }),
      comeMs: fc.integer({ min: 10, max: 9_000 }),
      goMs: fc.integer({ min: 0, max: 2_000 }),
      holds: fc.boolean(),
    });
    fc.assert(
      fc.property(worlds, ({ models, perSec, serviceMs, comeMs, goMs, holds }) => {
        const maxWaitMs = 3 * models * (comeMs + goMs + serviceMs) + 15 * SECOND;
        const workload = regular(
          Array.from({ length: models }, () => perSec),
          serviceMs,
          600 * SECOND,
        );
        const outcome = play('slack', { workload, maxWaitMs, servingShare: 0.5, comeMs, goMs, holds });
        expect(outcome.served).toBe([...workload.arrivals].length);
        expect(outcome.waits.maxMs).toBeLessThanOrEqual(maxWaitMs + models * serviceMs);
      }),
      { numRuns: 20 },
    );
  });

  test('when it cannot be done, nobody is away for longer than a round takes', ({ expect }) => {
    const worlds = fc.record({
      models: fc.integer({ min: 2, max: 5 }),
      serviceMs: fc.integer({ min: 1_500, max: 4_000 }),
      costMs: fc.integer({ min: 500, max: 8_000 }),
      share: fc.constantFrom(0.5, 0.8),
    });
    fc.assert(
      fc.property(worlds, ({ models, serviceMs, costMs, share }) => {
        const spanMs = 500 * SECOND;
        const perSec = (3 * 4 * SECOND) / (serviceMs * models);
        const workload = regular(
          Array.from({ length: models }, () => perSec),
          serviceMs,
          spanMs,
        );
        const times = { comeMs: costMs / 2, goMs: costMs / 2 };
        const outcome = play('slack', { workload, maxWaitMs: SECOND, servingShare: share, places: 4, ...times });
        const perSwap = costMs + serviceMs;
        const bound = perSwap * (((models - 1) * share) / (1 - share) + models);
        // The one who has waited longest is next, and that may be the same model twice before another has its turn.
        for (const absence of absences(outcome, spanMs)) expect(absence).toBeLessThanOrEqual(2 * bound);
      }),
      { numRuns: 8 },
    );
  });

  test('when it cannot be done, each model gets its share of the time', ({ expect }) => {
    const spanMs = 1_000 * SECOND;
    const workload = regular([6, 3, 1], 2_000, spanMs);
    const outcome = play('slack', { workload, maxWaitMs: 20 * SECOND, comeMs: 2_000, goMs: 2_000, places: 4 });
    const awake = workload.models.map((model) =>
      outcome.timeline
        .filter((stretch) => stretch.model === model && stretch.phase === 'awake' && stretch.toMs <= spanMs)
        .reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0),
    );
    const total = awake.reduce((sum, ms) => sum + ms, 0);
    const shares = awake.map((ms) => ms / total);
    for (const [n, due] of [0.6, 0.3, 0.1].entries()) expect(Math.abs((shares[n] ?? 0) - due)).toBeLessThan(0.08);
    expect(total / spanMs).toBeGreaterThan(0.75);
  });

  test('when it cannot be done, each model gets its share of the time, whatever it is asked for', ({ expect }) => {
    const spanMs = 600 * SECOND;
    const one = fc.integer({ min: 2, max: 8 });
    fc.assert(
      fc.property(fc.tuple(one, one, one), fc.integer({ min: 200, max: 4_000 }), (weights, costMs) => {
        const sum = weights.reduce((total, weight) => total + weight, 0);
        const due = weights.map((weight) => weight / sum);
        const rates = due.map((share) => 6 * share);
        const workload = regular(rates, 2_000, spanMs);
        const swap = { comeMs: costMs / 2, goMs: costMs / 2 };
        const outcome = play('slack', { workload, maxWaitMs: 20 * SECOND, places: 4, ...swap });
        const awake = workload.models.map((model) =>
          outcome.timeline
            .filter((stretch) => stretch.model === model && stretch.phase === 'awake' && stretch.toMs <= spanMs)
            .reduce((total, { fromMs, toMs }) => total + toMs - fromMs, 0),
        );
        const total = awake.reduce((all, ms) => all + ms, 0);
        for (const [n, share] of due.entries())
          expect(Math.abs((awake[n] ?? 0) / total - share)).toBeLessThan(SHARE_IS_OFF_BY);
        expect(total / spanMs).toBeGreaterThan(0.75);
      }),
      { numRuns: 6 },
    );
  });
});

/** The same requests, all of them urgent, and among them one that is not and whose client leaves when it has no turn within the bound. */
function amongUrgent(
  workload: Workload,
  low: { readonly at: number; readonly model: string; withinMs: number },
): Workload {
  const urgent = [...workload.arrivals].map((arrival): Arrival => ({ ...arrival, priority: 'high' }));
  const { at, model, withinMs } = low;
  const serviceMs = urgent[0]?.serviceMs ?? 0;
  const one: Arrival = { at: millis(at), model, serviceMs, priority: 'low', leavesAfterMs: withinMs };
  const models = [...new Set([...workload.models, model])];
  return { ...workload, models, arrivals: [...urgent, one].toSorted((a, b) => a.at - b.at) };
}

describe('a request of low priority', () => {
  const OWN = ['fifo', 'cost_aware', 'time_slice', 'slack'];

  test.for(OWN)('has its turn under %s while others are asked for urgently without end', (policy, { expect }) => {
    const worlds = fc.record({
      perSec: fc.double({ min: 0.5, max: 2, noNaN: true }),
      serviceMs: fc.integer({ min: 500, max: 3_000 }),
      comeMs: fc.integer({ min: 100, max: 3_000 }),
      goMs: fc.integer({ min: 0, max: 1_000 }),
      stepMs: fc.integer({ min: 0, max: 20_000 }),
      at: fc.integer({ min: 0, max: 60_000 }),
    });
    fc.assert(
      fc.property(worlds, ({ perSec, serviceMs, comeMs, goMs, stepMs, at }) => {
        const maxWaitMs = 10 * SECOND;
        const turnMs = comeMs + goMs + 2 * serviceMs + 2 * SECOND;
        const low = { at, model: 'low', withinMs: 2 * stepMs + maxWaitMs + 3 * 4 * turnMs };
        const workload = amongUrgent(regular([perSec, perSec], serviceMs, 600 * SECOND), low);
        const outcome = play(policy, { workload, maxWaitMs, servingShare: 0.5, comeMs, goMs, stepMs });
        expect(outcome.left).toBe(0);
      }),
      { numRuns: 15 },
    );
  });

  test('is not lost in the line of its own model either, when more is asked for than can be done', ({ expect }) => {
    const worlds = fc.record({
      serviceMs: fc.integer({ min: 500, max: 3_000 }),
      costMs: fc.integer({ min: 200, max: 4_000 }),
      stepMs: fc.integer({ min: 0, max: 10_000 }),
      at: fc.integer({ min: 5_000, max: 20_000 }),
    });
    fc.assert(
      fc.property(worlds, ({ serviceMs, costMs, stepMs, at }) => {
        const [share, models, places, times] = [0.5, 2, 4, 1.5];
        const perSec = (times * places * SECOND) / (serviceMs * models);
        const roundMs = (costMs + serviceMs) * (((models - 1) * share) / (1 - share) + models);
        // Whoever comes more than two steps later is behind it, and what came before that takes so long.
        const aheadMs = (times * (at + 2 * stepMs)) / share;
        const low = { at, model: 'm0', withinMs: aheadMs + 3 * roundMs };
        const workload = amongUrgent(regular([perSec, perSec], serviceMs, 600 * SECOND), low);
        const swap = { comeMs: costMs / 2, goMs: costMs / 2 };
        const outcome = play('slack', { workload, maxWaitMs: SECOND, servingShare: share, places, stepMs, ...swap });
        expect(outcome.left).toBe(0);
      }),
      { numRuns: 8 },
    );
  });
});

describe('every discipline', () => {
  test.for(DISCIPLINES)(
    '%s serves everybody, each turn serves somebody, and the same seed tells the same',
    (name, { expect }) => {
      for (const generator of Object.values(GENERATORS)) {
        const world = (): World => ({
          workload: generator({ seed: 7, spanMs: 300 * SECOND }),
          maxWaitMs: 30 * SECOND,
          comeMs: 2_000,
          goMs: 1_000,
        });
        const outcome = play(name, world());
        expect(outcome).toEqual(play(name, world()));
        expect(outcome.rejected).toBe(0);
        expect(outcome.served).toBeGreaterThan(0);
        expect(outcome.swaps).toBeLessThanOrEqual(outcome.served + outcome.left);
      }
    },
  );

  test('meets a thousand models', ({ expect }) => {
    const workload = manyModels(1_000, 2_000, 2, 1);
    const outcome = play('slack', { workload, maxWaitMs: 30 * SECOND, comeMs: 1_000, goMs: 100 });
    expect(outcome.served).toBe(2_000);
  });

  test('can be drawn, whatever models are called', ({ expect }) => {
    const workload = { name: 'x', models: ['<a&b>'], arrivals: [{ at: millis(0), model: '<a&b>', serviceMs: 5 }] };
    const drawn = timeline(new Map([['fifo', play('fifo', { workload, maxWaitMs: 1, comeMs: 1, goMs: 1 })]]));
    expect(drawn).toContain('&lt;a&amp;b&gt;');
    expect(drawn).toContain('<rect');
  });
});
