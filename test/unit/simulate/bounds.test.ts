import fc from 'fast-check';
import { describe, test } from 'vitest';
import { millis } from '../../../src/core/kinds.ts';
import { POLICY_NAMES } from '../../../src/core/policy/index.ts';
import { DISCIPLINES } from '../../../src/simulate/compare.ts';
import { timeline } from '../../../src/simulate/drawing.ts';
import { GENERATORS, manyModels } from '../../../src/simulate/generators.ts';
import type { Arrival, Workload } from '../../../src/simulate/workload.ts';
import { play, regular, SECOND, total, turnsOf, type World } from './play.ts';

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
  test.for(POLICY_NAMES)(
    'has its turn under %s while others are asked for urgently without end',
    (policy, { expect }) => {
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
    },
  );

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

/** Times are kept with fractions. */
const ROUNDING_MS = 1e-6;

describe('every policy', () => {
  const worlds = fc.record({
    models: fc.integer({ min: 2, max: 5 }),
    perSec: fc.double({ min: 0.02, max: 0.1, noNaN: true }),
    serviceMs: fc.integer({ min: 500, max: 3_000 }),
    comeMs: fc.integer({ min: 10, max: 5_000 }),
    goMs: fc.integer({ min: 0, max: 2_000 }),
  });
  const evenly = (models: number, perSec: number): readonly number[] => Array.from({ length: models }, () => perSec);

  test.for(POLICY_NAMES)('%s lets nobody wait for longer than a round beyond max_wait_secs', (policy, { expect }) => {
    fc.assert(
      fc.property(worlds, ({ models, perSec, serviceMs, comeMs, goMs }) => {
        // What is at work when a turn ends, what was granted in it, and the shortest turn there is.
        const roundMs = models * (comeMs + goMs + 3 * serviceMs + 2_500);
        const maxWaitMs = 2 * roundMs;
        // One of them always has something to do.
        const workload = regular([(3 * SECOND) / serviceMs, ...evenly(models - 1, perSec)], serviceMs, 200 * SECOND);
        const outcome = play(policy, { workload, maxWaitMs, servingShare: 0.5, comeMs, goMs });
        expect(outcome.served).toBe([...workload.arrivals].length);
        expect(outcome.waits.maxMs).toBeLessThanOrEqual((policy === 'fifo' ? 0 : maxWaitMs) + roundMs);
      }),
      { numRuns: 8 },
    );
  });

  test.for(POLICY_NAMES)(
    '%s wakes nobody for nothing, and leaves everybody on for min_active_secs',
    (policy, { expect }) => {
      const longer = fc.tuple(worlds, fc.integer({ min: 0, max: 9_000 }));
      fc.assert(
        fc.property(longer, ([{ models, perSec, serviceMs, comeMs, goMs }, minActiveMs]) => {
          const workload = regular(evenly(models, 5 * perSec), serviceMs, 300 * SECOND);
          const outcome = play(policy, { workload, maxWaitMs: 5 * SECOND, comeMs, goMs, minActiveMs });
          for (const [n, { count }] of [...outcome.byModel.values()].entries()) {
            const turns = turnsOf(outcome)[n] ?? [];
            expect(turns.length).toBeLessThanOrEqual(count);
            for (const { fromMs, toMs } of turns)
              expect(toMs - fromMs).toBeGreaterThanOrEqual(minActiveMs - ROUNDING_MS);
          }
        }),
        { numRuns: 15 },
      );
    },
  );

  test.for(POLICY_NAMES)(
    '%s serves no larger part of the time than its longest absence allows',
    (policy, { expect }) => {
      const busy = fc.record({
        models: fc.integer({ min: 2, max: 5 }),
        costMs: fc.integer({ min: 500, max: 4_000 }),
        maxWaitMs: fc.integer({ min: 1_000, max: 8_000 }),
        share: fc.constantFrom(0.3, 0.6, 0.8),
      });
      fc.assert(
        fc.property(busy, ({ models, costMs, maxWaitMs, share }) => {
          const spanMs = 60 * SECOND;
          const workload = regular(evenly(models, 22 / models), 100, spanMs);
          const times = { comeMs: costMs / 2, goMs: costMs / 2 };
          const outcome = play(policy, { workload, maxWaitMs, servingShare: share, places: 2, ...times });
          const turns = turnsOf(outcome);
          // Whole rounds only: what is cut off at the ends is in nobody's absence.
          const [from, to] = [
            turns[0]?.[1]?.fromMs ?? 0,
            turns[0]?.findLast(({ fromMs }) => fromMs <= spanMs)?.fromMs ?? 0,
          ];
          const served = total(
            turns.flat().map((turn) => Math.max(0, Math.min(turn.toMs, to) - Math.max(turn.fromMs, from))),
          );
          const gaps = turns.flatMap((own) => own.slice(1).map(({ fromMs }, n) => fromMs - (own[n]?.toMs ?? 0)));
          const longest = Math.max(...gaps);
          fc.pre(to - from > 4 * longest);
          expect(served / (to - from)).toBeLessThanOrEqual((longest - models * costMs) / (longest - costMs) + 1e-9);
        }),
        { numRuns: 6 },
      );
    },
  );
});
