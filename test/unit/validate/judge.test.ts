import { describe, test } from 'vitest';
import { judge, notBack, stillHeld, yardstickOf } from '../../../src/validate/judge.ts';
import type { Cycle, GpuHeld, Held, Observed } from '../../../src/validate/observed.ts';

const MIB = 1_048_576;

const process = (mib: number, privateMib = mib) => ({ count: 1, bytes: mib * MIB, privateBytes: privateMib * MIB });
const nobody = { count: 0, bytes: 0, privateBytes: 0 };
const blind: GpuHeld = { kind: 'unseen', why: 'nvidia-smi was not found' };
const onGpu = (mib: number): Held => ({
  gpu: { kind: 'own', mib, processes: 1, byGpu: { a: mib } },
  processes: process(2_000),
});
const onDevices = (mib: number): Held => ({
  gpu: { kind: 'devices', mib, byGpu: { a: mib } },
  processes: process(2_000),
});
const inMain = (mib: number, privateMib = mib): Held => ({ gpu: blind, processes: process(mib, privateMib) });
const gone: Held = { gpu: blind, processes: nobody };
const bare: Held = { gpu: blind, processes: nobody };

const done = { actMs: 300, proofMs: 100 };
const good: Cycle = {
  before: onGpu(14_700),
  pidBefore: 41,
  sleep: done,
  asleep: onGpu(700),
  wake: done,
  pidAfter: 41,
  answer: { kind: 'match' },
  answerMs: 50,
  stream: undefined,
  awake: onGpu(14_700),
};
const onDisk: Cycle = { ...good, before: inMain(500), asleep: gone, awake: inMain(500) };

const seen = (level: Observed['level'], ...cycles: Cycle[]): Observed => ({
  level,
  startMs: 1_000,
  tokens: 64,
  cycles,
  cyclesWanted: cycles.length,
});
const faults = (level: Observed['level'], ...cycles: Cycle[]) => judge(seen(level, ...cycles)).reasons;

describe('a level passes', () => {
  test.for<[string, Observed['level'], Cycle]>([
    ['1, with its context still on the GPU', 1, good],
    ['2', 2, good],
    ['3, with nothing left there', 3, { ...good, asleep: onGpu(0) }],
    ['4, once its processes are gone', 4, onDisk],
    ['4full', '4full', onDisk],
    ['5, in another process', 5, { ...onDisk, pidAfter: 77 }],
    [
      '5, on a GPU',
      5,
      { ...good, asleep: { gpu: { kind: 'devices', mib: 0, byGpu: { a: 0 } }, processes: nobody }, pidAfter: 77 },
    ],
    ['memory a little off', 1, { ...good, awake: onGpu(14_300) }],
    [
      'where the driver names no process of ours',
      2,
      { ...good, before: onDevices(9_000), asleep: onDevices(900), awake: onDevices(9_000) },
    ],
    ['other pages of files than before', 4, { ...onDisk, before: inMain(900, 100), awake: inMain(300, 100) }],
    ['no process of its own', 1, { ...good, before: bare, asleep: bare, awake: bare }],
  ])('%s', ([, level, cycle], { expect }) => {
    expect(judge(seen(level, cycle, cycle))).toMatchObject({ outcome: 'passed', fault: undefined, reasons: [] });
  });
});

