import { test } from 'vitest';
import { Habits } from '../../../src/core/habits.ts';
import { modelId } from '../../../src/core/kinds.ts';

const [a, b, c] = [modelId('a'), modelId('b'), modelId('c')];

test('what mostly followed is likely to follow, once it was seen a few times', ({ expect }) => {
  const habits = new Habits();
  expect(habits.guess(a, 9)).toBeUndefined();
  habits.followed(a, b, 9);
  habits.followed(a, b, 10);
  expect(habits.guess(a, 9)).toBeUndefined();
  habits.followed(a, b, 11);
  expect([habits.guess(a, 9), habits.guess(a, 23), habits.guess(b, 9)]).toEqual([b, b, undefined]);
});

test('the hour counts for more than the rest of the day where it is known', ({ expect }) => {
  const habits = new Habits();
  for (let n = 0; n < 5; n++) habits.followed(a, b, 9);
  for (let n = 0; n < 9; n++) habits.followed(a, c, 20);
  expect([habits.guess(a, 9), habits.guess(a, 20), habits.guess(a, 3)]).toEqual([b, c, c]);
});

test('where anything may follow nothing is guessed, and what is new outweighs what is old', ({ expect }) => {
  const habits = new Habits();
  const many = Array.from({ length: 40 }, (_, n) => modelId(`m${n}`));
  for (const model of many) habits.followed(a, model, 9);
  expect(habits.guess(a, 9)).toBeUndefined();
  for (let n = 0; n < 20; n++) habits.followed(a, b, 9);
  expect(habits.guess(a, 9)).toBe(b);
});
