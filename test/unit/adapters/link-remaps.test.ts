import { linkSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { removeRemaps } from '../../../src/adapters/link-remaps.ts';
import { testFolder } from '../../helpers/survivors.ts';

const test = base.extend('folder', async ({}, { onCleanup }) => {
  const folder = testFolder();
  onCleanup(() => folder.remove());
  return folder.path;
});

test('only what criu has named is taken away with an image, and only where it is that file', async ({
  expect,
  folder,
}) => {
  const [image, data] = [join(folder, 'image'), join(folder, 'data')];
  for (const each of [image, data]) mkdirSync(each);
  writeFileSync(join(data, 'mine'), 'a file of the user');
  for (const name of ['link_remap.7', 'link_remap.8.old']) linkSync(join(data, 'mine'), join(data, name));
  writeFileSync(join(data, 'link_remap.9'), 'another file');
  const inode = String(statSync(join(data, 'mine'), { bigint: true }).ino);
  writeFileSync(join(image, 'catnap-remaps.json'), JSON.stringify([{ folder: data, inode }]));

  await removeRemaps(image);

  expect(readdirSync(data).toSorted()).toEqual(['link_remap.8.old', 'link_remap.9', 'mine']);
});

test('an image without a note of them, or with a broken one, takes nothing away', async ({ expect, folder }) => {
  writeFileSync(join(folder, 'link_remap.7'), 'a file');
  await removeRemaps(folder);
  for (const note of ['', '[{"folder":', '{"folder":"/"}']) {
    writeFileSync(join(folder, 'catnap-remaps.json'), note);
    await removeRemaps(folder);
  }
  expect(readdirSync(folder)).toContain('link_remap.7');
});
