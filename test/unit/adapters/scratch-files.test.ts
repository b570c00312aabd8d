import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { scratchFiles } from '../../../src/adapters/scratch-files.ts';
import { testFolder } from '../../helpers/survivors.ts';

describe.for([
  ['without a name from the first', true],
  ['whose name is taken away', false],
] as const)('files %s', ([, nameless]) => {
  test('are written at their end and read anywhere, and no other can find them', async ({ expect, onTestFinished }) => {
    const { path, remove } = testFolder();
    onTestFinished(remove);
    const folder = join(path, 'bodies');
    const files = scratchFiles(folder, { nameless });
    const [one, two] = [await files.create(), await files.create()];
    await one.append([Buffer.from('hello '), Buffer.from('world')]);
    await two.append([Buffer.from('another')]);
    await one.append([Buffer.from('!')]);
    expect(readdirSync(folder)).toEqual([]);
    const into = Buffer.alloc(100);
    expect(into.toString('utf8', 0, await one.read(into, 0))).toBe('hello world!');
    expect(into.toString('utf8', 0, await one.read(into.subarray(0, 5), 6))).toBe('world');
    expect(await one.read(into, 12)).toBe(0);
    expect(into.toString('utf8', 0, await two.read(into, 0))).toBe('another');
    await Promise.all([one.close(), two.close()]);
    await one.close();
    await expect(one.read(into, 0)).rejects.toThrow();
  });
});

test('their folder is for us alone, and what a killed one left in it is gone', ({ expect, onTestFinished }) => {
  const { path, remove } = testFolder();
  onTestFinished(remove);
  const folder = join(path, 'bodies');
  mkdirSync(folder, { mode: 0o755 });
  writeFileSync(join(folder, 'left'), '');
  scratchFiles(folder);
  expect([statSync(folder).mode & 0o777, readdirSync(folder)]).toEqual([0o700, []]);
});
