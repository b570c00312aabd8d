import { describe, test } from 'vitest';
import { Commons } from '../../../src/core/commons.ts';
import { modelId } from '../../../src/core/kinds.ts';

const [a, b, c, d] = [modelId('a'), modelId('b'), modelId('c'), modelId('d')];

describe('places among loads', () => {
  test('are taken in the order in which they were asked for', ({ expect }) => {
    const commons = new Commons(2);
    for (const model of [a, b]) {
      expect(commons.mayLoad(model)).toBe(true);
      commons.load(model);
    }
    expect([commons.mayLoad(c), commons.mayLoad(d), commons.mayLoad(c)]).toEqual([false, false, false]);
    expect(commons.over(a)).toBe(true);
    expect([commons.mayLoad(d), commons.mayLoad(c)]).toEqual([false, true]);
    expect([commons.waits(c), commons.waits(a)]).toEqual([true, false]);
  });

  test('are given up by those who are wanted no more', ({ expect }) => {
    const commons = new Commons(1);
    commons.mayLoad(a);
    commons.load(a);
    commons.mayLoad(b);
    commons.mayLoad(c);
    expect(commons.over(b)).toBe(true);
    expect(commons.over(b)).toBe(false);
    expect(commons.over(a)).toBe(true);
    expect(commons.mayLoad(c)).toBe(true);
  });

  test('are taken by who died in its turn, even beyond the bound', ({ expect }) => {
    const commons = new Commons(1);
    commons.mayLoad(a);
    commons.load(a);
    commons.load(b);
    commons.mayLoad(c);
    commons.over(a);
    expect(commons.mayLoad(c)).toBe(false);
    commons.over(b);
    expect(commons.mayLoad(c)).toBe(true);
  });

  test('have no bound where none is set', ({ expect }) => {
    const commons = new Commons();
    for (const model of [a, b, c, d]) {
      expect(commons.mayLoad(model)).toBe(true);
      commons.load(model);
    }
    expect(commons.over(a)).toBe(false);
  });

  test('another bound holds from then on, for those in line as well', ({ expect }) => {
    const commons = new Commons(1);
    for (const model of [a, b, c]) commons.mayLoad(model);
    commons.load(a);
    commons.allow(2);
    expect([commons.mayLoad(b), commons.mayLoad(c)]).toEqual([true, false]);
    commons.load(b);
    commons.allow(1);
    commons.over(a);
    expect(commons.mayLoad(c)).toBe(false);
    commons.allow();
    expect(commons.mayLoad(c)).toBe(true);
  });

  test('swaps are numbered across all stages', ({ expect }) => {
    const commons = new Commons();
    expect([commons.nextSwap(), commons.nextSwap()]).toEqual([1, 2]);
  });
});
