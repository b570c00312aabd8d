import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe } from 'vitest';
import { test, type LaunchScene } from '../helpers/launch-scene.ts';
import { waitFor } from '../helpers/wait-for.ts';

const linux = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);
const heard = (scene: LaunchScene): string =>
  existsSync(join(scene.folder, 'heard')) ? readFileSync(join(scene.folder, 'heard'), 'utf8').trim() : '';
const pidOf = (scene: LaunchScene): number => Number(readFileSync(join(scene.folder, 'listening'), 'utf8'));
const listening = (scene: LaunchScene): Promise<boolean> =>
  waitFor('catnap to listen', () => existsSync(join(scene.folder, 'listening')) && pidOf(scene) > 0);

/** A scene whose catnap runs on a fetched Node, and so in a process of its own. */
function relayed(scene: LaunchScene): LaunchScene {
  scene.wantNode('>=999.0.0');
  return scene;
}

describe.runIf(linux)('a catnap in a process of its own', () => {
  test('hears each signal once and in order, and its exit code is passed back', async ({ expect, scene }) => {
    const here = relayed(scene('package'));
    const launched = here.launch(['listen'], { detached: true });
    await listening(here);
    let sofar = '';
    for (const signal of ['SIGHUP', 'SIGUSR2', 'SIGINT', 'SIGTERM'] as const) {
      launched.kill(signal);
      sofar = `${sofar} ${signal}`.trim();
      await waitFor(`${signal} to be heard`, () => heard(here) === sofar);
    }
    expect((await launched).exitCode).toBe(5);
    expect(heard(here)).toBe('SIGHUP SIGUSR2 SIGINT SIGTERM');
  });

  test.for(['SIGKILL', 'SIGTERM'])(
    'that dies by %s takes its launcher with it in the same way',
    async (signal, { expect, scene }) => {
      const { signal: by, exitCode } = await relayed(scene('package')).launch(['die', signal]);
      expect([by, exitCode]).toEqual([signal, undefined]);
    },
  );
});

/** The process that started another. */
function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

// util-linux's script gives a terminal: what is written to it is typed, and Ctrl+C goes to every process in the foreground.
describe.runIf(linux && existsSync('/usr/bin/script'))('Ctrl+C in a terminal', () => {
  test.for([
    ['a catnap in a process of its own', relayed, {}],
    ['a catnap under npm, which repeats it', (scene: LaunchScene) => scene, { npm_lifecycle_event: 'start' }],
  ] as const)('is heard once by %s', async ([, prepare, env], { expect, scene }) => {
    const here = prepare(scene('package'));
    const command = `exec '${process.execPath}' '${here.path('scripts/launch.mjs')}' listen`;
    const terminal = execa('/usr/bin/script', ['-qfec', command, '/dev/null'], {
      cwd: here.folder,
      env: { ...here.env, ...env },
      extendEnv: false,
      reject: false,
      stdin: 'pipe',
    });
    await listening(here);
    const launcher = parentOf(pidOf(here));
    terminal.stdin.write('\x03');
    await waitFor('it to be heard', () => heard(here) !== '');
    process.kill(launcher, 'SIGINT');
    process.kill(launcher, 'SIGTERM');
    expect((await terminal).exitCode).toBe(5);
    expect(heard(here)).toBe('SIGINT SIGTERM');
  });
});
