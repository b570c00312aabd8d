import { describe, test } from 'vitest';
import { readyInMs, residencyOfModel, runtimeState } from '../../../src/api/admin/state.ts';
import type { EnginePhase } from '../../../src/core/engine.ts';
import type { ModelView } from '../../../src/runtime/view.ts';
import { alpha, engine, model, NOW, phases } from './scene.ts';

const replicas = (...both: readonly EnginePhase[]): Partial<ModelView> => ({
  engines: both.map((phase, replica) => engine(alpha, replica, phase)),
});

describe('the five states', () => {
  test.for<[string, ModelView]>([
    ['unloaded', model(alpha, phases.off)],
    ['unloaded', model(alpha, phases.asleep)],
    ['loading', model(alpha, phases.off, { part: 'summoned' })],
    ['loading', model(alpha, phases.starting, { part: 'entering' })],
    ['loading', model(alpha, phases.waking, { part: 'entering' })],
    ['loading', model(alpha, phases.awake, { part: 'entering', ...replicas(phases.awake, phases.starting) })],
    ['loaded', model(alpha, phases.awake)],
    ['loaded', model(alpha, phases.awake, { part: 'on', ...replicas(phases.starting, phases.awake) })],
    ['unloading', model(alpha, phases.awake, { part: 'draining' })],
    ['unloading', model(alpha, phases.fallingAsleep, { part: 'leaving' })],
    ['unloading', model(alpha, phases.stopping)],
    ['failed', model(alpha, phases.failed)],
    ['failed', model(alpha, phases.failed, { part: 'summoned' })],
    ['failed', model(alpha, phases.stuck, { part: 'leaving' })],
  ])('%s', ([state, view], { expect }) => {
    expect(runtimeState(view)).toBe(state);
  });
});

describe('how long until it could serve', () => {
  const startEstimateMs = 2_000;

  test.for<[number | undefined, ModelView]>([
    [0, model(alpha, phases.awake)],
    [undefined, model(alpha, phases.off)],
    [undefined, model(alpha, phases.failed)],
    [2_000, model(alpha, phases.off, { startEstimateMs })],
    [2_000, model(alpha, phases.asleep, { startEstimateMs })],
    [1_000, model(alpha, phases.starting, { startEstimateMs, part: 'entering' })],
    [0, model(alpha, phases.starting, { startEstimateMs: 200, part: 'entering' })],
    [2_000, model(alpha, phases.awake, { startEstimateMs, part: 'draining' })],
    [6_000, model(alpha, phases.failed, { startEstimateMs })],
    [
      1_000,
      model(alpha, phases.off, { startEstimateMs, part: 'entering', ...replicas(phases.waking, phases.starting) }),
    ],
  ])('%s', ([ms, view], { expect }) => {
    expect(readyInMs(view, NOW)).toBe(ms);
  });
});

test('the weights are where the engine holds them that holds the most', ({ expect }) => {
  expect(residencyOfModel(model(alpha, phases.off))).toBe('none');
  expect(residencyOfModel(model(alpha, phases.asleep))).toBe('host');
  expect(residencyOfModel(model(alpha, phases.off, replicas(phases.off, phases.asleep, phases.stopping)))).toBe('gpu');
});
