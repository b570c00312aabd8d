import { describe, test } from 'vitest';
import { uncommitted, type PartKind, type Sight, type StageSight } from '../../../src/core/cast.ts';
import { makeRoom } from '../../../src/core/leavers.ts';
import { millis, modelId } from '../../../src/core/kinds.ts';

type Given = { readonly cost?: number; readonly since?: number; readonly busy?: boolean };

const a = (name: string, part: PartKind, { cost = 1, since = 0, busy = false }: Given = {}): Sight => ({
  model: modelId(name),
  part,
  cost,
  waiting: 0,
  first: undefined,
  sinceSum: 0,
  inFlight: busy ? 1 : 0,
  onSince: millis(since),
  served: 0,
  idleSince: undefined,
  leftAt: undefined,
  comeMs: 0,
  comeBackMs: 0,
  goMs: 0,
  drainMs: 0,
  logWork: 0,
  contendedRate: 0,
});

const stage = (capacity: number, ...models: readonly Sight[]): StageSight => ({
  now: millis(0),
  capacity,
  cast: models,
  candidates: [],
  contention: () => ({ cycleMs: 0, logWork: Number.NEGATIVE_INFINITY }),
  minActiveMs: 0,
  drains: true,
  drainMs: 0,
});

describe('room that is neither taken nor promised', () => {
  const parts: readonly (readonly [PartKind, number])[] = [
    ['out', 3],
    ['summoned', 1],
    ['entering', 1],
    ['on', 1],
    ['draining', 3],
    ['leaving', 3],
  ];
  for (const [part, room] of parts) {
    test(`beside one of 2 that is ${part}: ${room} of 3`, ({ expect }) => {
      expect(uncommitted(stage(3, a('a', part, { cost: 2 })))).toBe(room);
    });
  }
});

describe('to make room the stage', () => {
  const rows: readonly (readonly [string, StageSight, number, string | undefined])[] = [
    ['nobody, where it fits', stage(2, a('a', 'on')), 1, ''],
    ['nobody, where somebody is going anyway', stage(1, a('a', 'draining')), 1, ''],
    ['the one who is on', stage(1, a('a', 'on')), 1, 'a'],
    ['nobody yet, while the one in the way is coming', stage(1, a('a', 'entering')), 1, undefined],
    ['the idle one before the busy one', stage(2, a('a', 'on', { busy: true }), a('b', 'on', { since: 9 })), 1, 'b'],
    ['of two idle ones the one that has been on longest', stage(2, a('a', 'on', { since: 5 }), a('b', 'on')), 1, 'b'],
    ['both, for one that takes all', stage(2, a('a', 'on'), a('b', 'on', { since: 5 })), 2, 'a b'],
    [
      'not the light one, when the heavy one has to go in any case',
      stage(3, a('a', 'on'), a('b', 'on', { cost: 2, since: 5 })),
      2,
      'b',
    ],
    ['nobody who takes no room', stage(1, a('r', 'on', { cost: 0 }), a('a', 'on', { since: 5 })), 1, 'a'],
    ['nobody yet, when those who may go are not enough', stage(2, a('a', 'on'), a('b', 'entering')), 2, undefined],
  ];
  for (const [what, sight, cost, expected] of rows) {
    test(`sends off ${what}`, ({ expect }) => {
      const chosen = makeRoom(sight, a('new', 'out', { cost }));
      expect(chosen?.map(({ model }) => model).join(' ')).toBe(expected);
    });
  }
});
