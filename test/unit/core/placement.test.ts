import fc from 'fast-check';
import { describe, test } from 'vitest';
import { place, type Ground, type Piece } from '../../../src/core/placement.ts';

const ground = (name: string, capacity: number, gpus?: number): Ground => ({ name, capacity, gpus });
const piece = (model: string, need: number | 'all', more: Partial<Piece> = {}): Piece => ({
  model,
  stage: undefined,
  keep: false,
  span: 1,
  need: () => need,
  ...more,
});

const placed = (pieces: readonly Piece[], grounds: readonly Ground[]): string =>
  [...place(pieces, grounds).placed].map(([model, stage]) => `${model}:${stage}`).join(' ');

describe('a model is placed', () => {
  test('where it says', ({ expect }) => {
    expect(placed([piece('a', 5, { stage: 'small' })], [ground('big', 100), ground('small', 10)])).toBe('a:small');
  });

  test('where it leaves the least room, the largest first', ({ expect }) => {
    const grounds = [ground('big', 24), ground('small', 10)];
    expect(placed([piece('tiny', 2), piece('mid', 8), piece('large', 20)], grounds)).toBe(
      'large:big mid:small tiny:small',
    );
  });

  test('where the crowd is smallest, once not all fit together', ({ expect }) => {
    const grounds = [ground('one', 10), ground('two', 10)];
    expect(placed([piece('a', 9), piece('b', 9), piece('c', 9), piece('d', 9)], grounds)).toBe(
      'a:one b:two c:one d:two',
    );
  });

  test('on a stage with as many GPUs as it works on', ({ expect }) => {
    expect(placed([piece('tp', 30, { span: 2 })], [ground('one', 80, 1), ground('two', 60, 2)])).toBe('tp:two');
  });

  test('beside those that are kept, which come first', ({ expect }) => {
    const grounds = [ground('one', 10), ground('two', 12)];
    expect(placed([piece('big', 10), piece('embed', 1, { keep: true })], grounds)).toBe('embed:one big:two');
  });

  test('nowhere, when no stage has what it takes', ({ expect }) => {
    const { misfits } = place(
      [piece('huge', 50), piece('embed', 4, { keep: true, stage: 'one' })],
      [ground('one', 10), ground('two', 12)],
    );
    expect(misfits).toEqual([
      {
        model: 'huge',
        span: 1,
        tried: [
          { stage: 'one', need: 50, room: 6, gpus: undefined },
          { stage: 'two', need: 50, room: 12, gpus: undefined },
        ],
      },
    ]);
  });

  test('so that it can be awake there, whatever the rest is, and the same every time', ({ expect }) => {
    const aPiece = fc.record({ need: fc.integer({ min: 0, max: 30 }), keep: fc.boolean() });
    const property = fc.property(
      fc.array(aPiece, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
      (wanted, capacities) => {
        const pieces = wanted.map(({ need, keep }, n) => piece(`m${n}`, need, { keep }));
        const grounds = capacities.map((capacity, n) => ground(`s${n}`, capacity));
        const { placed: where, misfits } = place(pieces, grounds);
        expect(where.size + misfits.length).toBe(pieces.length);
        for (const { name, capacity } of grounds) {
          const own = pieces.filter(({ model }) => where.get(model) === name);
          const sizes = (keep: boolean): number[] =>
            own.filter((one) => one.keep === keep).map((one) => Number(wanted[Number(one.model.slice(1))]?.need));
          const kept = sizes(true).reduce((sum, size) => sum + size, 0);
          expect(kept).toBeLessThanOrEqual(capacity);
          for (const size of sizes(false)) expect(size + kept).toBeLessThanOrEqual(capacity);
        }
        expect([...place(pieces, grounds).placed]).toEqual([...where]);
      },
    );
    fc.assert(property, { numRuns: 200 });
  });
});
