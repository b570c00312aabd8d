import { describe, test } from 'vitest';
import type { SleepLevel } from '../../../src/core/kinds.ts';
import type { Identity, Verdict } from '../../../src/ports/verdicts.ts';
import { levelsIn, notTried, asked } from '../../../src/validate/levels.ts';
import { holds, newest, obeyed, verdictsOf } from '../../../src/validate/verdicts.ts';

const identity: Identity = { backend: 'vllm_serve', settings: 's', program: 'p', version: '0.29.0', driver: '580' };
const at = new Date('2026-11-20T12:00:00Z');
const verdict = (more: Partial<Verdict> = {}): Verdict => ({
  model: 'alpha',
  level: 1,
  passed: false,
  reason: 'its answer is empty',
  at,
  identity,
  ...more,
});

describe('a verdict holds', () => {
  test.for<[string, Partial<Identity>, string]>([
    ['while all is as it was', {}, 'yes'],
    ['not with other settings', { settings: 't' }, 'no'],
    ['not for another backend', { backend: 'command' }, 'no'],
    ['not with another driver', { driver: '590' }, 'no'],
    ['not once there is no GPU', { driver: undefined }, 'no'],
    ['with a driver that cannot be asked', { driver: 'unknown' }, 'yes'],
    ['for another program only if it is the same version', { program: 'q' }, 'ask'],
  ])('%s', ([, change, expected], { expect }) => {
    expect(holds(verdict(), { ...identity, ...change })).toBe(expected);
  });

  test('where nothing stands for the engine but its version, only for that version', ({ expect }) => {
    const old = verdict({ identity: { ...identity, program: undefined } });
    expect(holds(old, { ...identity, program: undefined })).toBe('ask');
  });

  test('never for another program whose version nobody knew', ({ expect }) => {
    const old = verdict({ identity: { ...identity, version: undefined } });
    expect(holds(old, { ...identity, program: 'q' })).toBe('no');
  });

  test('until a newer one on the same level', ({ expect }) => {
    const better = verdict({ passed: true, at: new Date('2026-11-21T12:00:00Z') });
    expect(newest([better, verdict(), verdict({ level: 5 })])).toEqual([better, verdict({ level: 5 })]);
  });
});

test('only what a level did itself is remembered', ({ expect }) => {
  const base = { reasons: ['cycle 1: why'], notes: [], observed: undefined };
  const remembered = verdictsOf(
    [
      { ...base, level: 1, outcome: 'failed', fault: 'level' },
      { ...base, level: 2, outcome: 'failed', fault: 'engine' },
      { ...base, level: 3, outcome: 'failed', fault: 'place' },
      { ...base, level: 4, outcome: 'skipped', fault: 'place' },
      { ...base, level: 5, outcome: 'passed', fault: undefined, reasons: [] },
    ],
    'alpha',
    identity,
    at,
  );
  expect(remembered).toEqual([verdict({ reason: 'cycle 1: why' }), verdict({ level: 5, passed: true, reason: '' })]);
});

describe('what is left of the levels', () => {
  const depth: readonly SleepLevel[] = [1, 2, 3, 'hybrid', 4, 5];
  test.for<[SleepLevel, SleepLevel[], SleepLevel[], SleepLevel, SleepLevel[]]>([
    [1, [1, 2, 5], [], 1, [1, 2, 5]],
    [1, [1, 2, 5], [1], 2, [2, 5]],
    [1, [1, 2, 5], [1, 2], 5, [5]],
    [1, [1, 5], [1], 5, [5]],
    [2, [1, 2, 5], [2], 5, [1, 5]],
    [2, [1, 2, 5], [1], 2, [2, 5]],
    [4, [4, 5], [5], 4, [4, 5]],
    [5, [5], [5], 5, [5]],
  ])('%s of %s without %s is %s', ([wanted, allowed, failed, level, left], { expect }) => {
    expect(obeyed({ wanted, allowed }, failed, depth)).toEqual({ wanted: level, allowed: left });
  });
});

describe('which levels are tried', () => {
  const vllm = { backend: 'vllm_serve', works: [1, 2, 4, 5], allowed: [2, 5], sleepsItself: true } as const;
  const llama = { backend: 'llama_server', works: [4, 5], allowed: [4, 5], sleepsItself: false } as const;

  test.for([
    ['1,2, L4', [1, 2, 4]],
    ['4full,hybrid,5,5', ['4full', 'hybrid', 5]],
    ['1,six', { unknown: 'six' }],
    ['', { unknown: '' }],
    ['0', { unknown: '0' }],
  ] as const)('"%s" on the command line', ([text, expected], { expect }) => {
    expect(levelsIn(text)).toEqual(expected);
  });

  test('all that can be had, when nobody names any', ({ expect }) => {
    const tried = (subject: typeof vllm | typeof llama) =>
      asked(undefined)
        .filter((one) => notTried(one, subject) === undefined)
        .map(({ level }) => level);
    expect(tried(vllm)).toEqual([2, 5]);
    expect(tried(llama)).toEqual([4, 5]);
  });

  test('those that are named, also where the settings leave them out', ({ expect }) => {
    expect(asked([1]).map((one) => notTried(one, vllm))).toEqual([undefined]);
    expect(asked([3]).map((one) => notTried(one, vllm))).toEqual(['this version cannot do level 3 for vllm_serve']);
  });
});
