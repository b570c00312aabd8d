import { describe, test } from 'vitest';
import { atLeast, carefully, Costs, isLeg, learned } from '../../../src/core/costs.ts';
import type { EnginePhase } from '../../../src/core/engine.ts';
import { millis } from '../../../src/core/kinds.ts';

const at = millis(0);
const awake: EnginePhase = { kind: 'awake', since: at };
const starting: EnginePhase = { kind: 'starting', since: at, deadline: at };
const stopping: EnginePhase = { kind: 'stopping', since: at, deadline: at };
const waking: EnginePhase = { kind: 'waking', level: 1, since: at, deadline: at };
const asleep: EnginePhase = { kind: 'asleep', level: 1, since: at };
const took = (actMs: number) => ({ actMs, proofMs: 5 });

describe('what is learned of a time', () => {
  test('the first counts as it is, later ones move it', ({ expect }) => {
    const first = learned(undefined, 1_000);
    expect(first).toEqual({ ms: 1_000, spreadMs: 0, samples: 1 });
    expect(learned(first, 2_000)).toEqual({ ms: 1_300, spreadMs: 300, samples: 2 });
  });

  test('one that varies is expected to take longer, one that does not is not', ({ expect }) => {
    const after = (times: readonly number[]): number => {
      const estimate = times.reduce<ReturnType<typeof learned> | undefined>(learned, undefined);
      return estimate === undefined ? 0 : carefully(estimate);
    };
    expect(after(Array.from({ length: 50 }, () => 1_000))).toBe(1_000);
    expect(after(Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? 500 : 1_500)))).toBeGreaterThan(1_500);
  });
});

describe('what a time hardly ever undercuts', () => {
  test('is half of what was seen once, more of what was seen often, and nothing of what never was', ({ expect }) => {
    const often = Array.from({ length: 50 }, () => 1_000).reduce(learned, learned(undefined, 1_000));
    expect(atLeast(learned(undefined, 1_000))).toBe(500);
    expect(atLeast(often)).toBeGreaterThan(980);
    expect(atLeast(undefined)).toBe(0);
  });

  test('is below what varies, and never below nothing', ({ expect }) => {
    const varied = [1_000, 3_000, 1_000, 3_000, 1_000].reduce(learned, learned(undefined, 2_000));
    expect(atLeast(varied)).toBeLessThan(1_000);
    expect(atLeast({ ms: 100, spreadMs: 90, samples: 9 })).toBe(0);
  });
});

describe('the costs of a model', () => {
  test('are kept apart by leg and level', ({ expect }) => {
    const costs = new Costs();
    costs.moved(starting, awake, took(9_000), false);
    costs.moved(waking, awake, took(700), false);
    costs.moved({ ...waking, kind: 'falling-asleep' }, asleep, took(300), true);
    costs.moved(stopping, { kind: 'off' }, took(100), true);
    expect([costs.comeMs(5), costs.comeMs(1), costs.goMs(1), costs.goMs(5)]).toEqual([9_005, 705, 305, 105]);
    expect(costs.come(2)).toBeUndefined();
  });

  test('are not learned from ending what did not serve', ({ expect }) => {
    const costs = new Costs();
    costs.moved(stopping, { kind: 'off' }, took(1), false);
    expect(costs.save()).toEqual({});
  });

  test('are there again after a restart', ({ expect }) => {
    const costs = new Costs();
    costs.moved(starting, awake, took(9_000), false);
    costs.drained(400);
    expect(new Costs(costs.save()).save()).toEqual(costs.save());
    expect(new Costs(costs.save()).drainMs).toBe(400);
  });

  test('have legs that can be told from other words', ({ expect }) => {
    expect(['drain', 'go:1', 'come:hybrid', 'come:5'].map(isLeg)).toEqual([true, true, true, true]);
    expect(['go', 'come:6', 'go:1:2', 'drain:1', 'constructor'].map(isLeg)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});
