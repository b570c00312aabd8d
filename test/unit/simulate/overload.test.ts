import fc from 'fast-check';
import { describe, test } from 'vitest';
import { millis } from '../../../src/core/kinds.ts';
import { Random } from '../../../src/simulate/random.ts';
import type { Arrival, Workload } from '../../../src/simulate/workload.ts';
import { absences, awakeMs, play, regular, SECOND, total } from './play.ts';

/** Each turn ends with a drain on top of its part, and those that lie at the ends of what is looked at count as well. */
const SHARE_IS_OFF_BY = 0.12;
const PLACES = 4;

/** A tenth is dealt out evenly, the rest by what is asked for. */
const partOf = (weight: number, weights: readonly number[]): number =>
  0.1 / weights.length + 0.9 * (weight / total(weights));

/** For each model the longest it may be away (docs/scheduling.md): all come once, and the others have their parts of the round. */
function longestAbsences(weights: readonly number[], perSwapMs: number, share: number): readonly number[] {
  const n = weights.length;
  return weights.map((weight) => {
    const part = partOf(weight, weights);
    return n * perSwapMs * (1 + ((1 - part) * share) / (1 - share));
  });
}

/** So many times what the hardware can do, in the proportion of the weights. */
function ratesOf(weights: readonly number[], times: number, serviceMs: number): readonly number[] {
  const sum = total(weights);
  return weights.map((weight) => (times * PLACES * SECOND * weight) / (serviceMs * sum));
}

/** The same at random, with answers as long as those of language models. */
function random(rates: readonly number[], serviceMs: number, spanMs: number, seed: number): Workload {
  const chance = new Random(seed);
  const arrivals = rates.flatMap((rate, n) => {
    const list: Arrival[] = [];
    for (let at = chance.around(SECOND / rate); at < spanMs; at += chance.around(SECOND / rate))
      list.push({ at: millis(at), model: `m${n}`, serviceMs: chance.lognormal(serviceMs) });
    return list;
  });
  return { name: 'random', models: rates.map((_, n) => `m${n}`), arrivals: arrivals.toSorted((a, b) => a.at - b.at) };
}

describe('under slack, when more is wanted than can be done', () => {
  const worlds = (most: number) =>
    fc.record({
      weights: fc.oneof(
        fc.integer({ min: 2, max: most }).map((n) => Array.from({ length: n }, () => 1)),
        fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 2, maxLength: most }),
      ),
      serviceMs: fc.integer({ min: 1_500, max: 4_000 }),
      costMs: fc.integer({ min: 500, max: 8_000 }),
      share: fc.constantFrom(0.5, 0.8),
      times: fc.constantFrom(1.2, 2, 3),
    });

  test('nobody is away for longer than a round takes', ({ expect }) => {
    fc.assert(
      fc.property(worlds(6), ({ weights, serviceMs, costMs, share, times }) => {
        const spanMs = 500 * SECOND;
        const workload = regular(ratesOf(weights, times, serviceMs), serviceMs, spanMs);
        const swap = { comeMs: costMs / 2, goMs: costMs / 2 };
        const outcome = play('slack', { workload, maxWaitMs: SECOND, servingShare: share, places: PLACES, ...swap });
        // No drain takes longer than a request.
        const bounds = longestAbsences(weights, costMs + serviceMs, share);
        for (const [n, absence] of absences(outcome, spanMs).entries())
          expect(absence).toBeLessThanOrEqual(bounds[n] ?? 0);
      }),
      { numRuns: 12 },
    );
  });

  test('nobody is away for longer than a round with the longest drain takes, whenever they come', ({ expect }) => {
    fc.assert(
      fc.property(worlds(6), fc.nat(), ({ weights, serviceMs, costMs, share, times }, seed) => {
        const spanMs = 500 * SECOND;
        const workload = random(ratesOf(weights, times, serviceMs), serviceMs, spanMs, seed);
        const swap = { comeMs: costMs / 2, goMs: costMs / 2 };
        const outcome = play('slack', { workload, maxWaitMs: SECOND, servingShare: share, places: PLACES, ...swap });
        const bounds = longestAbsences(weights, costMs + outcome.longestDrainMs, share);
        for (const [n, absence] of absences(outcome, spanMs).entries())
          expect(absence).toBeLessThanOrEqual(bounds[n] ?? 0);
      }),
      { numRuns: 12 },
    );
  });

  test('many models are away for no longer than a round either', ({ expect }) => {
    const weights = Array.from({ length: 40 }, () => 1);
    const [serviceMs, costMs, spanMs] = [200, 1_000, 1_200 * SECOND];
    const workload = regular(ratesOf(weights, 1.5, serviceMs), serviceMs, spanMs);
    const swap = { comeMs: costMs / 2, goMs: costMs / 2 };
    const outcome = play('slack', { workload, maxWaitMs: SECOND, places: PLACES, ...swap });
    const bounds = longestAbsences(weights, costMs + serviceMs, 0.8);
    expect(Math.max(...absences(outcome, spanMs))).toBeLessThanOrEqual(Math.max(...bounds));
  });

  test('each model gets its share of the time, whatever it is asked for', ({ expect }) => {
    const spanMs = 1_000 * SECOND;
    const one = fc.integer({ min: 1, max: 8 });
    fc.assert(
      fc.property(fc.tuple(one, one, one), fc.integer({ min: 200, max: 4_000 }), (weights, costMs) => {
        const serviceMs = 2_000;
        const workload = regular(ratesOf(weights, 3, serviceMs), serviceMs, spanMs);
        const swap = { comeMs: costMs / 2, goMs: costMs / 2 };
        const outcome = play('slack', { workload, maxWaitMs: 20 * SECOND, places: PLACES, ...swap });
        const awake = awakeMs(outcome, spanMs);
        for (const [n, weight] of weights.entries())
          expect(Math.abs((awake[n] ?? 0) / total(awake) - partOf(weight, weights))).toBeLessThan(SHARE_IS_OFF_BY);
        expect(total(awake) / spanMs).toBeGreaterThan(0.75);
      }),
      { numRuns: 6 },
    );
  });
});
