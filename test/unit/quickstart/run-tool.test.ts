import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { runTool } from '../../../src/quickstart/run-tool.ts';
import { Unavailable } from '../../../src/quickstart/unavailable.ts';
import { noSurvivors, testFolder } from '../../helpers/survivors.ts';

const PATH = '/usr/bin:/bin';
const shell = (script: string, limitMs = 10_000) => runTool('sh', ['-c', script], { env: { PATH }, limitMs });

test('it gives what was printed, in English', async ({ expect }) => {
  expect(await shell('echo "$LC_ALL"; echo aside >&2')).toEqual({ stdout: 'C\n', stderr: 'aside\n' });
});

test.for([
  ['echo first; echo "E: the cause" >&2; echo last >&2; exit 3', 'sh failed: the cause'],
  ['echo one; echo two; exit 3', 'sh failed: two'],
  ['exit 3', 'sh ended with code 3 and said nothing'],
  ['kill -TERM $$', 'sh was ended by SIGTERM and said nothing'],
  ['yes', 'sh printed more than can be read'],
] as const)('`%s` is told as: %s', async ([script, message], { expect }) => {
  await expect(shell(script)).rejects.toThrow(new Unavailable(message));
});

test('one that does not end is ended', async ({ expect, onTestFinished }) => {
  const { path: mark, remove } = testFolder();
  onTestFinished(remove);
  const hanging = runTool('sh', ['-c', 'trap "" TERM; exec sleep 600'], { env: { PATH, MARK: mark }, limitMs: 100 });
  await expect(hanging).rejects.toThrow(new Unavailable('sh did not finish within 0.1 seconds'));
  await noSurvivors(mark);
});

test('one that is not there, or may not run, is told', async ({ expect, onTestFinished }) => {
  const { path, remove } = testFolder();
  onTestFinished(remove);
  const plain = join(path, 'plain');
  writeFileSync(plain, '');
  const terms = { env: { PATH }, limitMs: 1_000 };
  await expect(runTool(join(path, 'none'), [], terms)).rejects.toThrow(/none cannot be started: it, or the loader/);
  await expect(runTool(plain, [], terms)).rejects.toThrow(/plain cannot be started: it may not be executed/);
});
