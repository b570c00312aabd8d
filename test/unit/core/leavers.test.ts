import fc from 'fast-check';
import { describe, test } from 'vitest';
import { isBusy, uncommitted, type Sight } from '../../../src/core/cast.ts';
import { logSum, shareOf } from '../../../src/core/demand.ts';
import { millis, modelId } from '../../../src/core/kinds.ts';
import { makeRoom } from '../../../src/core/leavers.ts';

const plain: Sight = {
  model: modelId('x'),
  part: 'on',
  cost: 1,
  waiting: 0,
  first: undefined,
  sinceSum: 0,
  inFlight: 0,
  onSince: millis(0),
  served: 1,
  idleSince: millis(0),
  leftAt: undefined,
  comeMs: 0,
  comeBackMs: 0,
  goMs: 0,
  drainMs: 0,
  logWork: Number.NEGATIVE_INFINITY,
  contendedRate: 0,
};

const on = (name: string, more: Partial<Sight> = {}): Sight => ({ ...plain, model: modelId(name), ...more });
const asked = (times: number): number => Math.log(times);

function going(capacity: number, cast: readonly Sight[], cost: number): string | undefined {
  return makeRoom({ capacity, cast }, { cost })
    ?.map(({ model }) => model)
    .join(' ');
}

describe('who has to go', () => {
  test('is the one that is quickest to have back', ({ expect }) => {
    const cast = [on('slow', { comeBackMs: 60_000 }), on('quick', { comeBackMs: 2_000, onSince: millis(5) })];
    expect(going(2, cast, 1)).toBe('quick');
  });

  test('is the one that was asked for least lately', ({ expect }) => {
    const cast = [
      on('liked', { comeBackMs: 5_000, logWork: asked(50) }),
      on('forgotten', { comeBackMs: 5_000, logWork: asked(1), onSince: millis(5) }),
    ];
    expect(going(2, cast, 1)).toBe('forgotten');
  });

  test('is slow to have back, when the quick one is asked for all the time', ({ expect }) => {
    const cast = [
      on('slow', { comeBackMs: 20_000, logWork: asked(1) }),
      on('quick', { comeBackMs: 4_000, logWork: asked(90) }),
    ];
    expect(going(2, cast, 1)).toBe('slow');
  });

  test('is never busy as long as others will do', ({ expect }) => {
    const cast = [
      on('busy', { inFlight: 1 }),
      on('one', { comeBackMs: 60_000, logWork: asked(9) }),
      on('two', { comeBackMs: 60_000, logWork: asked(9) }),
    ];
    expect(going(3, cast, 2)).toBe('one two');
  });

  test('is two small ones rather than a large one that costs more to miss', ({ expect }) => {
    const cast = [
      on('large', { cost: 4, comeBackMs: 90_000, logWork: asked(3) }),
      on('small', { cost: 2, comeBackMs: 3_000, logWork: asked(3) }),
      on('tiny', { cost: 2, comeBackMs: 3_000, logWork: asked(3) }),
    ];
    expect(going(8, cast, 4)).toBe('small tiny');
  });
});

const aSight = fc.record({
  cost: fc.integer({ min: 1, max: 6 }),
  busy: fc.boolean(),
  comeBackMs: fc.integer({ min: 0, max: 90_000 }),
  goMs: fc.integer({ min: 0, max: 5_000 }),
  drainMs: fc.integer({ min: 0, max: 5_000 }),
  asked: fc.integer({ min: 0, max: 100 }),
  since: fc.integer({ min: 0, max: 1_000 }),
});

const aCast = (most: number) =>
  fc
    .array(aSight, { minLength: 1, maxLength: most })
    .map((all) =>
      all.map(({ busy, asked: times, since, ...rest }, n) =>
        on(`m${n}`, { ...rest, inFlight: busy ? 1 : 0, logWork: asked(times), onSince: millis(since) }),
      ),
    );

/** What missing these costs, reckoned anew: how many are busy, then what it takes to have them back by how much they are asked for. */
function priceOf(chosen: readonly Sight[], cast: readonly Sight[]): readonly [number, number] {
  const all = cast.reduce((sum, { logWork }) => logSum(sum, logWork), Number.NEGATIVE_INFINITY);
  const price = chosen.reduce((sum, sight) => {
    const ms = 1 + sight.goMs + sight.comeBackMs + (isBusy(sight) ? sight.drainMs : 0);
    return sum + ms * Math.max(0.01, shareOf(sight.logWork, all));
  }, 0);
  return [chosen.filter(isBusy).length, price];
}

/** Every set that is enough, tried one by one. */
function cheapestOfAll(cast: readonly Sight[], missing: number): readonly [number, number] {
  let best: readonly [number, number] = [Infinity, Infinity];
  for (let set = 0; set < 2 ** cast.length; set++) {
    const chosen = cast.filter((_, n) => (set >> n) % 2 === 1);
    if (chosen.reduce((sum, { cost }) => sum + cost, 0) < missing) continue;
    const price = priceOf(chosen, cast);
    if (price[0] < best[0] || (price[0] === best[0] && price[1] < best[1])) best = price;
  }
  return best;
}

const sizeOf = (sights: readonly Sight[]): number => sights.reduce((sum, { cost }) => sum + cost, 0);

describe('of all who could go', () => {
  test('the cheapest set goes', ({ expect }) => {
    const property = fc.property(aCast(9), fc.double({ min: 0.01, max: 1, noNaN: true }), (cast, part) => {
      const capacity = sizeOf(cast);
      const cost = Math.max(1, Math.round(part * capacity));
      const chosen = makeRoom({ capacity, cast }, { cost }) ?? [];
      const [busy, price] = priceOf(chosen, cast);
      const [leastBusy, leastPrice] = cheapestOfAll(cast, cost - uncommitted({ capacity, cast }));
      expect(busy).toBe(leastBusy);
      expect(price).toBeCloseTo(leastPrice, 6);
    });
    fc.assert(property, { numRuns: 300 });
  });

  test('enough go, and nobody who need not, however many there are', ({ expect }) => {
    const property = fc.property(aCast(40), fc.double({ min: 0.01, max: 1, noNaN: true }), (cast, part) => {
      const capacity = sizeOf(cast);
      const cost = Math.max(1, Math.round(part * capacity));
      const chosen = makeRoom({ capacity, cast }, { cost }) ?? [];
      expect(sizeOf(chosen)).toBeGreaterThanOrEqual(cost);
      for (const one of chosen) expect(sizeOf(chosen) - one.cost).toBeLessThan(cost);
    });
    fc.assert(property, { numRuns: 60 });
  });
});
