import { describe, test } from 'vitest';
import type { Candidate, Sight, StageSight } from '../../../src/core/cast.ts';
import { millis, modelId } from '../../../src/core/kinds.ts';
import { POLICIES, type PolicyName } from '../../../src/core/policy/index.ts';
import type { Decision, PolicyTerms } from '../../../src/core/policy/policy.ts';

const SECOND = 1_000;
const NOW = 100 * SECOND;

/** Each takes 2 s to come and 2 s to go. */
const model = (name: string): Sight => ({
  model: modelId(name),
  part: 'out',
  cost: 1,
  waiting: 0,
  first: undefined,
  sinceSum: 0,
  inFlight: 0,
  onSince: millis(0),
  served: 0,
  idleSince: undefined,
  leftAt: undefined,
  comeMs: 2 * SECOND,
  comeBackMs: 2 * SECOND,
  goMs: 2 * SECOND,
  drainMs: 0,
  logWork: 0,
  contendedRate: 0,
});

const busyFor = (secs: number, more: Partial<Sight> = {}): Sight => ({
  ...model('a'),
  part: 'on',
  inFlight: 1,
  onSince: millis(NOW - secs * SECOND),
  served: 1,
  ...more,
});

const idleFor = (secs: number, more: Partial<Sight> = {}): Sight =>
  busyFor(50, { inFlight: 0, idleSince: millis(NOW - secs * SECOND), ...more });

const waits = (name: string, secs: number, waiting = 1): Candidate => {
  const since = millis(NOW - secs * SECOND);
  return { ...model(name), waiting, first: { rank: since, seq: 0, since }, sinceSum: waiting * since };
};

const TERMS: PolicyTerms = {
  maxWaitMs: 30 * SECOND,
  coalesceMs: 2 * SECOND,
  amortization: 0.5,
  tickMs: 700,
  quantumMs: 5 * SECOND,
  servingShare: 0.8,
  holds: true,
};

function ask(policy: PolicyName, on: Sight, candidates: readonly Candidate[], more: Partial<StageSight> = {}): string {
  const sight: StageSight = {
    now: millis(NOW),
    capacity: 1,
    cast: [on],
    candidates,
    contention: () => ({ cycleMs: 4 * SECOND * candidates.length, logWork: Math.log(candidates.length) }),
    minActiveMs: 0,
    drains: true,
    drainMs: 600 * SECOND,
    ...more,
  };
  return said(POLICIES[policy](TERMS)(sight));
}

function said(decision: Decision): string {
  if (decision.kind === 'look-again') return `in ${Math.round((decision.at - NOW) / 100) / 10} s`;
  return decision.kind === 'stay' ? 'stay' : `${decision.evict.join(' ')} -> ${decision.to}`;
}

type Row = readonly [what: string, policy: PolicyName, on: Sight, candidates: readonly Candidate[], says: string];

const ROWS: readonly Row[] = [
  ['nobody waits for another', 'slack', busyFor(1), [], 'stay'],
  ['nobody waits for another', 'cost_aware', busyFor(1), [], 'stay'],
  ['nobody waits for another', 'time_slice', busyFor(1), [], 'stay'],

  // 4 s of swap: it has to begin 26 s after the request came.
  ['there is time left', 'slack', busyFor(60), [waits('b', 10)], 'in 16 s'],
  ['there is no time left', 'slack', busyFor(60), [waits('b', 26)], 'a -> b'],
  ['two wait, and the second needs a swap as well', 'slack', busyFor(60), [waits('b', 10), waits('c', 10)], 'in 12 s'],
  // Half of a round of two swaps of 4 s each: 0.5 * 0.8 / 0.2 * 8 s.
  ['it is late, and the busy one has not had its part', 'slack', busyFor(3), [waits('b', 29)], 'in 13 s'],
  ['it is late, and the busy one has had its part', 'slack', busyFor(16), [waits('b', 29)], 'a -> b'],
  ['the one that is on is idle', 'slack', idleFor(1), [waits('b', 0)], 'a -> b'],
  ['it is idle, and many wait for the second', 'slack', idleFor(1), [waits('b', 2), waits('c', 1, 5)], 'a -> c'],
  ['it is idle, and the first is late', 'slack', idleFor(1), [waits('b', 29), waits('c', 1, 5)], 'a -> b'],
  // 0.1 requests a second, 8 s there and back: 3.2 request-seconds against those of the one who waits.
  ['its next request is expected', 'slack', idleFor(1, { contendedRate: 1e-4 }), [waits('b', 0)], 'in 3.2 s'],
  [
    'its next request is expected, enough has been waited',
    'slack',
    idleFor(1, { contendedRate: 1e-4 }),
    [waits('b', 4)],
    'a -> b',
  ],

  ['it has not served for as long as a swap takes', 'cost_aware', busyFor(1), [waits('b', 0, 9)], 'in 3 s'],
  ['it has, and enough wait', 'cost_aware', busyFor(5), [waits('b', 0, 2)], 'a -> b'],
  ['it has, and one waits for company', 'cost_aware', busyFor(5), [waits('b', 0.5)], 'in 1.5 s'],
  ['somebody has waited for too long', 'cost_aware', busyFor(1), [waits('b', 30)], 'a -> b'],

  ['the one that is on is busy', 'time_slice', busyFor(20), [waits('b', 10)], 'in 20 s'],
  ['somebody has waited for too long', 'time_slice', busyFor(20), [waits('b', 30)], 'a -> b'],
  ['somebody has waited for too long in the first quantum', 'time_slice', busyFor(2), [waits('b', 30)], 'in 3 s'],
  ['the one that is on is idle', 'time_slice', idleFor(1), [waits('b', 1), waits('c', 1, 3)], 'a -> c'],
  ['it has just become idle', 'time_slice', idleFor(0.1), [waits('b', 1)], 'in 0.1 s'],
];

describe('a policy decides', () => {
  for (const [what, policy, on, candidates, says] of ROWS) {
    test(`${policy}, when ${what}: ${says}`, ({ expect }) => {
      expect(ask(policy, on, candidates)).toBe(says);
    });
  }

  test.for(Object.keys(POLICIES) as PolicyName[])('%s keeps to min_active_secs', (policy, { expect }) => {
    const minActiveMs = 90 * SECOND;
    expect(ask(policy, busyFor(80), [waits('b', 70)], { minActiveMs })).toBe('in 10 s');
    expect(ask(policy, busyFor(90), [waits('b', 70)], { minActiveMs })).toBe('a -> b');
  });

  test.for(Object.keys(POLICIES) as PolicyName[])('%s lets in whoever fits', (policy, { expect }) => {
    expect(ask(policy, busyFor(1), [waits('b', 0)], { capacity: 2 })).toBe(' -> b');
  });

  test.for(Object.keys(POLICIES) as PolicyName[])('%s waits for those who are coming', (policy, { expect }) => {
    expect(ask(policy, { ...model('a'), part: 'entering' }, [waits('b', 99)])).toBe('stay');
  });
});
