import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'vitest';
import { engineFiles } from '../../../src/adapters/engine-files.ts';
import { engineId, modelId } from '../../../src/core/kinds.ts';
import { testFolder } from '../../helpers/survivors.ts';

const ALPHA = engineId(modelId('org/alpha'), 0);
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

test('files of an engine are its owner’s alone, and what an earlier start left is gone', async ({ expect }) => {
  const folder = testFolder();
  const files = engineFiles(join(folder.path, 'engine-files'));
  const first = await files.put(ALPHA, { 'keys.yml': 'old', 'more.yml': 'x' });
  writeFileSync(join(first, 'log'), 'by the engine');
  const own = await files.put(ALPHA, { 'keys.yml': 'secret' });
  expect([own, readdirSync(own), readFileSync(join(own, 'keys.yml'), 'utf8')]).toEqual([first, ['keys.yml'], 'secret']);
  expect([modeOf(join(own, 'keys.yml')), modeOf(own), modeOf(dirname(own))]).toEqual(['600', '700', '700']);
  folder.remove();
});

test('engines do not share a folder', async ({ expect }) => {
  const folder = testFolder();
  const files = engineFiles(folder.path);
  const places = [ALPHA, engineId(modelId('org/alpha'), 1), engineId(modelId('org-alpha'), 0)].map((id) =>
    files.put(id, {}),
  );
  expect(new Set(await Promise.all(places)).size).toBe(3);
  folder.remove();
});

test('a folder that cannot be written is told with the key that leads to it', async ({ expect }) => {
  const folder = testFolder();
  mkdirSync(join(folder.path, 'state'));
  writeFileSync(join(folder.path, 'state', 'taken'), '');
  const files = engineFiles(join(folder.path, 'state', 'taken'));
  await expect(files.put(ALPHA, {})).rejects.toThrow(/\(state_dir\) cannot be written/);
  folder.remove();
});
