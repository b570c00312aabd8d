import fc from 'fast-check';
import { describe, test } from 'vitest';
import { BodyStore, type StoreLimits } from '../../../src/proxy/body-store.ts';
import type { Refusal } from '../../../src/proxy/envelope.ts';
import type { KeptBody } from '../../../src/proxy/kept-body.ts';
import { readOut } from '../../helpers/body-of.ts';
import { FakeFiles } from '../../helpers/fake-files.ts';

const LIMITS: StoreLimits = { eachBytes: 100, memoryBytes: 8_000, diskBytes: 1_000_000 };

function open(limits: Partial<StoreLimits> = {}) {
  const files = new FakeFiles();
  const store = new BodyStore(files, { ...LIMITS, ...limits });
  const told: string[] = [];
  const failures: Refusal[] = [];
  const keep = (): KeptBody =>
    store.keep({ drained: () => told.push('drained'), failed: (refusal) => failures.push(refusal) });
  return { files, store, told, failures, keep };
}

const bytes = (length: number, letter = 'x'): Buffer => Buffer.alloc(length, letter);
const whole = (body: KeptBody): Promise<void> => new Promise((resolve) => body.onWhole(resolve));

describe('one body', () => {
  test('stays in memory up to its limit', async ({ expect }) => {
    const { files, store, keep } = open();
    const body = keep();
    expect([body.add(bytes(60, 'a')), body.add(bytes(40, 'b'))]).toEqual(['more', 'more']);
    await whole(body);
    expect(Buffer.concat(body.chunks ?? []).toString()).toBe('a'.repeat(60) + 'b'.repeat(40));
    expect([store.memoryBytes, store.diskBytes, files.files.length]).toEqual([100, 0, 0]);
    body.release();
    expect(store.memoryBytes).toBe(0);
  });

  test('past it moves to a file, whole, and can be read again and again', async ({ expect }) => {
    const { files, store, keep } = open();
    const body = keep();
    body.add(bytes(60, 'a'));
    body.add(bytes(60, 'b'));
    body.add(bytes(300_000, 'c'));
    await whole(body);
    expect(body.chunks).toBe(undefined);
    expect([store.memoryBytes, store.diskBytes]).toEqual([0, 300_120]);
    const text = 'a'.repeat(60) + 'b'.repeat(60) + 'c'.repeat(300_000);
    expect((await readOut(body)).equals(Buffer.from(text))).toBe(true);
    expect((await readOut(body)).equals(Buffer.from(text))).toBe(true);
    body.release();
    expect([store.diskBytes, files.open]).toEqual([0, 0]);
  });

  test('holds its client back until the disk has taken what came', async ({ expect }) => {
    const { files, told, keep } = open();
    files.held = true;
    const body = keep();
    expect(body.add(bytes(120_000))).toBe('more');
    expect(body.add(bytes(120_000))).toBe('wait');
    await files.next(); // there is a file
    expect(told).toEqual([]);
    await files.next(); // with both pieces in it
    expect(told).toEqual(['drained']);
    expect(body.add(bytes(10))).toBe('more');
    let done = false;
    body.onWhole(() => (done = true));
    expect(done).toBe(false);
    await files.next();
    expect(done).toBe(true);
    body.release();
  });

  test('counts as memory until it is written', async ({ expect }) => {
    const { files, store, keep } = open();
    files.held = true;
    const body = keep();
    body.add(bytes(90));
    body.add(bytes(20));
    expect([store.memoryBytes, store.diskBytes]).toEqual([90, 110]);
    await files.next();
    await files.next();
    expect([store.memoryBytes, store.diskBytes]).toEqual([0, 110]);
    body.release();
  });
});

describe('all bodies together', () => {
  test('a large one leaves room for small ones: it may hold an eighth of what is free', ({ expect }) => {
    const { store, keep } = open({ eachBytes: 10_000 });
    const large = keep();
    large.add(bytes(1_000));
    expect(large.chunks?.length).toBe(1);
    large.add(bytes(1));
    expect(large.chunks).toBe(undefined);
    const second = keep();
    second.add(bytes(875)); // an eighth of 7,000
    expect([second.chunks?.length, store.memoryBytes]).toEqual([1, 1_875]);
    large.release();
    second.release();
  });

  test('a hundred wait in little memory, and the rest on disk', async ({ expect }) => {
    const { store, files, keep } = open({ eachBytes: 10_000 });
    const bodies = Array.from({ length: 100 }, (_, i) => {
      const body = keep();
      body.add(bytes(900, String(i % 10)));
      return body;
    });
    await Promise.all(bodies.map(whole));
    expect(store.memoryBytes).toBeLessThanOrEqual(8_000);
    expect(store.memoryBytes + store.diskBytes).toBe(90_000);
    expect(files.open).toBe(bodies.filter((body) => body.chunks === undefined).length);
    for (const [i, body] of bodies.entries())
      expect((await readOut(body)).equals(bytes(900, String(i % 10)))).toBe(true);
    for (const body of bodies) body.release();
    expect([store.memoryBytes, store.diskBytes, files.open]).toEqual([0, 0, 0]);
  });

  test('without room on disk the last of the memory is used, and then there is none', ({ expect }) => {
    const { store, files, keep } = open({ memoryBytes: 1_000, diskBytes: 50 });
    const first = keep();
    expect([first.add(bytes(900)), first.add(bytes(100)), first.add(bytes(1))]).toEqual(['more', 'more', 'full']);
    expect(keep().add(bytes(40))).toBe('more'); // this one fits on disk
    expect(keep().add(bytes(40))).toBe('full');
    first.release();
    const after = keep();
    expect(after.add(bytes(40))).toBe('more');
    after.release();
    expect([store.memoryBytes, files.files.length]).toEqual([0, 0]);
  });

  test('nothing is written where nothing may be', ({ expect }) => {
    const { files, keep } = open({ diskBytes: 0 });
    const body = keep();
    expect([body.add(bytes(8_000)), body.add(bytes(1))]).toEqual(['more', 'full']);
    expect(files.files.length).toBe(0);
    body.release();
  });
});

