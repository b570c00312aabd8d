import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { watchConfig } from '../../../src/adapters/config-watch.ts';
import { systemClock } from '../../../src/adapters/system-clock.ts';

const test = base.extend<{ folder: string }>({
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'catnap-watch-'));
    await use(folder);
    rmSync(folder, { recursive: true });
  },
});

/** Counts the changes that are told. */
function watching(files: readonly string[]) {
  let told = 0;
  const stop = watchConfig({ files, clock: systemClock(), changed: () => told++ });
  return { stop, told: () => told };
}

const WITHIN = { timeout: 10_000 };

test('whatever way the content of a file changes, it is told once', async ({ expect, folder }) => {
  const file = join(folder, 'config.json');
  writeFileSync(file, '{}');
  const { stop, told } = watching([file, join(folder, 'config.local.json')]);
  // Written in place.
  writeFileSync(file, '{"a":1}');
  await expect.poll(told, WITHIN).toBe(1);
  // Put in its place by an editor.
  writeFileSync(`${file}~`, '{"a":2}');
  renameSync(`${file}~`, file);
  await expect.poll(told, WITHIN).toBe(2);
  // One that was not there before.
  writeFileSync(join(folder, 'config.local.json'), '{}');
  await expect.poll(told, WITHIN).toBe(3);
  // The same again is no change; the one after it is.
  writeFileSync(file, '{"a":2}');
  unlinkSync(join(folder, 'config.local.json'));
  await expect.poll(told, WITHIN).toBe(4);
  stop();
});

test('a link that is turned to another folder is a change', async ({ expect, folder }) => {
  for (const [name, content] of [
    ['one', '{"a":1}'],
    ['two', '{"a":2}'],
  ] as const) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'config.json'), content);
  }
  symlinkSync('one', join(folder, '..data'));
  symlinkSync(join('..data', 'config.json'), join(folder, 'config.json'));
  const { stop, told } = watching([join(folder, 'config.json')]);
  symlinkSync('two', join(folder, '..next'));
  renameSync(join(folder, '..next'), join(folder, '..data'));
  await expect.poll(told, WITHIN).toBe(1);
  // What it leads to now is watched as well.
  writeFileSync(join(folder, 'two', 'config.json'), '{"a":3}');
  await expect.poll(told, WITHIN).toBe(2);
  stop();
});
