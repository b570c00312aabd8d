import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { test as base } from 'vitest';
import { ROOT } from '../house/source-files.ts';
import { testFolder } from '../helpers/survivors.ts';

type Files = Readonly<Record<string, string>>;
type Run = (
  files: Files,
  env?: Readonly<Record<string, string>>,
) => Promise<{ last: string | undefined; exitCode: number | undefined; all: string }>;

/** Runs vitest with our reporter on files of a project of its own. */
const test = base.extend('run', async ({}, { onCleanup }): Promise<Run> => {
  const folder = testFolder();
  onCleanup(() => folder.remove());
  symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'));
  const config = `
    import { closingLine } from '${join(ROOT, 'test/helpers/closing-line.ts')}';
    export default { test: { reporters: ['default', closingLine()], globalSetup: process.env.SETUP ? [process.env.SETUP] : [] } };
  `;
  return async (files, env = {}) => {
    for (const [name, text] of Object.entries({ 'vitest.config.ts': config, ...files })) {
      mkdirSync(dirname(join(folder.path, name)), { recursive: true });
      writeFileSync(join(folder.path, name), text);
    }
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    // One pipe for both, as a terminal is: with two nobody knows which line came last.
    const { stdout: all, exitCode } = await execa(
      'sh',
      ['-c', 'exec "$0" "$@" 2>&1', process.execPath, vitest, 'run'],
      {
        cwd: folder.path,
        env: { CI: 'true', CATNAP_TALLY_FILE: undefined, ...env },
        reject: false,
        stdin: 'ignore',
      },
    );
    return { last: all.trimEnd().split('\n').at(-1), exitCode, all };
  };
});

const GOOD = "import { test } from 'vitest';\ntest('good', () => {});\n";

test('a good run ends with its counts', async ({ expect, run }) => {
  const { last, exitCode } = await run({ 'a.test.ts': `${GOOD}test.skip('later', () => {});\ntest.todo('once');\n` });
  expect([last, exitCode]).toEqual(['1 passed, 0 failed, 2 skipped', 0]);
});

test.for([
  ['a test that fails', `${GOOD}test('bad', () => { throw new Error('x'); });`, '1 passed, 1 failed, 0 skipped'],
  ['a file that does not load', "import { gone } from './gone.ts';\ngone();", '0 passed, 1 failed, 0 skipped'],
  [
    'a hook that fails',
    "import { afterAll, test } from 'vitest';\nafterAll(() => { throw new Error('x'); });\ntest('good', () => {});",
    '1 passed, 1 failed, 0 skipped',
  ],
  [
    'an error outside of every test',
    `${GOOD}test('stray', async () => { void Promise.reject(new Error('x')); await new Promise((go) => setImmediate(go)); });`,
    '2 passed, 1 failed, 0 skipped',
  ],
  ['a file without a test', 'export {};', '0 passed, 1 failed, 0 skipped'],
] as const)('%s is a failure', async ([, text, line], { expect, run }) => {
  const { last, exitCode } = await run({ 'a.test.ts': text });
  expect([last, exitCode]).toEqual([line, 1]);
});

test('a run that finds no test at all is a failure', async ({ expect, run }) => {
  const { last, exitCode } = await run({});
  expect([last, exitCode]).toEqual(['0 passed, 1 failed, 0 skipped', 1]);
});

test('a set-up that fails is a failure', async ({ expect, run }) => {
  const { last, exitCode } = await run(
    { 'a.test.ts': GOOD, 'setup.ts': "export default () => { throw new Error('x'); };" },
    { SETUP: './setup.ts' },
  );
  expect([last, exitCode]).toEqual(['0 passed, 1 failed, 0 skipped', 1]);
});

test('a caller that adds up is told what failed, a line each', async ({ expect, run, onTestFinished }) => {
  const folder = testFolder();
  onTestFinished(() => folder.remove());
  const file = join(folder.path, 'tally');
  const bad = "import { expect, test } from 'vitest'; test('the sum', () => expect(1 + 1).toBe(3));";
  await run({ 'a.test.ts': GOOD, 'b.test.ts': bad }, { CATNAP_TALLY_FILE: file });
  expect(readFileSync(file, 'utf8')).toMatch(/^1 1 0\n# b\.test\.ts > the sum: [^\n]*expected 2 to be 3[^\n]*\n$/);
});

test('a caller that adds up gets the counts in its file, and no line', async ({ expect, run, onTestFinished }) => {
  const folder = testFolder();
  onTestFinished(() => folder.remove());
  const file = join(folder.path, 'tally');
  writeFileSync(file, '4 0 0\n');
  const { all } = await run({ 'a.test.ts': GOOD }, { CATNAP_TALLY_FILE: file });
  expect(readFileSync(file, 'utf8')).toBe('4 0 0\n1 0 0\n');
  expect(all).not.toContain('passed, 0 failed');
});
