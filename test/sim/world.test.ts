import { describe, test } from 'vitest';
import { POLICY_NAMES } from '../../src/core/policy/index.ts';
import { readCorpus } from './seeds.ts';
import { explain, firstFailure, tryWorld } from './trial.ts';
import { runWorld } from './world.ts';

const ROW = 1_000;
/** For each further kind of world. */
const SOME = 250;

describe('every promise holds in every world', () => {
  for (const from of [0, ROW, 2 * ROW, 3 * ROW]) {
    test(`seeds ${from} to ${from + ROW - 1}`, ({ expect }) => {
      const failure = firstFailure(from, ROW);
      expect(failure, failure && explain(failure)).toBeUndefined();
    });
  }
});

describe('every promise holds under every policy, whoever is urgent', () => {
  for (const policy of POLICY_NAMES) {
    test(`under ${policy}`, ({ expect }) => {
      const failure = firstFailure(0, SOME, { policy, urgency: true }) ?? firstFailure(ROW, SOME, { policy });
      expect(failure, failure && explain(failure)).toBeUndefined();
    });
  }
});

describe('every promise holds where requests say how long they wait', () => {
  test.for([{}, { policy: 'slack', extras: true, overlap: true } as const])('%o', (more, { expect }) => {
    const failure = firstFailure(0, SOME, { deadlines: true, ...more });
    expect(failure, failure && explain(failure)).toBeUndefined();
  });
});

describe('every promise holds where sleepers lose what they are to be woken from', () => {
  test.for([{}, { policy: 'cost_aware', extras: true, overlap: true }, { handovers: true, reloads: true }] as const)(
    '%o',
    (more, { expect }) => {
      const failure = firstFailure(0, SOME, { losses: true, ...more });
      expect(failure, failure && explain(failure)).toBeUndefined();
    },
  );
});

describe('every promise holds with what the config may switch on besides', () => {
  for (const policy of POLICY_NAMES) {
    test(`under ${policy}`, ({ expect }) => {
      const failure =
        firstFailure(0, SOME, { policy, extras: true }) ??
        firstFailure(ROW, SOME, { policy, urgency: true, extras: true });
      expect(failure, failure && explain(failure)).toBeUndefined();
    });
  }
});

describe('every promise holds while the config is read again and again', () => {
  for (const policy of POLICY_NAMES) {
    test(`under ${policy}`, ({ expect }) => {
      const failure =
        firstFailure(0, SOME, { policy, reloads: true }) ??
        firstFailure(ROW, SOME, { policy, reloads: true, extras: true }) ??
        firstFailure(2 * ROW, SOME, { policy, reloads: true, extras: true, urgency: true });
      expect(failure, failure && explain(failure)).toBeUndefined();
    });
  }
});

describe('every promise holds where models are put away with requests in flight', () => {
  test.for([{}, { extras: true }, { reloads: true }])('%o', (more, { expect }) => {
    const failure = firstFailure(0, SOME, { policy: 'slack', freezes: true, ...more });
    expect(failure, failure && explain(failure)).toBeUndefined();
  });
});

describe('every promise holds where models come in while others still leave', () => {
  for (const policy of POLICY_NAMES) {
    test(`under ${policy}`, ({ expect }) => {
      const failure =
        firstFailure(0, SOME, { policy, overlap: true }) ??
        firstFailure(ROW, SOME, { policy, urgency: true, extras: true, overlap: true });
      expect(failure, failure && explain(failure)).toBeUndefined();
    });
  }
});

describe('every promise holds while others take the engines over', () => {
  test.for([{}, { policy: 'slack', extras: true, reloads: true, freezes: true } as const])('%o', (more, { expect }) => {
    const failure = firstFailure(0, SOME, { handovers: true, ...more });
    expect(failure, failure && explain(failure)).toBeUndefined();
  });
});

describe('what once went wrong does not go wrong again', () => {
  for (const { seed, why, ...kind } of readCorpus()) {
    test(`seed ${seed}: ${why}`, ({ expect }) => {
      const failure = tryWorld(seed, kind);
      expect(failure, failure && explain(failure)).toBeUndefined();
    });
  }
});

test('the same seed tells the same story', ({ expect }) => {
  const tell = (seed: number): readonly string[] => {
    const lines: string[] = [];
    runWorld(seed, { say: (line) => lines.push(line) });
    return lines;
  };
  for (let seed = 0; seed < 20; seed++) expect(tell(seed)).toEqual(tell(seed));
  expect(tell(1)).not.toEqual(tell(2));
});

test('the worlds are unkind: every kind of trouble and every way to end comes up', ({ expect }) => {
  const moves = new Set<string>();
  const ends = new Set<string>();
  for (let seed = 0; seed < 300; seed++) {
    const say = (line: string): void => {
      const move = / (\S+ -> \S+) \((?:command|process|time|goal|unresponsive)/.exec(line)?.[1];
      if (move !== undefined) moves.add(move);
    };
    for (const end of runWorld(seed, { say }).ends.keys()) ends.add(end);
  }
  expect([...ends].sort()).toEqual([
    'drained',
    'engine_died',
    'engine_failed',
    'lane_full',
    'left',
    'loaded',
    'manual_mode',
    'model_disabled',
    'model_failed',
    'model_loading',
    'model_not_loaded',
    'model_unloading',
    'served',
    'shutting_down',
    'unloaded',
    'wait_timeout',
  ]);
  const failing = ['starting', 'awake', 'falling-asleep', 'asleep', 'waking'].map((phase) => `${phase} -> reaping`);
  const stopping = ['starting', 'awake', 'falling-asleep', 'asleep', 'waking'].map((phase) => `${phase} -> stopping`);
  const stuck = ['stopping -> stuck', 'reaping -> stuck', 'stuck -> stopping', 'stuck -> reaping'];
  expect([...moves]).toEqual(expect.arrayContaining([...failing, ...stopping, ...stuck, 'failed -> starting']));
});
