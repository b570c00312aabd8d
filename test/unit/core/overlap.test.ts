import { describe, test } from 'vitest';
import type { EnginePhase } from '../../../src/core/engine.ts';
import { engineId, FOREVER, millis, modelId } from '../../../src/core/kinds.ts';
import { Member } from '../../../src/core/member.ts';
import type { Part } from '../../../src/core/part.ts';
import { fitsBeside, type MemoryReading, type OverlapBy } from '../../../src/core/overlap.ts';

const at = millis;
const AWAKE: EnginePhase = { kind: 'awake', since: at(0) };
const LEAVING: Part = { kind: 'leaving', for: undefined, goal: { kind: 'off' } };
const stopping = (since = 10): EnginePhase => ({ kind: 'stopping', since: at(since), deadline: at(9_000) });
const napping = (level: 1 | 3): EnginePhase => ({ kind: 'falling-asleep', level, since: at(10), deadline: at(9_000) });

type Kind = { readonly needs?: number | undefined; readonly cost?: number; readonly part?: Part };

/** With one engine, which goes through these phases. */
function member(
  name: string,
  { needs = 10, cost = 10, part = { kind: 'out' } }: Kind,
  ...phases: EnginePhase[]
): Member {
  const model = modelId(name);
  const one = new Member({
    model,
    engines: [engineId(model, 0)],
    replicas: 1,
    cost,
    needs: Number.isNaN(needs) ? undefined : { gpu: needs, host: needs },
    targetInflight: 1,
    maxWaiting: 1,
    patienceMs: FOREVER,
    sleepLevel: 1,
  });
  for (const phase of phases) one.engineIn(engineId(model, 0), phase, undefined);
  one.part = part;
  return one;
}

const sleeper = (): Member => member('b', { part: { kind: 'summoned' } }, { kind: 'asleep', level: 1, since: at(0) });
const fresh = (): Member => member('b', { part: { kind: 'summoned' } });
const reading = (freeMib: number, held: number | undefined): MemoryReading => ({
  memory: 'gpu',
  takenAt: at(20),
  freeMib,
  heldMib: new Map(held === undefined ? [] : [[engineId(modelId('a'), 0), held]]),
});

type Case = {
  readonly comer: Member;
  readonly leaver: Member;
  readonly seen: MemoryReading;
  readonly by?: OverlapBy;
  readonly now?: number;
};
const fits = ({ comer, leaver, seen, by = 'mib', now = 30 }: Case): boolean =>
  fitsBeside(comer, [comer, leaver], { shared: 15, by, reading: seen, now: at(now) });
const leaver = (...phases: EnginePhase[]): Member => member('a', { part: LEAVING }, AWAKE, ...phases);

