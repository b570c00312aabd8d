import { describe, test } from 'vitest';
import { millis, modelId } from '../../../src/core/kinds.ts';
import { awakeOne, choose, type Candidate, type Prefer } from '../../../src/proxy/choose.ts';
import type { ModelView, StageView } from '../../../src/runtime/view.ts';

type Seen = { readonly part?: string; readonly inFlight?: number; readonly waiting?: number; readonly off?: boolean };

const NAMES = ['a', 'b', 'c'].map(modelId);

function stage(seen: Readonly<Record<string, Seen>>): StageView {
  const models = NAMES.map((model): ModelView => ({
    model,
    part: seen[model]?.part ?? 'out',
    waiting: seen[model]?.waiting ?? 0,
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
    inFlight: seen[model]?.inFlight ?? 0,
    frozen: 0,
    sleepLevel: 5,
    levelSet: undefined,
    engines: [],
    startEstimateMs: undefined,
  }));
  const rest = { readyInMs: () => 0, stages: [], swap: undefined };
  return { now: millis(0), accepting: true, mode: { kind: 'auto' }, models, ...rest };
}

function candidates(seen: Readonly<Record<string, Seen>>): [Candidate, ...Candidate[]] {
  const [first, ...others] = NAMES.map((model) => ({ model, enabled: seen[model]?.off !== true }));
  if (first === undefined) throw new Error('no candidates');
  return [first, ...others];
}

describe('of several models', () => {
  test.for<[what: string, prefer: Prefer, seen: Readonly<Record<string, Seen>>, chosen: string]>([
    ['the first', 'first', { b: { part: 'on' } }, 'a'],
    ['the first enabled one', 'first', { a: { off: true }, c: { part: 'on' } }, 'b'],
    ['a disabled one when there is no other', 'first', { a: { off: true }, b: { off: true }, c: { off: true } }, 'a'],
    ['the awake one', 'awake', { b: { part: 'entering' }, c: { part: 'on' } }, 'c'],
    ['the first of two awake ones', 'awake', { b: { part: 'on' }, c: { part: 'on' } }, 'b'],
    ['the one that starts', 'awake', { b: { part: 'draining' }, c: { part: 'entering' } }, 'c'],
    ['the one that is next', 'awake', { b: { part: 'draining' }, c: { part: 'summoned' } }, 'c'],
    [
      'the first when the others are on their way out',
      'awake',
      { b: { part: 'draining' }, c: { part: 'leaving' } },
      'a',
    ],
    ['an enabled one before an awake one that is disabled', 'awake', { b: { part: 'on', off: true } }, 'a'],
    ['the awake one however much it has to do', 'least_loaded', { c: { part: 'on', inFlight: 9 } }, 'c'],
    [
      'the awake one with less to do',
      'least_loaded',
      { b: { part: 'on', inFlight: 2 }, c: { part: 'on', inFlight: 1, waiting: 0 } },
      'c',
    ],
    [
      'the awake one with fewer who wait',
      'least_loaded',
      { b: { part: 'on', inFlight: 1, waiting: 3 }, c: { part: 'on', inFlight: 3 } },
      'c',
    ],
    ['the one with less to do when none is awake', 'least_loaded', { a: { waiting: 2 }, b: { waiting: 1 } }, 'c'],
  ])('%s', ([, prefer, seen, chosen], { expect }) => {
    expect(choose(candidates(seen), prefer, () => stage(seen)).model).toBe(chosen);
  });
});

test.for<[seen: Readonly<Record<string, Seen>>, chosen: string | undefined]>([
  [{}, undefined],
  [{ a: { part: 'draining' } }, undefined],
  [{ a: { part: 'summoned' }, b: { part: 'on' } }, 'b'],
  [{ a: { part: 'on', off: true }, b: { part: 'entering' } }, 'b'],
])('awake of all, case %#', ([seen, chosen], { expect }) => {
  expect(awakeOne(candidates(seen), () => stage(seen))?.model).toBe(chosen);
});
