import { test } from 'vitest';
import { Allowance, type AllowanceTerms } from '../../../src/access/allowance.ts';
import { StillClock } from '../../helpers/still-clock.ts';

const open = (terms: Partial<AllowanceTerms>) => {
  const clock = new StillClock();
  const all = { name: 'app', maxInFlight: undefined, perSecond: undefined, burst: undefined, ...terms };
  const allowance = new Allowance(all, clock);
  const take = () => {
    const taken = allowance.take();
    return typeof taken === 'function' ? taken : `${taken.code} ${Math.round(taken.retryAfterMs ?? 0)}`;
  };
  return { allowance, clock, take };
};

test('so many at a time, and each that ends makes room for one, however often it says so', ({ expect }) => {
  const { take } = open({ maxInFlight: 2 });
  const first = take();
  expect([typeof take(), take()]).toEqual(['function', 'concurrency_limit_exceeded 1000']);
  if (typeof first !== 'function') throw new Error('it was refused');
  first();
  first();
  expect([typeof take(), take()]).toEqual(['function', 'concurrency_limit_exceeded 1000']);
});

test('a burst at once, then as many as the rate gives back, told in whole requests', ({ expect }) => {
  const { take, clock, allowance } = open({ perSecond: 0.5, burst: 2 });
  expect([typeof take(), typeof take(), take()]).toEqual(['function', 'function', 'rate_limit_exceeded 2000']);
  clock.ms = 1_500;
  expect(take()).toBe('rate_limit_exceeded 500');
  clock.ms = 2_000;
  expect(typeof take()).toBe('function');
  clock.ms = 1_000_000;
  expect(allowance.headers()).toEqual({
    'x-ratelimit-limit-requests': '2',
    'x-ratelimit-remaining-requests': '2',
    'x-ratelimit-reset-requests': '0s',
  });
  expect(typeof take()).toBe('function');
  expect(allowance.headers()).toMatchObject({
    'x-ratelimit-remaining-requests': '1',
    'x-ratelimit-reset-requests': '2s',
  });
});

test('what is refused for its number does not count against the rate', ({ expect }) => {
  const { take, allowance } = open({ maxInFlight: 1, perSecond: 1, burst: 5 });
  take();
  take();
  expect(allowance.headers()['x-ratelimit-remaining-requests']).toBe('4');
});

test('without limits there is nothing to tell', ({ expect }) => {
  const { take, allowance } = open({});
  expect([typeof take(), allowance.headers()]).toEqual(['function', {}]);
});

test('under other terms what is open and used up counts on', ({ expect }) => {
  const { take, allowance, clock } = open({ maxInFlight: 2, perSecond: 1, burst: 2 });
  const first = take();
  expect([typeof first, typeof take()]).toEqual(['function', 'function']);
  allowance.revise({ name: 'app', maxInFlight: 2, perSecond: 1, burst: 3 });
  expect(take()).toBe('concurrency_limit_exceeded 1000');
  if (typeof first === 'function') first();
  // What the burst has grown by is there, and no more.
  expect([typeof take(), take()]).toEqual(['function', 'concurrency_limit_exceeded 1000']);
  allowance.revise({ name: 'app', maxInFlight: 9, perSecond: 0.5, burst: 1 });
  expect(take()).toBe('rate_limit_exceeded 2000');
  clock.ms = 60_000;
  expect([typeof take(), take()]).toEqual(['function', 'rate_limit_exceeded 2000']);
});
