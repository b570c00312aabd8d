import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { systemPrograms } from '../../../src/adapters/programs.ts';
import { testFolder } from '../../helpers/survivors.ts';

type Bin = { readonly path: string; put(name: string, mode: number, content?: string): string };

/** A folder with two folders of programs, `first` and `second`. */
const test = base.extend<{ bin: Bin }>({
  bin: async ({}, use) => {
    const folder = testFolder();
    for (const name of ['first', 'second']) mkdirSync(join(folder.path, name));
    await use({
      path: [join(folder.path, 'first'), join(folder.path, 'second')].join(':'),
      put(name, mode, content = '#!/bin/sh\n') {
        const file = join(folder.path, name);
        writeFileSync(file, content);
        chmodSync(file, mode);
        return file;
      },
    });
    folder.remove();
  },
});

test('a name is looked up along the path; what may not be executed is passed over', async ({ bin, expect }) => {
  bin.put('first/srv', 0o644);
  const file = bin.put('second/srv', 0o755);
  const programs = systemPrograms({ PATH: bin.path });
  expect(await programs.find('srv')).toMatchObject({ path: file });
  expect(await programs.find('other')).toBeUndefined();
  expect(await programs.find('second')).toBeUndefined();
});

test('a path is taken as it is, and a folder is no program', async ({ bin, expect }) => {
  const file = bin.put('first/srv', 0o755);
  const programs = systemPrograms({});
  expect(await programs.find(file)).toMatchObject({ path: file });
  expect(await programs.find(join(file, '..'))).toBeUndefined();
  expect(await programs.find('srv')).toBeUndefined();
});

test('npm folders on the path are not looked in, since engines do not get them', async ({ bin, expect }) => {
  mkdirSync(join(bin.put('first/x', 0o755), '..', 'node_modules', '.bin'), { recursive: true });
  bin.put('first/node_modules/.bin/srv', 0o755);
  const folder = join(bin.path.split(':')[0] ?? '', 'node_modules', '.bin');
  expect(await systemPrograms({ PATH: folder }).find('srv')).toBeUndefined();
});

test('the mark changes when the file does, also behind a link', async ({ bin, expect }) => {
  const file = bin.put('first/srv-1', 0o755);
  const link = join(file, '..', 'srv');
  symlinkSync(file, link);
  const programs = systemPrograms({ PATH: bin.path });
  const before = await programs.find('srv');
  expect(await programs.find('srv')).toEqual(before);
  bin.put('first/srv-1', 0o755, '#!/bin/sh\n# another release\n');
  const after = await programs.find('srv');
  expect([after?.path, after?.mark === before?.mark]).toEqual([file, false]);
});
