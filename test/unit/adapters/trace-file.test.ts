import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { TraceFile } from '../../../src/adapters/trace-file.ts';

type CleanUp = (run: () => Promise<void>) => void;

async function scene(cleanUp: CleanUp, maxBytes: number, name = 'trace.csv') {
  const folder = await mkdtemp(join(tmpdir(), 'catnap-trace-'));
  cleanUp(() => rm(folder, { recursive: true }));
  const problems: string[] = [];
  const path = join(folder, name);
  const open = () => new TraceFile({ path, head: 'x,y', maxBytes, onProblem: (problem) => problems.push(problem) });
  return { folder, path, problems, open };
}

test('a trace has its head once, and goes on after a restart', async ({ expect, onTestFinished }) => {
  const { path, problems, open } = await scene(onTestFinished, 1_000);
  for (const line of ['1,a', '2,b']) {
    const file = open();
    file.append(line);
    await file.close();
  }
  expect(await readFile(path, 'utf8')).toBe('x,y\n1,a\n2,b\n');
  expect(problems).toEqual([]);
});

test('a trace that is large enough is put aside, once', async ({ expect, onTestFinished }) => {
  const { folder, path, open } = await scene(onTestFinished, 60);
  const file = open();
  for (let n = 0; n < 40; n++) {
    file.append(`${n},${'z'.repeat(10)}`);
    await file.close();
  }
  expect(await readdir(folder)).toEqual(['trace.csv', 'trace.csv.1']);
  for (const name of ['', '.1']) {
    const text = await readFile(`${path}${name}`, 'utf8');
    expect(text.startsWith('x,y\n')).toBe(true);
    expect(text.length).toBeLessThanOrEqual(80);
  }
  expect(await readFile(path, 'utf8')).toContain('39,z');
});

test('a trace that cannot be written is told once, and stops nobody', async ({ expect, onTestFinished }) => {
  const { problems, open } = await scene(onTestFinished, 1_000, 'not/there.csv');
  const file = open();
  for (let n = 0; n < 3; n++) {
    file.append('1,a');
    await file.close();
  }
  expect(problems).toEqual([expect.stringContaining('is not complete')]);
});