describe('a level fails', () => {
  test.for<[string, Observed['level'], Partial<Cycle>, RegExp]>([
    [
      'answer changed',
      1,
      { answer: { kind: 'differs', how: '"a" became "!"' } },
      /^it answers differently: "a" became "!"$/,
    ],
    ['answer empty', 2, { answer: { kind: 'empty' } }, /^its answer is empty$/],
    [
      'no answer',
      2,
      { answer: { kind: 'none', why: 'nothing within 60 s' } },
      /^it does not answer: nothing within 60 s$/,
    ],
    ['stream broken', 1, { stream: 'a stream broke off before its end' }, /^a stream broke off before its end$/],
    [
      'memory not freed',
      1,
      { asleep: onGpu(14_700) },
      /^its processes still hold 14700 of 14700 MiB of GPU memory; at least 9215 MiB were to be free$/,
    ],
    [
      'only some freed where all is promised',
      3,
      { asleep: onGpu(800) },
      /still hold 800 of 14700 MiB .* at least 14444 MiB/,
    ],
    [
      'memory unreadable once asleep',
      1,
      { asleep: { gpu: blind, processes: process(10) } },
      /^whether GPU memory is free cannot be seen: nvidia-smi was not found$/,
    ],
    [
      'the GPUs hold as much as before',
      2,
      { before: onDevices(9_000), asleep: onDevices(8_000), awake: onDevices(9_000) },
      /^the GPUs hold 8000 MiB, and held 9000 MiB before$/,
    ],
    ['memory lost', 1, { awake: onGpu(10_000) }, /^GPU memory went from 14700 to 10000 MiB \(-32\.0 %, 3 % allowed\)$/],
    [
      'memory grown',
      1,
      { awake: onGpu(15_300) },
      /^GPU memory went from 14700 to 15300 MiB \(\+4\.1 %, 3 % allowed\)$/,
    ],
    ['another process', 2, { pidAfter: 77 }, /^its process was 41 and is 77, and this level keeps the process$/],
    ['no process', 1, { pidAfter: undefined }, /^its process was 41 and is gone/],
    [
      'no sleep',
      1,
      { broken: { during: 'sleep', why: 'vLLM /sleep: it answered 500' } },
      /^it could not be put to sleep: vLLM \/sleep: it answered 500$/,
    ],
    [
      'no wake',
      1,
      { broken: { during: 'wake', why: 'the wake took longer than 120 s' } },
      /^it did not wake: the wake took longer/,
    ],
  ])('%s', ([, level, spoilt, told], { expect }) => {
    expect(faults(level, { ...good, ...spoilt })).toEqual([expect.stringMatching(told)]);
    expect(judge(seen(level, { ...good, ...spoilt }))).toMatchObject({ outcome: 'failed', fault: 'level' });
  });

  test.for<[string, Observed['level'], Partial<Cycle>, RegExp]>([
    ['processes left', 4, { asleep: inMain(500) }, /^1 of its processes still live$/],
    ['processes left at the end', 5, { asleep: inMain(500) }, /^1 of its processes still live$/],
    [
      'memory grown',
      4,
      { awake: inMain(540) },
      /^main memory of its own went from 500 to 540 MiB \(\+8\.0 %, 3 % allowed\)$/,
    ],
    [
      'memory lost',
      4,
      { awake: inMain(500, 300) },
      /^main memory of its own went from 500 to 300 MiB \(-40\.0 %, 3 % allowed\)$/,
    ],
    ['nobody there', 5, { awake: gone, pidAfter: 77 }, /^no process of it is there$/],
    ['another process', 4, { pidAfter: 77 }, /^its process was 41 and is 77/],
  ])('without a GPU: %s', ([, level, spoilt, told], { expect }) => {
    expect(faults(level, { ...onDisk, ...spoilt })).toEqual([expect.stringMatching(told)]);
  });

  test('in its second cycle', ({ expect }) => {
    expect(faults(1, good, { ...good, answer: { kind: 'empty' } })).toEqual(['cycle 2: its answer is empty']);
  });

  test('when a cycle is missing', ({ expect }) => {
    expect(judge({ ...seen(1, good), cyclesWanted: 2 })).toMatchObject({
      outcome: 'failed',
      reasons: ['not all of its cycles were come to'],
    });
  });

  test('with every reason there is', ({ expect }) => {
    expect(faults(1, { ...good, asleep: onGpu(14_700), answer: { kind: 'empty' }, pidAfter: 77 })).toHaveLength(3);
  });
});

describe('what is told although it passes', () => {
  test('answers that part where two candidates were equal', ({ expect }) => {
    const { outcome, notes } = judge(seen(1, { ...good, answer: { kind: 'near', at: 11, gap: 0.0123 } }));
    expect([outcome, notes]).toEqual([
      'passed',
      ['cycle 1: the answer parts at token 12, where two candidates were 0.012 nat apart, which counts as equal'],
    ]);
  });

  test('a short answer', ({ expect }) => {
    expect(judge({ ...seen(1, good), tokens: 6 }).notes).toEqual([
      'its answer has only 6 tokens; damage may hide behind one that short',
    ]);
  });
});

describe('what is measured by', () => {
  test.for<[Observed['level'], Held, unknown]>([
    [1, onGpu(100), 'gpu'],
    [5, onGpu(100), 'gpu'],
    [2, onDevices(100), 'gpu'],
    [5, onDevices(100), 'processes'],
    [4, inMain(100), 'processes'],
    [1, bare, 'nothing'],
    [1, inMain(100), { cannot: 'level 1 frees GPU memory, and nvidia-smi was not found' }],
  ])('level %s', ([level, before, by], { expect }) => {
    expect(yardstickOf(level, before)).toEqual(by);
  });

  test('a small process may differ by its heap, a small GPU share may not', ({ expect }) => {
    expect(notBack(5, inMain(30), inMain(42))).toBe(undefined);
    expect(notBack(5, inMain(30), inMain(60))).toMatch(/30 to 60 MiB/);
    expect(notBack(1, onGpu(100), onGpu(104))).toMatch(/100 to 104 MiB/);
  });

  test('processes that live are told first, whatever the GPU says', ({ expect }) => {
    expect(stillHeld(5, onGpu(100), onGpu(0))).toBe('1 of its processes still live');
  });
});
