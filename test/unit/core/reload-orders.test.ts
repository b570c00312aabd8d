import { test } from 'vitest';
import { engineId, millis, modelId, ticketId } from '../../../src/core/kinds.ts';
import type { ModelTerms } from '../../../src/core/terms.ts';
import { fifo } from '../../../src/core/policy/fifo.ts';
import { Stage } from '../../../src/core/stage.ts';

const a = modelId('a');
const RULES = { policy: fifo, drains: true, drainMs: 5_000, minActiveMs: 0, priorityStepMs: 0 };

const withEngines = (count: number, more: Partial<ModelTerms> = {}): ModelTerms => ({
  model: a,
  engines: Array.from({ length: count }, (_, replica) => engineId(a, replica)),
  replicas: 1,
  cost: 1,
  costEach: 1,
  targetInflight: 4,
  maxWaiting: 9,
  patienceMs: 60_000,
  sleepLevel: 5,
  ...more,
});

test('a load that asks for more engines than the config has by now comes with those that it has', ({ expect }) => {
  const stage = new Stage({ ...RULES, models: [withEngines(3)], capacity: 2 });
  stage.handle({ kind: 'models-set', options: { ...RULES, models: [withEngines(2)] }, anew: [a] }, millis(1));
  // Asked by the config before: three would never fit, and the load would wait for ever.
  const asked = { kind: 'load-asked', order: ticketId(1), model: a, as: 'load', fresh: false, replicas: 3 } as const;
  const goals = stage.handle(asked, millis(2)).filter(({ kind }) => kind === 'set-goal');
  expect(goals).toHaveLength(2);
  expect(stage.members.get(a)?.replicas).toBe(2);
});

test('the level that an operator has set stays as long as the config allows it', ({ expect }) => {
  const may = (...naps: readonly (1 | 2)[]) => ({ ...RULES, models: [withEngines(1, { naps })] });
  const stage = new Stage({ ...may(1, 2), capacity: 2 });
  stage.handle({ kind: 'level-set', model: a, level: 2 }, millis(1));
  stage.handle({ kind: 'models-set', options: may(2), anew: [a] }, millis(2));
  expect(stage.members.get(a)?.sleepLevel).toBe(2);
  stage.handle({ kind: 'models-set', options: may(1), anew: [a] }, millis(3));
  expect(stage.members.get(a)?.sleepLevel).toBe(5);
});

test('the level that an operator has set stays when it was what the config said, and the config says another', ({
  expect,
}) => {
  const says = (sleepLevel: 1 | 5) => ({ ...RULES, models: [withEngines(1, { naps: [1], sleepLevel })] });
  const stage = new Stage({ ...says(1), capacity: 2 });
  stage.handle({ kind: 'level-set', model: a, level: 1 }, millis(1));
  stage.handle({ kind: 'models-set', options: says(5), anew: [] }, millis(2));
  expect(stage.members.get(a)?.sleepLevel).toBe(1);
  stage.handle({ kind: 'level-set', model: a, level: null }, millis(3));
  expect(stage.members.get(a)?.sleepLevel).toBe(5);
});
