import { describe, test } from 'vitest';
import { findCycle, importsOf, offence, roomOf } from './imports.ts';
import { ROOMS } from './rooms.ts';
import { filesUnder } from './source-files.ts';

const sources = filesUnder('src').filter(({ path }) => path.endsWith('.ts'));
const imports = sources.flatMap(importsOf);

test('rooms import only what test/house/rooms.ts lets them', ({ expect }) => {
  expect(imports.map(offence).filter((line) => line !== undefined)).toEqual([]);
});

test('every folder of src is a room of the table, and every room exists', ({ expect }) => {
  expect([...new Set(sources.map(({ path }) => roomOf(path) ?? path))].sort()).toEqual(Object.keys(ROOMS).sort());
});

test('no file imports itself through others', ({ expect }) => {
  expect(findCycle(imports)).toBeUndefined();
});

test('no two rooms need each other, not even for types', ({ expect }) => {
  const between = imports.flatMap(({ from, line, target, ours }) => {
    const [here, there] = [roomOf(from), roomOf(target)];
    if (!ours || here === there || here === undefined || there === undefined) return [];
    return [{ from: here, line, target: there, ours, typeOnly: false }];
  });
  expect(findCycle(between)).toBeUndefined();
});

describe('the reading itself', () => {
  const read = (path: string, text: string) => importsOf({ path, text }).map(offence);

  test('names the room, the file and the line of an offence', ({ expect }) => {
    expect(
      read('src/core/lane.ts', "import { a } from './kinds.ts';\nimport { b } from '../adapters/x.ts';\n"),
    ).toEqual([undefined, 'src/core/lane.ts:2 core may not import src/adapters/x.ts']);
  });

  test('sees through lines, re-exports, side effects and dynamic imports', ({ expect }) => {
    const text = [
      'import {',
      '  one,',
      "} from '../runtime/a.ts';",
      "export * from '../runtime/b.ts';",
      "import '../runtime/c.ts';",
      "const d = await import('../runtime/d.ts');",
    ].join('\n');
    expect(read('src/ports/clock.ts', text).map((line) => line?.split(' ').at(-1))).toEqual([
      'src/runtime/a.ts',
      'src/runtime/b.ts',
      'src/runtime/c.ts',
      'src/runtime/d.ts',
    ]);
  });

  test('wants import type where only types may be taken', ({ expect }) => {
    const [value, mixed, type] = read(
      'src/ports/clock.ts',
      "import { a } from '../core/a.ts';\nimport { type B } from '../core/b.ts';\nimport type { C } from '../core/c.ts';\n",
    );
    expect(value).toMatch(/clock\.ts:1 ports may import types only/);
    expect(mixed).toMatch(/clock\.ts:2 ports may import types only/);
    expect(type).toBeUndefined();
  });

  test('keeps packages out of the deterministic rooms, whatever part of them is meant', ({ expect }) => {
    expect(read('src/core/a.ts', "import fs from 'node:fs';\nimport { z } from 'zod/v4';\n").every(Boolean)).toBe(true);
    expect(read('src/config/a.ts', "import { z } from 'zod/v4';\n")).toEqual([undefined]);
  });

  test('finds a circle of three files', ({ expect }) => {
    const edge = (from: string, target: string) => ({ from, line: 1, target, ours: true, typeOnly: false });
    expect(findCycle([edge('a', 'b'), edge('b', 'c'), edge('c', 'a')])).toEqual(['a', 'b', 'c', 'a']);
  });
});
