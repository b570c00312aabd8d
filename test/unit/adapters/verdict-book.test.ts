import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { verdictBook } from '../../../src/adapters/verdict-book.ts';
import type { Verdict } from '../../../src/ports/verdicts.ts';
import { testFolder } from '../../helpers/survivors.ts';

const test = base.extend('scene', ({}, { onCleanup }) => {
  const folder = testFolder();
  onCleanup(() => folder.remove());
  const path = join(folder.path, 'state', 'verdicts.json');
  const problems: string[] = [];
  return { folder: folder.path, path, problems, book: verdictBook(path, (message) => void problems.push(message)) };
});

const verdict = (more: Partial<Verdict> = {}): Verdict => ({
  model: 'org/alpha',
  level: '4full',
  passed: false,
  reason: 'cycle 2: its answer is empty',
  at: new Date('2026-11-20T12:00:00.000Z'),
  identity: { backend: 'vllm_serve', settings: 's', program: 'p', version: undefined, driver: '580.95.05' },
  ...more,
});

test('what an engine held is kept with it, as far as it was seen', async ({ scene, expect }) => {
  const held = { awake: { gpu: 9_000, host: 2_000 }, asleep: { gpu: 700, host: undefined } };
  await scene.book.add([verdict({ level: 1, passed: true, held })]);
  expect(await scene.book.read()).toEqual([verdict({ level: 1, passed: true, held })]);
});

test('what is added is there, for us alone', async ({ scene, expect }) => {
  expect(await scene.book.read()).toEqual([]);
  await scene.book.add([verdict(), verdict({ level: 5, passed: true, reason: '' })]);
  expect(await scene.book.read()).toEqual([verdict(), verdict({ level: 5, passed: true, reason: '' })]);
  expect(statSync(scene.path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(scene.folder, 'state'))).toEqual(['verdicts.json']);
  expect(scene.problems).toEqual([]);
});

test('a new verdict takes the place of the old one on the same thing, and of no other', async ({ scene, expect }) => {
  const other = verdict({ identity: { ...verdict().identity, driver: '590' } });
  await scene.book.add([verdict(), other]);
  const newer = verdict({ passed: true, reason: '', at: new Date('2026-11-21T12:00:00.000Z') });
  await scene.book.add([newer]);
  expect(await scene.book.read()).toEqual([other, newer]);
});

test('the oldest go when there are too many', async ({ scene, expect }) => {
  const many = Array.from({ length: 510 }, (_, at) =>
    verdict({ model: `m${at}`, at: new Date(1_800_000_000_000 + at) }),
  );
  await scene.book.add(many.toReversed());
  const kept = await scene.book.read();
  expect(kept).toHaveLength(500);
  expect(kept[0]?.model).toBe('m10');
  expect(kept.at(-1)?.model).toBe('m509');
});

test.for(['{', '{"version":2}', '{"version":1,"verdicts":[{"model":1}]}'])(
  'a file that cannot be read stops nobody: %s',
  async (text, { scene, expect }) => {
    await scene.book.add([verdict()]);
    writeFileSync(scene.path, text);
    expect(await scene.book.read()).toEqual([]);
    expect(scene.problems).toEqual([expect.stringMatching(/cannot be read and were set aside as .*\.unreadable: /)]);
    expect(readFileSync(`${scene.path}.unreadable`, 'utf8')).toBe(text);
    expect(existsSync(scene.path)).toBe(false);
    await scene.book.add([verdict()]);
    expect(await scene.book.read()).toEqual([verdict()]);
  },
);

test('where it cannot be written nothing is lost', async ({ scene, expect }) => {
  const blocked = verdictBook(join(scene.folder, 'file', 'verdicts.json'), () => {});
  writeFileSync(join(scene.folder, 'file'), '');
  await expect(blocked.add([verdict()])).rejects.toThrow();
});
