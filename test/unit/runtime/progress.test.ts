import { test } from 'vitest';
import type { EnginePhase } from '../../../src/core/engine.ts';
import { engineId, millis, modelId } from '../../../src/core/kinds.ts';
import { progressOf } from '../../../src/runtime/progress.ts';
import type { ModelView, StageView } from '../../../src/runtime/view.ts';

const OFF: EnginePhase = { kind: 'off' };
const ASLEEP: EnginePhase = { kind: 'asleep', level: 1, since: millis(0) };
const AWAKE: EnginePhase = { kind: 'awake', since: millis(0) };
const starting = (since: number): EnginePhase => ({ kind: 'starting', since: millis(since), deadline: millis(99_000) });

function model(name: string, part: string, phase: EnginePhase, more: Partial<ModelView> = {}): ModelView {
  const id = modelId(name);
  return {
    model: id,
    part,
    waiting: 1,
    oldestWaitMs: undefined,
    stage: 'default',
    room: 1,
    kept: false,
    waitsForLoads: false,
    loadWaits: false,
    unloadWaits: false,
    held: false,
    replicas: 1,
    override: {},
    stale: false,
    departs: false,
    inFlight: 3,
    frozen: 0,
    sleepLevel: 5,
    levelSet: undefined,
    engines: [{ engine: engineId(id, 0), phase, goal: { kind: 'off' }, pid: undefined, port: undefined }],
    startEstimateMs: undefined,
    ...more,
  };
}

const stage = (...models: ModelView[]): StageView => ({
  now: millis(10_000),
  accepting: true,
  mode: { kind: 'auto' },
  models,
  readyInMs: () => 0,
  stages: [],
  swap: undefined,
});

const cases: [models: ModelView[], says: string][] = [
  [
    [model('alpha', 'draining', AWAKE), model('beta', 'summoned', ASLEEP, { startEstimateMs: 3_600 })],
    'alpha is draining, then beta wakes, about 4 s',
  ],
  [[model('alpha', 'leaving', AWAKE), model('beta', 'summoned', OFF)], 'alpha is being put away, then beta starts'],
  [[model('beta', 'entering', starting(8_000), { startEstimateMs: 5_000 })], 'beta starts, about 3 s'],
  [[model('beta', 'entering', starting(1_000), { startEstimateMs: 5_000 })], 'beta starts, longer than usual'],
  [[model('beta', 'on', AWAKE)], 'beta is at work on 3 requests, 1 wait'],
  [[model('beta', 'leaving', AWAKE)], 'beta is being put away, then it starts again'],
  [[model('alpha', 'entering', starting(1)), model('beta', 'out', OFF)], 'alpha starts, then beta starts'],
  [[model('alpha', 'on', AWAKE), model('beta', 'out', OFF)], 'beta waits for its turn'],
];
test.for(cases)('%#: %s', ([models, says], { expect }) => {
  expect(progressOf(stage(...models), modelId('beta'))).toBe(says);
});

test('the whole wait is told where it is known, and not only its last part', ({ expect }) => {
  const known = { startEstimateMs: 3_600 };
  const waits = stage(model('alpha', 'draining', AWAKE), model('beta', 'summoned', ASLEEP, known));
  expect(progressOf(waits, modelId('beta'), { turnMs: 8_500 })).toBe(
    'alpha is draining, then beta wakes, about 9 s in all',
  );
  const behind = stage(model('alpha', 'on', AWAKE), model('beta', 'out', OFF, known));
  expect(progressOf(behind, modelId('beta'), { turnMs: 8_500 })).toBe('beta waits for its turn, about 9 s in all');
  const never = stage(model('alpha', 'draining', AWAKE), model('beta', 'summoned', ASLEEP));
  expect(progressOf(never, modelId('beta'), { turnMs: 8_500 })).toBe('alpha is draining, then beta wakes');
});

test('a model that somebody may not know of has no name for him', ({ expect }) => {
  const knows = (other: string): boolean => other === 'beta';
  const parts: [ModelView, string][] = [
    [model('alpha', 'draining', AWAKE), 'another model is draining, then beta wakes'],
    [model('alpha', 'leaving', AWAKE), 'another model is being put away, then beta wakes'],
    [
      model('alpha', 'entering', starting(9_000), { startEstimateMs: 3_000 }),
      'another model starts, about 2 s, then beta wakes',
    ],
  ];
  for (const [alpha, says] of parts) {
    expect(progressOf(stage(alpha, model('beta', 'summoned', ASLEEP)), modelId('beta'), { knows })).toBe(says);
  }
});
