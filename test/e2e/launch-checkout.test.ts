import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test, type LaunchScene } from '../helpers/launch-scene.ts';
import { waitFor } from '../helpers/wait-for.ts';
import { describe } from 'vitest';

const calls = (scene: LaunchScene): { npm: number; tsc: number } => ({
  npm: scene.count('npm'),
  tsc: scene.count('tsc'),
});
/** Folders and locks that a launcher makes on its way. */
const scraps = (scene: LaunchScene): string[] => [
  ...scene.list('home').filter((name) => name.includes('.tmp-')),
  ...scene.list('home/.cache'),
];

function edit(scene: LaunchScene, change: (text: string) => string): void {
  const main = scene.path('src/cli/main.ts');
  writeFileSync(main, change(readFileSync(main, 'utf8')));
}

describe('a checkout', () => {
  test('is set up and built by the first start; the second does nothing', async ({ expect, scene }) => {
    const here = scene('checkout');
    const first = await here.launch(['exit', '4']);
    expect([first.exitCode, first.stderr]).toEqual([4, 'catnap: installing dependencies, once\ncatnap: building']);
    const second = await here.launch();
    expect([second.exitCode, second.stderr]).toEqual([0, '']);
    expect(calls(here)).toEqual({ npm: 1, tsc: 1 });
    expect(scraps(here)).toEqual([]);
  });

  test('is built again when a source has changed, and only then', async ({ expect, scene }) => {
    const here = scene('checkout');
    await here.launch();
    edit(here, (text) => `${text}\n// changed`);
    await here.launch();
    await here.launch();
    expect(calls(here)).toEqual({ npm: 1, tsc: 2 });
  });

  test('loses what was built from a source that is gone', async ({ expect, scene }) => {
    const here = scene('checkout');
    here.write('home/src/cli/extra.ts', '');
    await here.launch();
    expect(here.list('home/dist/cli')).toContain('extra.ts');
    rmSync(here.path('src/cli/extra.ts'));
    await here.launch();
    expect(here.list('home/dist/cli')).not.toContain('extra.ts');
  });

  test('does not start on sources that do not build, and says why', async ({ expect, scene }) => {
    const here = scene('checkout');
    await here.launch();
    edit(here, (text) => `${text}\n// bad`);
    const { exitCode, stderr, stdout } = await here.launch();
    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/the sources do not build:\n.*TS1: it is bad$/);
    expect(scraps(here)).toEqual([]);
    edit(here, (text) => text.replace('// bad', ''));
    expect((await here.launch()).exitCode).toBe(0);
  });

  test('is set up again when the lock file wants another version', async ({ expect, scene }) => {
    const here = scene('checkout');
    await here.launch();
    here.write(
      'home/package-lock.json',
      readFileSync(here.path('package-lock.json'), 'utf8').replace('7.0.0', '7.0.1'),
    );
    const { stderr } = await here.launch();
    expect(stderr).toContain('installing dependencies');
    expect(calls(here).npm).toBe(2);
  });

  test('accepts an installation by hand that is complete, and completes one that is not', async ({ expect, scene }) => {
    const here = scene('checkout');
    await here.launch();
    rmSync(here.path('node_modules/.made-from'));
    await here.launch();
    expect(calls(here).npm).toBe(1);
    const native = { version: '1.0.0', optional: true, os: [process.platform], cpu: [process.arch] };
    const lock = JSON.parse(readFileSync(here.path('package-lock.json'), 'utf8'));
    here.write(
      'home/package-lock.json',
      JSON.stringify({ packages: { ...lock.packages, 'node_modules/native': native } }),
    );
    await here.launch();
    expect(calls(here).npm).toBe(2);
  });

  test('does not care about packages of other platforms', async ({ expect, scene }) => {
    const here = scene('checkout');
    await here.launch();
    rmSync(here.path('node_modules/.made-from'));
    const lock = JSON.parse(readFileSync(here.path('package-lock.json'), 'utf8'));
    const foreign = { version: '1.0.0', optional: true, os: ['plan9'], cpu: ['mips'] };
    here.write(
      'home/package-lock.json',
      JSON.stringify({ packages: { ...lock.packages, 'node_modules/foreign': foreign } }),
    );
    await here.launch();
    expect(calls(here).npm).toBe(1);
  });

  test('keeps what it has when npm fails, and says which line tells why', async ({ expect, scene }) => {
    const here = scene('checkout');
    await here.launch();
    here.write(
      'home/package-lock.json',
      readFileSync(here.path('package-lock.json'), 'utf8').replace('7.0.0', '7.0.1'),
    );
    here.npmDoes = 'offline';
    const { exitCode, stderr } = await here.launch();
    expect(exitCode).toBe(1);
    expect(stderr).toContain('npm could not install the dependencies: network request to the registry failed');
    expect(here.list('home/node_modules')).toContain('typescript');
    expect(scraps(here)).toEqual([]);
  });

  test('is set up once when several start at the same time', async ({ expect, scene }) => {
    const here = scene('checkout');
    const all = await Promise.all([here.launch(), here.launch(), here.launch()]);
    expect(all.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    expect(calls(here)).toEqual({ npm: 1, tsc: 1 });
    expect(scraps(here)).toEqual([]);
  });

  test('leaves nothing half done when it is stopped while it is set up', async ({ expect, scene }) => {
    const here = scene('checkout');
    here.npmDoes = 'hang';
    const launched = here.launch();
    await waitFor('npm to be called', () => here.count('npm') === 1);
    launched.kill('SIGTERM');
    const { exitCode, stderr } = await launched;
    expect([exitCode, stderr.split('\n').at(-1)]).toEqual([143, 'catnap: stopped by SIGTERM']);
    expect(scraps(here)).toEqual([]);
    expect(here.list('home/node_modules')).toEqual([]);
  });

  test('that this user may not write to is not set up, and who may is told', async ({ expect, scene, skip }) => {
    const here = scene('checkout');
    const closed = await here.closed();
    if (closed.reader === undefined) return skip('the Node or the folder of this test is closed to other users');
    const { exitCode, stderr } = await here.launch([], closed.reader);
    closed.open();
    expect([exitCode, stderr.split('\n').length]).toEqual([1, 1]);
    expect(stderr).toMatch(
      / has to be set up, and user \d+ may not: EACCES.*(Run "npm run build" there as|Make \S+ writable)/,
    );
    expect(scraps(here)).toEqual([]);
  });

  test('that is set up runs for whoever may only read it', async ({ expect, scene, skip }) => {
    const here = scene('checkout');
    await here.launch();
    const closed = await here.closed();
    if (closed.reader === undefined) return skip('the Node or the folder of this test is closed to other users');
    const { exitCode, stderr } = await here.launch(['exit', '4'], closed.reader);
    closed.open();
    expect([exitCode, stderr]).toEqual([4, '']);
  });
});
