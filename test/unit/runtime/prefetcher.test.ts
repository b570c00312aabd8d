import { describe, test } from 'vitest';
import type { Fact } from '../../../src/core/facts.ts';
import { engineId, modelId, type ModelId, type SleepLevel } from '../../../src/core/kinds.ts';
import type { ReadAhead, ReadAheadEnd } from '../../../src/ports/page-cache.ts';
import { Prefetcher } from '../../../src/runtime/prefetcher.ts';
import { model, stage } from '../api/scene.ts';
import { swapRecord } from '../observe/every-fact.ts';
import { settled, VirtualClock } from '../../helpers/virtual-clock.ts';

const [a, b, c] = [modelId('a'), modelId('b'), modelId('c')];
const off = { kind: 'off' } as const;
const awake = { kind: 'awake', since: swapRecord.startedAt } as const;

/** a is awake and at work, the others are out; what is read ends when the test says so. */
function house({ guessAfterMs }: { guessAfterMs?: number } = {}) {
  const clock = new VirtualClock();
  const facts: Fact[] = [];
  const orders: (ReadAhead & { readonly done: (end: ReadAheadEnd) => void })[] = [];
  let models = [model(a, awake, { inFlight: 1 }), model(b, off), model(c, off)];
  const prefetcher = new Prefetcher({
    clock,
    pages: {
      readAhead(order) {
        const { promise, resolve } = Promise.withResolvers<ReadAheadEnd>();
        orders.push({ ...order, done: resolve });
        order.signal.addEventListener('abort', () => resolve({ end: 'stopped', bytes: 1 }));
        return promise;
      },
    },
    reporter: { report: (fact) => facts.push(fact) },
    bounds: { mostBytes: 100, bytesPerSec: 10, keepFreeBytes: 5 },
    guessAfterMs,
    filesOf: (name, wanted) => Promise.resolve([`${name}.${wanted}`]),
    view: () => stage(models),
  });
  const plan = (to: ModelId, from: readonly ModelId[], level: SleepLevel = 5): void =>
    prefetcher.report({ kind: 'swap-planned', swap: 1, to, from, level, waiting: 1 });
  const moved = (name: ModelId, to: 'starting' | 'waking' | 'awake'): void =>
    prefetcher.report({ kind: 'engine-moved', engine: engineId(name, 0), model: name, from: 'off', to });
  const finished = (to: ModelId): void => prefetcher.report({ kind: 'swap-finished', record: { ...swapRecord, to } });
  const files = (): readonly string[] => orders.flatMap((order) => order.files);
  const idle = (): void => void (models = models.map((one) => ({ ...one, inFlight: 0 })));
  return { clock, facts, orders, prefetcher, plan, moved, finished, files, idle };
}

describe('while others drain', () => {
  test('the next model is read within the bounds, until its engine reads for itself', async ({ expect }) => {
    const { facts, orders, plan, moved } = house();
    plan(b, [a]);
    await settled();
    expect(orders).toMatchObject([{ files: ['b.weights'], mostBytes: 100, bytesPerSec: 10, keepFreeBytes: 5 }]);
    expect(orders[0]?.spare()).toEqual([41]);
    moved(b, 'starting');
    await settled();
    expect(facts).toMatchObject([{ kind: 'prefetch-ended', model: b, why: 'swap', end: 'stopped', bytes: 1 }]);
  });

  test('nothing is read where there is no time to gain, or nothing comes from disk', async ({ expect }) => {
    const { files, plan } = house();
    plan(b, []);
    for (const level of [1, 3] as const) plan(b, [a], level);
    await settled();
    expect(files()).toEqual([]);
  });

  test('a model at level 4 is read as the image it comes back from', async ({ expect }) => {
    const { files, plan } = house();
    plan(b, [a], 4);
    await settled();
    expect(files()).toEqual(['b.image']);
  });

  test('one that was read a moment ago is not read again', async ({ expect }) => {
    const { clock, files, orders, plan } = house();
    for (const wait of [0, 59_000, 2_000]) {
      await clock.advance(wait);
      plan(b, [a]);
      await settled();
      orders.at(-1)?.done({ end: 'whole', bytes: 9 });
      await settled();
    }
    expect(files()).toEqual(['b.weights', 'b.weights']);
  });
});

describe('an announced model', () => {
  test('is read, and the one that is needed now goes before it', async ({ expect }) => {
    const { facts, files, plan, prefetcher } = house();
    prefetcher.announce(b);
    await settled();
    plan(c, [a]);
    prefetcher.announce(b);
    await settled();
    expect(files()).toEqual(['b.weights', 'c.weights']);
    expect(facts).toMatchObject([
      { kind: 'next-ignored', name: 'b', reason: 'busy' },
      { kind: 'prefetch-ended', model: b, why: 'announced', end: 'stopped' },
    ]);
  });

  test('is not read when it is awake', async ({ expect }) => {
    const { files, prefetcher } = house();
    prefetcher.announce(a);
    await settled();
    expect(files()).toEqual([]);
  });

  test('that becomes the next one is read on', async ({ expect }) => {
    const { facts, orders, plan, prefetcher } = house();
    prefetcher.announce(b);
    await settled();
    plan(b, [a]);
    await settled();
    expect(orders).toHaveLength(1);
    orders[0]?.done({ end: 'whole', bytes: 9 });
    await settled();
    expect(facts).toMatchObject([{ model: b, why: 'swap', end: 'whole', bytes: 9 }]);
  });
});

describe('a guess', () => {
  test('is made from what followed what, when nothing is asked for, and dropped when something is', async ({
    expect,
  }) => {
    const { clock, facts, files, finished, idle, prefetcher } = house({ guessAfterMs: 5_000 });
    for (const name of [b, a, b, a, b, a, b, a]) finished(name);
    await clock.advance(5_000);
    expect(files(), 'somebody is served').toEqual([]);
    idle();
    prefetcher.report({ kind: 'request-arrived', model: a });
    await clock.advance(60_000);
    expect(files(), 'a request has come').toEqual([]);
    finished(b);
    finished(a);
    await clock.advance(5_000);
    expect(files()).toEqual(['b.weights']);
    prefetcher.report({ kind: 'request-arrived', model: a });
    await settled();
    expect(facts).toMatchObject([{ model: b, why: 'guessed', end: 'stopped' }]);
  });

  test('is never made unless it is asked for', async ({ expect }) => {
    const { clock, files, finished, idle } = house();
    idle();
    for (const name of [b, a, b, a, b, a, b, a]) finished(name);
    await clock.advance(600_000);
    expect(files()).toEqual([]);
  });
});
