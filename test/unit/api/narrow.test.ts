import { test } from 'vitest';
import { factFor } from '../../../src/api/narrow.ts';
import { controlPlane } from '../../../src/api/plane.ts';
import { systemClock } from '../../../src/adapters/system-clock.ts';
import { Journal } from '../../../src/observe/journal.ts';
import { bearer, BOSS, keysOf, TOKENS } from '../access/scene.ts';
import { EVERY_FACT } from '../observe/every-fact.ts';
import { listen } from './listener.ts';
import { alpha, beta, deps, model, phases, stage } from './scene.ts';

const PATHS = [
  '/v1/admin/models',
  '/v1/admin/gpu-memory',
  '/v1/admin/swaps',
  '/control/status',
  '/control/sleep-levels',
];

test('an operator who may use some models is told of these alone', async ({ expect }) => {
  const swap = { id: 1, to: beta, from: [alpha], sinceMs: 5 };
  const mode = { kind: 'manual', pinned: beta } as const;
  const board = { name: 'default', gpus: [], counts: 'models', capacity: 1, taken: 1, mode, swap };
  const view = () => stage([model(alpha, phases.awake), model(beta, phases.awake)], { mode, swap, stages: [board] });
  const journal = new Journal(100, systemClock());
  const record = { ...EVERY_FACT['swap-finished'].record, to: beta, from: [alpha] };
  journal.report({ kind: 'swap-finished', record });
  journal.report({ kind: 'swap-finished', record: { ...record, to: alpha, from: [beta] } });
  const plane = controlPlane(deps(view, { journal }).deps);
  const headers = bearer(TOKENS.boss);

  await using all = await listen(plane, { keys: keysOf(BOSS) });
  await using some = await listen(plane, { keys: keysOf({ ...BOSS, models: ['alpha'] }) });
  for (const path of PATHS) {
    expect((await all.ask(path, { headers })).body, path).toContain('org/beta');
    const { status, body } = await some.ask(path, { headers });
    expect([status, body.includes('alpha'), body.includes('beta')], path).toEqual([200, true, false]);
  }
});

test('facts of other models and of catnap as a whole are not for him', ({ expect }) => {
  const isHis = (name: string): boolean => name === 'alpha';
  const told = Object.values(EVERY_FACT).flatMap((fact) => factFor(fact, isHis) ?? []);
  expect(told.length).toBeGreaterThan(0);
  expect(told.filter((fact) => !JSON.stringify(fact).includes('alpha'))).toEqual([]);
  expect(told.filter((fact) => JSON.stringify(fact).includes('beta'))).toEqual([]);
  expect(told.map(({ kind }) => kind)).not.toContain('config-reloaded');
  expect(told.map(({ kind }) => kind)).not.toContain('warned');
});
