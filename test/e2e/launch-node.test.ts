import { readFileSync, rmSync, utimesSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { test, type LaunchScene } from '../helpers/launch-scene.ts';

const TOO_NEW = '>=999.0.0';
/** Beyond the largest pid that Linux gives. */
const NO_PID = 2 ** 22 + 1;
const CARRIED: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../../scripts/node/linux-x64/package.json', import.meta.url), 'utf8'),
);
const supported = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);

const said = (stdout: unknown): { pid: number; execPath: string; argv: string[] } => JSON.parse(String(stdout));
const shelf = (scene: LaunchScene): string[] => scene.list('cache/node');

describe('a Node that is new enough', () => {
  test('runs catnap in its own process, with the arguments as they were given', async ({ expect, scene }) => {
    const launched = scene('package').launch(['--config', 'a b.json', '']);
    const { stdout, exitCode } = await launched;
    expect(said(stdout)).toMatchObject({
      pid: launched.pid,
      execPath: process.execPath,
      argv: ['--config', 'a b.json', ''],
    });
    expect(exitCode).toBe(0);
  });

  test('gives the exit code of catnap, and needs neither npm nor a cache', async ({ expect, scene }) => {
    const here = scene('package');
    expect((await here.launch(['exit', '7'])).exitCode).toBe(7);
    expect([here.count('npm'), here.list('cache')]).toEqual([0, []]);
  });

  test('says what to do when the package has no built product', async ({ expect, scene }) => {
    const here = scene('package');
    rmSync(here.path('dist'), { recursive: true });
    const { stderr, exitCode } = await here.launch();
    expect(stderr).toMatch(
      /^catnap: \S+dist\/cli\/main\.js is missing; run npm run build in a checkout, or install catnap again\.$/,
    );
    expect(exitCode).toBe(1);
  });
});

describe.runIf(supported)('a Node that is too old, where one can be fetched', () => {
  test('is replaced by a fetched one, once', async ({ expect, scene }) => {
    const here = scene('package');
    here.wantNode(TOO_NEW);
    const first = await here.launch(['exit', '3']);
    expect(first.exitCode).toBe(3);
    expect(said(first.stdout).argv).toEqual(['exit', '3']);
    expect(first.stderr).toMatch(/^catnap: this is Node v[\d.]+; fetching Node [\d.]+ into \S+, once$/);
    const second = await here.launch();
    expect([second.exitCode, second.stderr, here.count('npm')]).toEqual([0, '', 1]);
    expect(shelf(here)).toEqual([`${CARRIED.version}-linux-${process.arch}`]);
  });

  test('is replaced once when two start at the same time', async ({ expect, scene }) => {
    const here = scene('package');
    here.wantNode(TOO_NEW);
    const both = await Promise.all([here.launch(), here.launch(), here.launch()]);
    expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    expect(here.count('npm')).toBe(1);
    expect(shelf(here)).toEqual([`${CARRIED.version}-linux-${process.arch}`]);
  });

  test('is one sentence and 78 when npm cannot fetch, and nothing is left', async ({ expect, scene }) => {
    const here = scene('package');
    here.wantNode(TOO_NEW);
    here.npmDoes = 'offline';
    const { stderr, stdout, exitCode } = await here.launch();
    expect(exitCode).toBe(78);
    expect(stdout).toBe('');
    expect(stderr.split('\n').at(-1)).toBe(
      `catnap: catnap needs Node ${TOO_NEW} and this is ${process.version}; fetching ${CARRIED.version} failed ` +
        '(network request to the registry failed). Install a newer Node, or go online and try again.',
    );
    expect(shelf(here)).toEqual([]);
  });

  test('is 78 when there is no npm at all', async ({ expect, scene }) => {
    const here = scene('package');
    here.wantNode(TOO_NEW);
    const { stderr, exitCode } = await here.launch([], { env: { ...here.env, PATH: '/nowhere' } });
    expect(stderr).toContain('spawn npm ENOENT');
    expect(exitCode).toBe(78);
  });

  test('is 78 when what came does not run here, and it is not kept', async ({ expect, scene }) => {
    const here = scene('package');
    here.wantNode(TOO_NEW);
    here.npmDoes = 'wrong';
    const { stderr, exitCode } = await here.launch();
    expect(stderr).toContain('it does not run here: v1.2.3');
    expect([exitCode, shelf(here)]).toEqual([78, []]);
  });

  test.for([
    ['that has ended', hostname(), 0],
    ['of another machine that no longer touches it', 'elsewhere', 60],
  ] as const)('does not wait for the lock of a launcher %s', async ([, host, agoSecs], { expect, scene }) => {
    const here = scene('package');
    here.wantNode(TOO_NEW);
    const lock = `cache/node/${CARRIED.version}-linux-${process.arch}.lock`;
    here.write(lock, JSON.stringify({ pid: NO_PID, host }));
    const touched = Date.now() / 1_000 - agoSecs;
    utimesSync(join(here.folder, lock), touched, touched);
    const { exitCode, stderr } = await here.launch();
    expect(stderr).not.toContain('waiting');
    expect([exitCode, here.count('npm'), shelf(here).length]).toEqual([0, 1, 1]);
  });
});

describe('a Node that is too old, where there is none to fetch', () => {
  test('is one sentence and 78', async ({ expect, scene }) => {
    const here = scene('package');
    here.wantNode(TOO_NEW);
    rmSync(here.path('scripts/node'), { recursive: true });
    const { stderr, exitCode } = await here.launch();
    expect(stderr).toBe(
      `catnap: catnap needs Node ${TOO_NEW} and this is ${process.version}; ` +
        `install a newer Node, there is none to fetch for ${process.platform} on ${process.arch}.`,
    );
    expect([exitCode, here.count('npm')]).toEqual([78, 0]);
  });
});
