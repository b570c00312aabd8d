import { test } from 'vitest';
import { median, medianInterval, quantile } from '../../../scripts/bench/statistics.ts';

test('a quantile is read between the two nearest samples, in whatever order they come', ({ expect }) => {
  expect(median([30, 10, 20])).toBe(20);
  expect(median([40, 10, 20, 30])).toBe(25);
  expect(quantile([100, 0], 0.99)).toBe(99);
  expect(quantile([7], 0.95)).toBe(7);
  expect(quantile([3, 1, 2], 0)).toBe(1);
  expect(quantile([3, 1, 2], 1)).toBe(3);
});

test('no samples have no median', ({ expect }) => {
  expect(() => median([])).toThrow('no samples');
  expect(() => medianInterval([])).toThrow('no samples');
});

test('the interval of a median goes by ranks: the tables have 40 to 61 for 100 samples', ({ expect }) => {
  const samples = Array.from({ length: 100 }, (_, index) => index + 1).toReversed();
  expect(medianInterval(samples)).toEqual([40, 61]);
});

test('the interval of a median is as little moved by an outlier as the median is', ({ expect }) => {
  const samples = Array.from({ length: 100 }, (_, index) => index + 1);
  const withOutlier = [...samples.slice(0, -1), 1_000_000];
  expect(medianInterval(withOutlier)).toEqual(medianInterval(samples));
});

test('few samples give the whole range', ({ expect }) => {
  expect(medianInterval([5, 9])).toEqual([5, 9]);
});
