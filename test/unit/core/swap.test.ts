import { describe, test } from 'vitest';
import { millis, modelId } from '../../../src/core/kinds.ts';
import { Swap } from '../../../src/core/swap.ts';

const [a, b, c] = [modelId('a'), modelId('b'), modelId('c')];
const took = (actMs: number, proofMs: number): { actMs: number; proofMs: number } => ({ actMs, proofMs });

describe('a record', () => {
  test('has the legs of one that goes and one that comes, and our own share', ({ expect }) => {
    const swap = new Swap(7, b, [a], millis(1_000));
    swap.drained(a, millis(1_100));
    swap.putAway(a, took(200, 20), millis(1_325));
    swap.entering(1, millis(1_325));
    swap.woke(took(300, 30), millis(1_660));
    expect(swap.finish('done', millis(1_660))).toEqual({
      id: 7,
      to: b,
      from: [a],
      startedAt: 1_000,
      totalMs: 660,
      legs: { drain: 100, sleep: 200, clear: 20, wake: 300, ready: 30 },
      overheadMs: 10,
      level: 1,
      result: 'done',
    });
  });

  test('has no leg that did not happen', ({ expect }) => {
    const swap = new Swap(1, b, [], millis(0));
    expect(swap.finish('withdrawn', millis(90))).toMatchObject({ legs: {}, totalMs: 90, overheadMs: 90, level: 5 });
  });

  test('books a start that was called off as the start it was', ({ expect }) => {
    const swap = new Swap(1, b, [], millis(0));
    swap.entering(5, millis(10));
    expect(swap.finish('withdrawn', millis(90))).toMatchObject({ legs: { clear: 10, wake: 80 }, overheadMs: 0 });
  });

  test('has the legs of the last of several that go', ({ expect }) => {
    const swap = new Swap(1, c, [a, b], millis(0));
    swap.drained(a, millis(10));
    swap.drained(b, millis(400));
    swap.putAway(b, took(50, 0), millis(450));
    swap.putAway(a, took(500, 5), millis(515));
    swap.entering(5, millis(515));
    expect(swap.finish('done', millis(520)).legs).toEqual({ drain: 10, sleep: 500, clear: 5 });
  });

  test('has the legs of the last of several replicas that come', ({ expect }) => {
    const swap = new Swap(1, b, [], millis(0));
    swap.entering(5, millis(0));
    swap.woke(took(90, 0), millis(90));
    swap.woke(took(60, 40), millis(100));
    expect(swap.finish('done', millis(100))).toMatchObject({ legs: { wake: 60, ready: 40 }, overheadMs: 0 });
  });

  test('counts of a command only what falls into the swap', ({ expect }) => {
    const swap = new Swap(1, b, [a], millis(1_000));
    swap.drained(a, millis(1_010));
    swap.putAway(a, took(5_000, 20), millis(1_100));
    expect(swap.finish('failed', millis(1_100))).toMatchObject({
      legs: { drain: 10, sleep: 70, clear: 20 },
      overheadMs: 0,
    });
  });

  test('does not count who goes on going when the wanted one has room already', ({ expect }) => {
    const swap = new Swap(1, b, [a], millis(0));
    swap.entering(2, millis(0));
    swap.drained(a, millis(50));
    swap.putAway(a, took(40, 0), millis(90));
    expect(swap.finish('done', millis(100))).toMatchObject({ legs: {}, level: 2 });
  });

  test('books the wait for what others still hold as clearing, and none of it as ours', ({ expect }) => {
    const swap = new Swap(1, c, [a], millis(0));
    swap.drained(a, millis(10));
    swap.putAway(a, took(20, 5), millis(35));
    swap.entering(5, millis(535));
    swap.woke(took(60, 0), millis(600));
    expect(swap.finish('done', millis(600))).toMatchObject({
      legs: { drain: 10, sleep: 20, clear: 505, wake: 60 },
      overheadMs: 5,
    });
  });

  test('books a failed waking as waking, and the fresh start after it too', ({ expect }) => {
    const failed = new Swap(1, b, [], millis(0));
    failed.entering(1, millis(0));
    failed.stumble();
    expect(failed.finish('failed', millis(90))).toMatchObject({ legs: { wake: 90 }, overheadMs: 0 });
    const mended = new Swap(2, b, [], millis(0));
    mended.entering(1, millis(0));
    mended.stumble();
    mended.woke(took(30, 10), millis(200));
    expect(mended.finish('done', millis(201))).toMatchObject({ legs: { wake: 190, ready: 10 }, overheadMs: 1 });
  });

  test('books a failed putting away, and the end of it by force, as putting away', ({ expect }) => {
    const swap = new Swap(1, b, [a], millis(0));
    swap.drained(a, millis(100));
    swap.stumble();
    swap.putAway(a, took(10, 5), millis(1_100));
    swap.entering(5, millis(1_100));
    expect(swap.finish('withdrawn', millis(1_100))).toMatchObject({
      legs: { drain: 100, sleep: 995, clear: 5 },
      overheadMs: 0,
    });
  });
});
