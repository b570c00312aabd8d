import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { askProgram } from '../../../src/adapters/ask-program.ts';
import { killSurvivors, noSurvivors, survivors, testFolder } from '../../helpers/survivors.ts';

const run = promisify(execFile);

let folder: ReturnType<typeof testFolder>;

beforeEach(() => {
  folder = testFolder();
});

afterEach(() => {
  killSurvivors(folder.path);
  folder.remove();
});

/** Every process of the script names the folder. */
const shell = (script: string, limitMs = 10_000) =>
  askProgram(['env', `FOLDER=${folder.path}`, 'sh', '-c', script], limitMs);

describe('asking a program', () => {
  test('gives its code and what it printed on both streams', async ({ expect }) => {
    const { code, output } = await shell('echo usage; echo problem >&2; exit 3');
    expect(code).toBe(3);
    expect(output.split('\n').toSorted()).toEqual(['', 'problem', 'usage']);
  });

  test('gives all of a long answer', async ({ expect }) => {
    const { code, output } = await shell('i=0; while [ $i -lt 20000 ]; do echo "--flag-$i"; i=$((i+1)); done');
    expect(code).toBe(0);
    expect(output).toContain('--flag-19999\n');
  });

  test('reads nothing from us', async ({ expect }) => {
    expect(await shell('cat; echo done')).toEqual({ code: 0, output: 'done\n' });
  });

  test('keeps the beginning of an endless answer, and ends it', async ({ expect }) => {
    const { code, output } = await shell('yes', 3_000);
    expect(code).toBeNull();
    expect(output).toHaveLength(1024 * 1024);
    await noSurvivors(folder.path);
  });

  test('ends one that hangs, with what it said until then', async ({ expect }) => {
    expect(await shell(`trap '' TERM; echo wait; sleep 600`, 3_000)).toEqual({
      code: null,
      output: 'wait\n',
      why: 'it did not end within 3 s',
    });
    await noSurvivors(folder.path);
  });

  test('does not wait for others that hold its output open', async ({ expect }) => {
    expect(await shell('sleep 600 & echo here')).toEqual({ code: 0, output: 'here\n' });
    await noSurvivors(folder.path);
  });

  test('has no code when a signal ended it', async ({ expect }) => {
    expect(await shell('kill -SEGV $$')).toMatchObject({ code: null, why: 'it was ended by SIGSEGV' });
  });

  test('waits for nobody who cannot be ended, as one that hangs in a driver', async ({ expect, skip }) => {
    // Nobody hears of the end of one that is looked at by another, until that one has seen it.
    const program = [
      'import ctypes, os, time',
      'asked = os.getpid()',
      'if os.fork() == 0:',
      '    os.setsid()',
      '    if ctypes.CDLL(None).ptrace(0x4206, asked, None, None) == 0:',
      `        open('${folder.path}/runs', 'w')`,
      'time.sleep(600)',
    ];
    const script = `
      import { existsSync } from 'node:fs';
      import { askProgram } from ${JSON.stringify(new URL('../../../src/adapters/ask-program.ts', import.meta.url).href)};
      const calling = new AbortController();
      const look = setInterval(() => existsSync('${folder.path}/runs') && calling.abort(), 20);
      const python = ['env', 'FOLDER=${folder.path}', 'python3', '-c', ${JSON.stringify(program.join('\n'))}];
      const { output } = await askProgram(python, 600_000, { signal: calling.signal });
      clearInterval(look);
      console.log(output);
    `;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script]);
    if (!existsSync(join(folder.path, 'runs'))) skip(`there is no python3 that may look at another process: ${stdout}`);
    expect(survivors(folder.path)).not.toEqual([]);
  });

  test('says why it could not be started', async ({ expect }) => {
    expect(await askProgram(['no-such-program-at-all', '--help'], 1_000)).toEqual({
      code: null,
      why: expect.stringContaining('no program of this name'),
      output: 'cannot start no-such-program-at-all: no program of this name is on PATH',
    });
    expect(await askProgram(['true', 'null\0byte'], 1_000)).toMatchObject({ code: null });
  });
});
