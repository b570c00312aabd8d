import fc from 'fast-check';
import { test } from 'vitest';
import { waitNotToBeKept } from '../../../src/app/feasibility.ts';
import { engineId, modelId } from '../../../src/core/kinds.ts';
import type { ModelTerms } from '../../../src/core/terms.ts';
import { absences, play, regular, SECOND } from '../simulate/play.ts';

const known = (ms: number) => ({ ms, spreadMs: 0, samples: 3 });

const model = (name: string, comeMs?: number, cost = 1): ModelTerms => ({
  model: modelId(name),
  engines: [engineId(modelId(name), 0)],
  replicas: 1,
  cost,
  targetInflight: 1,
  maxWaiting: 1,
  patienceMs: 1,
  sleepLevel: 5,
  costs: comeMs === undefined ? {} : { 'come:5': known(comeMs), 'go:5': known(1_000) },
});

const asked = (
  models: readonly ModelTerms[],
  max_wait_secs: number,
  policy_type: 'fifo' | 'slack' = 'slack',
  capacity = 1,
) => waitNotToBeKept({ models, capacity }, { policy_type, max_wait_secs });

test('a wait that a round of swaps takes longer than is told, with what to change', ({ expect }) => {
  const three = [model('a', 9_000), model('b', 9_000), model('c', 9_000)];
  expect(asked(three, 30)).toMatch(/max_wait_secs is 30, .* 3 models .* about 30 s .* more than 38,/);
  expect(asked(three, 0.1)).toMatch(/max_wait_secs is 0\.1, /);
  expect(asked(three, 31)).toBeUndefined();
  expect(asked(three, 30, 'fifo')).toBeUndefined();
});

test('models that need no swap, or are not known yet, do not count', ({ expect }) => {
  expect(asked([model('a', 9_000), model('b', 9_000), model('c')], 21)).toBeUndefined();
  expect(asked([model('a', 9_000), model('b', 9_000), model('r', 9_000, 0)], 21)).toBeUndefined();
  expect(asked([model('a', 9_000), model('b', 9_000)], 1, 'slack', 2)).toBeUndefined();
});

test('what is told cannot be kept, and what is not told is kept as long as there is time to serve', ({ expect }) => {
  const worlds = fc.record({
    models: fc.integer({ min: 2, max: 5 }),
    comeMs: fc.integer({ min: 500, max: 9_000 }),
    waitsFor: fc.double({ min: 0.3, max: 3, noNaN: true }),
  });
  fc.assert(
    fc.property(worlds, ({ models, comeMs, waitsFor }) => {
      const roundMs = models * (comeMs + 1_000);
      const maxWaitSecs = Math.max(1, Math.round((waitsFor * roundMs) / SECOND));
      const names = Array.from({ length: models }, (_, n) => model(`m${n}`, comeMs));
      const isTold = asked(names, maxWaitSecs) !== undefined;
      // Somebody always wants each of them, and nobody takes long.
      const rates = names.map(() => 2);
      const workload = regular(rates, 50, 300 * SECOND);
      const world = { workload, maxWaitMs: maxWaitSecs * SECOND, servingShare: 0, holds: false, comeMs, goMs: 1_000 };
      const away = Math.max(...absences(play('slack', world), 300 * SECOND));
      const roundingMs = 50 * models;
      if (isTold) expect(away).toBeGreaterThan(maxWaitSecs * SECOND);
      else expect(away).toBeLessThanOrEqual(maxWaitSecs * SECOND + roundingMs);
    }),
    { numRuns: 12 },
  );
});
