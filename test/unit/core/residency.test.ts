import { test } from 'vitest';
import type { EnginePhase } from '../../../src/core/engine.ts';
import { millis, type NapLevel } from '../../../src/core/kinds.ts';
import { RESIDENCIES, residencyOf, type Residency } from '../../../src/core/residency.ts';

const since = millis(0);
const deadline = millis(1);

test('a sleeping engine keeps its weights where its level says', ({ expect }) => {
  const places: Readonly<Record<NapLevel, Residency>> = {
    1: 'host',
    2: 'dropped',
    3: 'suspended',
    4: 'disk',
    hybrid: 'suspended',
  };
  const at = (level: NapLevel) => residencyOf({ kind: 'asleep', level, since });
  expect({ 1: at(1), 2: at(2), 3: at(3), 4: at(4), hybrid: at('hybrid') }).toEqual(places);
  for (const place of Object.values(places)) expect(RESIDENCIES).toHaveProperty(place);
});

test.for<[Residency, EnginePhase]>([
  ['none', { kind: 'off' }],
  ['gpu', { kind: 'starting', since, deadline }],
  ['gpu', { kind: 'awake', since }],
  ['gpu', { kind: 'falling-asleep', level: 1, since, deadline }],
  ['gpu', { kind: 'waking', level: 4, since, deadline }],
  ['gpu', { kind: 'stopping', since, deadline }],
  ['gpu', { kind: 'stuck', failed: undefined, reason: 'pid 7 is still there', retryAt: deadline }],
])('until it is proven gone an engine counts with all it may hold: %s', ([place, phase], { expect }) => {
  expect(residencyOf(phase)).toBe(place);
});