describe('given up', () => {
  test('while its file is being made: the file is closed when it is there', async ({ expect }) => {
    const { files, store, told, failures, keep } = open();
    files.held = true;
    const body = keep();
    body.add(bytes(200));
    body.release();
    expect([store.memoryBytes, store.diskBytes]).toEqual([0, 0]);
    await files.next();
    expect([files.files.length, files.open, files.waiting]).toEqual([1, 0, 0]);
    expect([told, failures]).toEqual([[], []]);
  });

  test('while it is written: the file is closed after that', async ({ expect }) => {
    const { files, keep } = open();
    files.held = true;
    const body = keep();
    body.add(bytes(200));
    await files.next();
    body.release();
    expect(files.open).toBe(1);
    await files.next();
    expect(files.open).toBe(0);
  });

  test('while it is read: who reads it reads on to the end', async ({ expect }) => {
    const { files, store, keep } = open();
    const body = keep();
    body.add(bytes(300_000));
    await whole(body);
    const reading = body.open();
    await reading.next();
    body.release();
    expect([files.open, store.diskBytes]).toEqual([1, 300_000]);
    let left = 300_000 - 131_072;
    for (let next = await reading.next(); next !== undefined; next = await reading.next()) left -= next[0]?.length ?? 0;
    reading.close();
    reading.close();
    expect([left, files.open, store.diskBytes]).toEqual([0, 0, 0]);
  });
});

describe('a disk that fails', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write /state/bodies/x'), { code: 'ENOSPC' });

  test.for([
    ['when the file is made', 0],
    ['when it is written', 1],
  ] as const)('%s', async ([, steps], { expect }) => {
    const { files, failures, keep } = open();
    files.held = true;
    const body = keep();
    body.add(bytes(200));
    let done = false;
    body.onWhole(() => (done = true));
    for (let step = 0; step < steps; step++) await files.next();
    files.failure = full;
    await files.next();
    expect(failures.map(({ code, message }) => [code, message])).toEqual([
      ['body_not_kept', expect.stringContaining('written to disk while it waited (ENOSPC)')],
    ]);
    expect(done).toBe(false);
    body.release();
    expect(files.open).toBe(0);
  });

  test('when it is read', async ({ expect }) => {
    const { files, keep } = open();
    const body = keep();
    body.add(bytes(200));
    await whole(body);
    files.failure = full;
    await expect(readOut(body)).rejects.toMatchObject({
      name: 'Withheld',
      refusal: { code: 'body_not_kept', message: expect.not.stringContaining('/state') },
    });
    body.release();
  });
});

test('any bodies in any order come out as they went in, and leave nothing behind', async ({ expect }) => {
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(fc.array(sizes, { maxLength: 6 }), fc.nat(3_000), async (all, memoryBytes) => {
      const { store, files, failures, keep } = open({ eachBytes: 500, memoryBytes });
      const bodies = all.map((parts) => ({ parts, body: keep() }));
      // Their pieces come in turns.
      for (let turn = 0; turn < 12; turn++)
        for (const { parts, body } of bodies) {
          const size = parts[turn];
          if (size !== undefined) expect(body.add(bytes(size, String(turn % 10)))).not.toBe('full');
        }
      for (const { parts, body } of bodies) {
        await whole(body);
        const expected = Buffer.concat(parts.map((size, turn) => bytes(size, String(turn % 10))));
        expect(body.bytes).toBe(expected.length);
        expect((await readOut(body)).equals(expected)).toBe(true);
      }
      expect(store.memoryBytes).toBeLessThanOrEqual(memoryBytes);
      for (const { body } of bodies) body.release();
      expect([store.memoryBytes, store.diskBytes, files.open, failures]).toEqual([0, 0, 0, []]);
    }),
    { numRuns: 300 },
  );
});
