import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { costFile } from '../../../src/adapters/cost-file.ts';
import { modelId } from '../../../src/core/kinds.ts';

type CleanUp = (run: () => Promise<void>) => void;

async function scene(cleanUp: CleanUp) {
  const folder = await mkdtemp(join(tmpdir(), 'catnap-costs-'));
  cleanUp(() => rm(folder, { recursive: true }));
  const problems: string[] = [];
  return { folder, problems, file: costFile(folder, (problem) => problems.push(problem)) };
}

describe('what swaps cost', () => {
  test('is there again after a restart, and leaves nothing beside it', async ({ expect, onTestFinished }) => {
    const { file, folder, problems } = await scene(onTestFinished);
    expect(await file.read()).toEqual(new Map());
    const leg = { ms: 1_200.5, spreadMs: 3, samples: 2 };
    const costs = new Map([
      [modelId('a/b@c'), { 'come:5': leg }],
      [modelId('d'), { 'go:1': leg, holds: { 1: 9_000, hybrid: 12 } }],
    ]);
    await file.write(new Map());
    await file.write(costs);
    expect(await file.read()).toEqual(costs);
    expect(await readdir(folder)).toEqual(['costs.json']);
    expect(problems).toEqual([]);
  });

  test.for([
    '{',
    '[]',
    '{"version":2,"models":{}}',
    '{"version":1,"models":{"a":{"come:9":{"ms":1,"spreadMs":0,"samples":1}}}}',
    '{"version":1,"models":{"a":{"come:5":{"ms":-1,"spreadMs":0,"samples":1}}}}',
    '{"version":1,"models":{},"holds":{"a":{"1":-1}}}',
    '{"version":1,"models":{"a":{"come:5":{"ms":1e300,"spreadMs":0,"samples":1}}}}',
  ])('is learned anew when the file holds %j, with a word about it', async (text, { expect, onTestFinished }) => {
    const { file, folder, problems } = await scene(onTestFinished);
    await writeFile(join(folder, 'costs.json'), text);
    expect(await file.read()).toEqual(new Map());
    expect(problems).toEqual([expect.stringContaining('learned anew')]);
  });

  test('that cannot be written is told, and stops nobody', async ({ expect, onTestFinished }) => {
    const { folder, problems } = await scene(onTestFinished);
    const file = costFile(join(folder, 'not', 'there'), (problem) => problems.push(problem));
    await file.write(new Map());
    expect(problems).toEqual([expect.stringContaining('cannot be written')]);
  });
});