describe('who waits comes in beside one that leaves', () => {
  test('when what is free and the budget cover it', ({ expect }) => {
    expect(fits({ comer: sleeper(), leaver: leaver(stopping()), seen: reading(10, 5) })).toBe(true);
    expect(fits({ comer: sleeper(), leaver: leaver(stopping()), seen: reading(9, 5) })).toBe(false);
    expect(fits({ comer: sleeper(), leaver: leaver(stopping()), seen: reading(10, 6) })).toBe(false);
  });

  test('whatever the other holds where models are counted and it is off the count', ({ expect }) => {
    const one = { comer: sleeper(), leaver: leaver(stopping()), seen: reading(10, 6) };
    expect(fits({ ...one, by: 'models' })).toBe(true);
  });

  test('to start only once the other holds nothing', ({ expect }) => {
    expect(fits({ comer: fresh(), leaver: leaver(stopping()), seen: reading(10, 1) })).toBe(false);
    expect(fits({ comer: fresh(), leaver: leaver(stopping()), seen: reading(10, 0) })).toBe(true);
  });

  test('only by a fresh look, begun after the other had begun to go', ({ expect }) => {
    expect(fits({ comer: sleeper(), leaver: leaver(stopping()), seen: reading(10, 5), now: 1_020 })).toBe(true);
    expect(fits({ comer: sleeper(), leaver: leaver(stopping()), seen: reading(10, 5), now: 1_021 })).toBe(false);
    expect(fits({ comer: sleeper(), leaver: leaver(stopping(20)), seen: reading(10, 5) })).toBe(false);
  });

  test('only when it is known what it takes', ({ expect }) => {
    const unknown = member('b', { needs: Number.NaN, part: { kind: 'summoned' } });
    expect(fits({ comer: unknown, leaver: leaver(stopping()), seen: reading(99, 0) })).toBe(false);
  });

  test('not when a look tells nothing of the other', ({ expect }) => {
    expect(fits({ comer: sleeper(), leaver: leaver(stopping()), seen: reading(99, undefined) })).toBe(false);
  });

  test('not when the other may take its memory back', ({ expect }) => {
    expect(fits({ comer: sleeper(), leaver: leaver(napping(1)), seen: reading(10, 5) })).toBe(true);
    expect(fits({ comer: sleeper(), leaver: leaver(napping(3)), seen: reading(10, 5) })).toBe(false);
    expect(fits({ comer: sleeper(), leaver: leaver(napping(3), stopping()), seen: reading(10, 5) })).toBe(false);
    const hadBegun = member('a', { part: LEAVING }, { kind: 'starting', since: at(0), deadline: at(9) }, stopping());
    expect(fits({ comer: sleeper(), leaver: hadBegun, seen: reading(10, 5) })).toBe(false);
  });

  test('not into what a third is about to take, or took after the look', ({ expect }) => {
    const seen = { ...reading(15, 0), heldMib: new Map([[engineId(modelId('a'), 0), 0]]) };
    const beside = (third: Member): boolean =>
      fitsBeside(sleeper(), [leaver(stopping()), third], { shared: 99, by: 'mib', reading: seen, now: at(30) });
    const on: Part = { kind: 'on', since: at(0), from: 0, served: 0, idleSince: undefined };
    expect(beside(member('c', { part: on }, AWAKE))).toBe(true);
    expect(beside(member('c', { part: on }, { kind: 'awake', since: at(25) }))).toBe(false);
    expect(beside(member('c', { part: on, needs: 5 }, { kind: 'awake', since: at(25) }))).toBe(true);
    const starting: EnginePhase = { kind: 'starting', since: at(0), deadline: at(9_000) };
    expect(beside(member('c', { part: { kind: 'entering' } }, starting))).toBe(false);
    expect(beside(member('c', { part: { kind: 'entering' }, needs: Number.NaN }, starting))).toBe(false);
  });

  test('not into main memory that others have mapped, though it is called free', ({ expect }) => {
    const on: Part = { kind: 'on', since: at(0), from: 0, served: 0, idleSince: undefined };
    const beside = (memory: MemoryReading['memory'], freeMib: number): boolean => {
      const third = member('c', { part: on }, AWAKE);
      const seen = { ...reading(freeMib, 0), memory };
      return fitsBeside(sleeper(), [leaver(stopping()), third], { shared: 99, by: 'mib', reading: seen, now: at(30) });
    };
    expect([beside('gpu', 19), beside('host', 19), beside('host', 20)]).toEqual([true, false, true]);
  });

  test('not again once that went wrong, nor while others make room for it', ({ expect }) => {
    const tries = (change: (comer: Member) => void): boolean => {
      const comer = sleeper();
      change(comer);
      return fits({ comer, leaver: leaver(stopping()), seen: reading(10, 5) });
    };
    expect(tries(() => {})).toBe(true);
    expect(tries((comer) => (comer.overlap = 'failed'))).toBe(false);
    expect(tries((comer) => (comer.roomAsked = true))).toBe(false);
    expect(tries((comer) => (comer.roomFrom = [leaver(stopping())]))).toBe(false);
  });

  test('not when the other was called back and has not answered yet', ({ expect }) => {
    const asleep: EnginePhase = { kind: 'asleep', level: 1, since: at(0) };
    const other = member('a', { part: LEAVING }, asleep);
    expect(fits({ comer: sleeper(), leaver: other, seen: reading(10, 0) })).toBe(true);
    other.called(true, at(5));
    expect(fits({ comer: sleeper(), leaver: other, seen: reading(10, 0) })).toBe(false);
  });

  test('not when the other comes again after its engine has died', ({ expect }) => {
    const failed = {
      failure: { reason: 'gone', during: 'awake', attempts: 1, giveUp: false },
      retryAt: at(50),
    } as const;
    const reaping: EnginePhase = { kind: 'reaping', failed, since: at(10), deadline: at(9_000) };
    const back = member('a', { part: { kind: 'entering' } }, AWAKE, reaping);
    expect(fits({ comer: sleeper(), leaver: back, seen: reading(10, 5) })).toBe(false);
    back.part = LEAVING;
    expect(fits({ comer: sleeper(), leaver: back, seen: reading(10, 5) })).toBe(true);
  });
});
