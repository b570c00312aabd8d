import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, test } from 'vitest';
import { fetchedServer, findLlamaServer, type FindResult } from '../../../../src/quickstart/llama/find.ts';
import { testFolder } from '../../../helpers/survivors.ts';

let folder = '';
beforeEach(() => {
  const made = testFolder();
  folder = made.path;
  return made.remove;
});

const onPath = (): string => join(folder, 'bin', 'llama-server');
const inCache = (): string => fetchedServer(join(folder, 'cache'));

function program(file: string, script: string, mode = 0o755): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode });
  return file;
}

const printsVersion = (version: string): string => `echo 'version: ${version} (build 1)' >&2`;
const LACKS_A_LIBRARY = 'echo loading >&2; echo "error while loading shared libraries: libllama.so.0" >&2; exit 127';

function find(command = 'llama-server'): Promise<FindResult> {
  const env = { PATH: `${join(folder, 'bin')}:relative::/bin` };
  return findLlamaServer({ command, env, cacheDir: join(folder, 'cache') });
}

test('the one on PATH comes first', async ({ expect }) => {
  program(inCache(), printsVersion('1.0'));
  const path = program(onPath(), printsVersion('2.0'));
  expect(await find()).toEqual({ kind: 'found', server: { path, version: '2.0' } });
});

test('the one fetched earlier is next', async ({ expect }) => {
  const path = program(inCache(), printsVersion('1.0'));
  expect(await find()).toEqual({ kind: 'found', server: { path, version: '1.0' } });
});

test('one on PATH that does not run is passed over', async ({ expect }) => {
  program(onPath(), LACKS_A_LIBRARY);
  const path = program(inCache(), printsVersion('1.0'));
  expect(await find()).toEqual({ kind: 'found', server: { path, version: '1.0' } });
});

test('a path is taken as it stands', async ({ expect }) => {
  const path = program(join(folder, 'else where', 'server'), printsVersion('3.0'));
  expect(await find(path)).toEqual({ kind: 'found', server: { path, version: '3.0' } });
});

test('one that tells no version is used all the same', async ({ expect }) => {
  const path = program(onPath(), 'true');
  expect(await find()).toEqual({ kind: 'found', server: { path, version: 'unknown' } });
});

test('a file that may not be executed, and a folder of that name, are none', async ({ expect }) => {
  program(onPath(), printsVersion('2.0'), 0o644);
  mkdirSync(inCache(), { recursive: true });
  expect(await find()).toEqual({ kind: 'missing', why: 'llama-server is not on PATH' });
});

test('where none runs it says why, for each', async ({ expect }) => {
  const own = program(onPath(), LACKS_A_LIBRARY);
  const fetched = program(inCache(), 'kill -9 $$');
  expect(await find()).toEqual({
    kind: 'missing',
    why: `${own} failed: error while loading shared libraries: libllama.so.0, and ${fetched} was ended by SIGKILL and said nothing`,
  });
});
