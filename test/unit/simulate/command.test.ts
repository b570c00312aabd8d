import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { run } from '../../../src/cli/run.ts';

type Said = { readonly code: number; readonly out: string; readonly err: string; readonly folder: string };

/** Runs the command in a folder with a config and a trace. */
async function simulate(args: readonly string[], cleanUp: (run: () => Promise<void>) => void): Promise<Said> {
  const folder = await mkdtemp(join(tmpdir(), 'catnap-simulate-'));
  cleanUp(() => rm(folder, { recursive: true }));
  const models = { a: { backend: 'stub' }, b: { backend: 'stub' } };
  const policy = { policy_type: 'slack', max_wait_secs: 30 };
  await writeFile(join(folder, 'c.json'), JSON.stringify({ models, policy, state_dir: join(folder, 'state') }));
  await writeFile(join(folder, 't.csv'), 'at_secs,model,service_secs\n0,a,1\n1,b,1\n2,stranger,1\nrubbish\n');
  const said = { out: '', err: '' };
  const code = await run(
    ['simulate', '--config', join(folder, 'c.json'), ...args.map((arg) => arg.replace('FOLDER', folder))],
    {
      out: (text) => void (said.out += text),
      err: (text) => void (said.err += text),
      in: () => Promise.resolve(''),
      colour: false,
      env: {},
    },
  );
  return { code, ...said, folder };
}

describe('catnap simulate', () => {
  test('compares all policies on a made-up workload, and draws them', async ({ expect, onTestFinished }) => {
    const args = ['--workload', 'moderate', '--hours', '0.1', '--svg', 'FOLDER/out.svg'];
    const { code, out, folder } = await simulate(args, onTestFinished);
    expect(code).toBe(0);
    const rows = out.split('\n').map((line) => line.split(/ {2,}/)[0]);
    expect(rows).toEqual(
      expect.arrayContaining(['fifo', 'cost_aware', 'time_slice', 'slack', 'llmux fifo', 'llama-swap']),
    );
    expect(await readFile(join(folder, 'out.svg'), 'utf8')).toMatch(/^<svg [\s\S]*slack: \d+ swaps/);
  });

  test('plays a trace, and says what it made of it', async ({ expect, onTestFinished }) => {
    const { code, out, err } = await simulate(
      ['--trace', 'FOLDER/t.csv', '--policy', 'slack', '--json'],
      onTestFinished,
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ policies: [{ policy: 'slack', served: 3, swaps: 3 }] });
    expect(err).toContain('1 lines of');
    expect(err).toContain('stranger');
  });

  test.for([
    [['--workload', 'heavyy'], '--workload takes one of: light'],
    [['--workload', 'light', '--policy', 'best'], '--policy takes all or one of: fifo'],
    [['--workload', 'light', '--hours', 'x'], '--hours takes one number'],
    [['--trace', 'FOLDER/none.csv'], 'cannot be read'],
    [['--trace', 'FOLDER/c.json'], 'is no trace'],
    [[], 'say what to play'],
  ] as const)('%j is told what to change', async ([args, says], { expect, onTestFinished }) => {
    const { code, err } = await simulate(args, onTestFinished);
    expect(code).toBe(2);
    expect(err).toContain(says);
  });
});
