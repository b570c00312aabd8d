import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { pageCache, type PageCacheMeans } from '../../../src/adapters/page-cache.ts';
import { systemClock } from '../../../src/adapters/system-clock.ts';
import { sized, weightFiles } from '../../../src/adapters/weight-files.ts';
import type { ReadAhead } from '../../../src/ports/page-cache.ts';

const MIB = 1_048_576;

const test = base.extend<{ folder: string }>({
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'catnap-pages-'));
    await use(folder);
    rmSync(folder, { recursive: true });
  },
});

const read = (order: Partial<ReadAhead>, means: Partial<PageCacheMeans> = {}) =>
  pageCache({ clock: systemClock(), availableBytes: () => Promise.resolve(8 * MIB), ...means }).readAhead({
    files: [],
    mostBytes: 1_000 * MIB,
    bytesPerSec: 100_000 * MIB,
    keepFreeBytes: 0,
    spare: () => [],
    signal: new AbortController().signal,
    ...order,
  });

function written(folder: string, sizes: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(sizes).map(([name, bytes]) => {
    writeFileSync(join(folder, name), Buffer.alloc(bytes));
    return join(folder, name);
  });
}

test('all files are read, one after the other', async ({ expect, folder }) => {
  const files = written(folder, { a: 3 * MIB + 7, b: 0, c: 5 });
  expect(await read({ files })).toEqual({ end: 'whole', bytes: 3 * MIB + 12 });
});

test('no more than it may', async ({ expect, folder }) => {
  const files = written(folder, { a: 3 * MIB, b: 3 * MIB });
  expect(await read({ files, mostBytes: 4 * MIB + 1 })).toEqual({ end: 'bound', bytes: 4 * MIB + 1 });
});

test('nothing while memory is short or nobody knows how much there is', async ({ expect, folder }) => {
  const files = written(folder, { a: MIB });
  expect(await read({ files, keepFreeBytes: 9 * MIB })).toEqual({ end: 'memory', bytes: 0 });
  const unknown = { availableBytes: () => Promise.resolve(undefined) };
  expect(await read({ files }, unknown)).toEqual({ end: 'memory', bytes: 0 });
});

test('it is dropped as soon as memory gets short', async ({ expect, folder }) => {
  const files = written(folder, { a: 40 * MIB });
  let asked = 0;
  const availableBytes = () => Promise.resolve(asked++ === 0 ? 10 * MIB : 0);
  expect(await read({ files, keepFreeBytes: MIB }, { availableBytes })).toEqual({ end: 'memory', bytes: 16 * MIB });
});

test('it gives way to processes that have to read themselves', async ({ expect, folder }) => {
  const files = written(folder, { a: 40 * MIB });
  const seen: (readonly number[])[] = [];
  let pages = 0;
  const faults = (pids: readonly number[]) => {
    seen.push(pids);
    return Promise.resolve((pages += 200 * seen.length));
  };
  // 200 pages, then 600, which is 400 more.
  expect(await read({ files, spare: () => [41] }, { faults })).toEqual({ end: 'disk', bytes: 16 * MIB });
  expect(seen).toEqual([[41], [41]]);
});

test('it stops when it is told to, also while it holds back', async ({ expect, folder }) => {
  const files = written(folder, { a: 2 * MIB });
  const stop = new AbortController();
  // At this rate it would take a month.
  const reading = read({ files, bytesPerSec: 1, signal: stop.signal });
  setImmediate(() => stop.abort());
  expect(await reading).toMatchObject({ end: 'stopped' });
});

test('what cannot be read is told', async ({ expect, folder }) => {
  const reading = await read({ files: [join(folder, 'nothing')] });
  expect(reading).toMatchObject({ end: 'failed', bytes: 0 });
  expect(reading.reason).toContain('ENOENT');
});

test('the weights of a model are its file, all its parts, or those of its folder', async ({ expect, folder }) => {
  const part = (n: number): string => `m-0000${n}-of-00003.gguf`;
  written(folder, { [part(2)]: 2, [part(1)]: 1, [part(3)]: 3, 'm.gguf': 9, 'x-00001-of-00003.gguf': 9 });
  const names = async (path: string) => (await weightFiles(path)).map((file) => file.path.slice(folder.length + 1));
  expect(await names(join(folder, part(1)))).toEqual([part(1), part(2), part(3)]);
  expect(await names(join(folder, 'm.gguf'))).toEqual(['m.gguf']);
  expect(await names('org/name')).toEqual([]);
  written(folder, { 'model.safetensors': 4, 'tokenizer.json': 1 });
  expect(await names(folder)).toContain('model.safetensors');
  expect(await names(folder)).not.toContain('tokenizer.json');
  expect(await sized(folder, (name) => name === 'm.gguf')).toEqual([{ path: join(folder, 'm.gguf'), bytes: 9 }]);
});
