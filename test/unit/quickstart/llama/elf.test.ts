import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { ElfError, isElf, withInterpreter, withOwnFolderAsLibraryPath } from '../../../../src/quickstart/llama/elf.ts';
import { testFolder } from '../../../helpers/survivors.ts';
import { library, libraryPath, STRINGS_AT, stringAt } from './tiny-library.ts';

const CAT = '/bin/cat';

/** The loader that an executable names. */
function loaderOf(file: string): string {
  return /\/[\w./-]*\/ld-[\w.-]+/.exec(readFileSync(file, 'latin1'))?.[0] ?? '';
}

describe.skipIf(process.platform !== 'linux')('a program of this system', () => {
  test('runs through the loader it is given', ({ expect, onTestFinished }) => {
    const folder = testFolder();
    onTestFinished(folder.remove);
    const loader = join(folder.path, 'own-loader');
    copyFileSync(loaderOf(CAT), loader);
    chmodSync(loader, 0o755);
    const program = join(folder.path, 'cat');
    writeFileSync(program, withInterpreter(readFileSync(CAT), loader), { mode: 0o755 });

    expect(execFileSync(program, ['/proc/self/maps'], { encoding: 'utf8' })).toContain(loader);
  });

  test('without a library path has none to change', ({ expect }) => {
    expect(withOwnFolderAsLibraryPath(readFileSync(CAT))).toBeUndefined();
  });

  test('is never read past its end, wherever it is cut', ({ expect }) => {
    const whole = readFileSync(CAT);
    for (const length of [4, 16, 63, 64, 100, 500, 700]) {
      expect(() => withInterpreter(whole.subarray(0, length), '/x'), `${length} bytes`).toThrow(ElfError);
      expect(() => withOwnFolderAsLibraryPath(whole.subarray(0, length)), `${length} bytes`).toThrow(ElfError);
    }
  });
});

describe('a library', () => {
  test.for(['runpath', 'rpath'] as const)('with a %s looks beside itself first', (kind, { expect }) => {
    const before = library({ path: '/usr/lib/x86_64-linux-gnu/llama', kind });
    const after = withOwnFolderAsLibraryPath(before);
    expect(after && libraryPath(after)).toEqual({ kind: 'rpath', path: '$ORIGIN' });
    expect(after?.length).toBe(before.length);
  });

  test('keeps the strings that end like its old path', ({ expect }) => {
    const after = withOwnFolderAsLibraryPath(library({ path: '/usr/lib/x86_64-linux-gnu/llama' }));
    expect(after && stringAt(after, STRINGS_AT + '/usr/lib/x86_64-linux-gnu/'.length)).toBe('llama');
  });

  test.for([
    [library({ path: '/lib' }), 'its library path is too short to be replaced by $ORIGIN'],
    [library({ path: '/usr/lib/llama', pathAt: 1e6 }), 'its library path lies outside of the file'],
    [library({ path: '/usr/lib/llama', stringsAddress: 1e6 }), 'its strings lie outside of its segments'],
    [library({ path: '/usr/lib/llama', dynamicAt: 1e6 }), 'its dynamic section lies outside of the file'],
    [library({ path: '/usr/lib/llama', segments: 60_000 }), 'its program headers lie outside of the file'],
    [library({ path: '/usr/lib/llama' }).fill(1, 4, 5), 'it is not a 64-bit little-endian ELF file'],
    [Buffer.from('#!/bin/sh\n'), 'it is not an ELF file'],
  ] as const)('that is damaged is refused: %#', ([file, message], { expect }) => {
    expect(() => withOwnFolderAsLibraryPath(file)).toThrow(new ElfError(message));
  });

  test('is not given a loader', ({ expect }) => {
    expect(() => withInterpreter(library({ path: '/usr/lib/llama' }), '/lib/ld.so')).toThrow('it names no loader');
  });
});

test('a loader path longer than the kernel reads is refused', ({ expect }) => {
  const file = library({ path: '/usr/lib/llama', firstSegment: 'interpreter' });
  expect(() => withInterpreter(file, `/${'x'.repeat(4096)}`)).toThrow("the loader's path is longer than 4096 bytes");
});

test('a script is no ELF file', ({ expect }) => {
  expect(isElf(Buffer.from('#!/bin/sh\n'))).toBe(false);
  expect(isElf(Buffer.from('x'))).toBe(false);
});
