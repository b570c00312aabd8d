import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { test as base } from 'vitest';
import { waitFor } from '../../helpers/wait-for.ts';

const NOBODY = 65_534;
const FIXTURE = join(import.meta.dirname, '../../fixtures/by-sudo.ts');
const run = promisify(execFile);

/** Somebody without rights, and a sudo that lets this test, which is root, do what it is asked. */
const test = base.extend('scene', async ({}, { onCleanup }) => {
  const folder = mkdtempSync(join(tmpdir(), 'catnap-by-sudo-'));
  const children: ChildProcess[] = [];
  const [bin, socket, asked] = [join(folder, 'bin'), join(folder, 'socket'), join(folder, 'asked')];
  mkdirSync(bin);
  chmodSync(folder, 0o755);
  const server = createServer((connection) => {
    connection.once('data', (data) => {
      const words: unknown = JSON.parse(data.toString());
      if (!Array.isArray(words)) return;
      const [program = '', ...rest] = words.map(String);
      appendFileSync(asked, `${[program, ...rest].join(' ')}\n`);
      const child = spawn(program, rest, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
      children.push(child);
      child.stdout.on('data', (chunk: Buffer) => connection.write(chunk));
      child.once('close', () => connection.end());
    });
    connection.on('error', () => {});
  }).listen(socket);
  await once(server, 'listening');
  chmodSync(socket, 0o777);
  const words = `#!${process.execPath}
const argv = process.argv.slice(2);
if (argv[0] !== '-n' || argv[1] !== '--') process.exit(1);
const connection = require('node:net').connect(${JSON.stringify(socket)});
connection.write(JSON.stringify(argv.slice(2)));
connection.pipe(process.stdout);
`;
  writeFileSync(join(bin, 'sudo'), words, { mode: 0o755 });
  onCleanup(() => {
    for (const child of children) child.kill('SIGKILL');
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    /** What sudo was asked for. */
    asked: () => (existsSync(asked) ? readFileSync(asked, 'utf8').trim().split('\n') : []),
    own: (child: ChildProcess) => void children.push(child),
    asNobody: async (...args: string[]): Promise<string> => {
      const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
      const options = { uid: NOBODY, gid: NOBODY, env, cwd: dirname(folder), timeout: 60_000 };
      return (await run(process.execPath, ['--disable-warning=ExperimentalWarning', FIXTURE, ...args], options)).stdout;
    },
  };
});

/** Whoever has no rights must be able to read what is run, which they are not where all of it lies in a home of root. */
function canBePlayed(): boolean {
  if (process.platform !== 'linux' || process.geteuid?.() !== 0) return false;
  const look = ['-e', `require('node:fs').accessSync(${JSON.stringify(FIXTURE)})`];
  const options = { uid: NOBODY, gid: NOBODY, cwd: '/' };
  return (
    spawnSync(process.execPath, look, options).status === 0 && spawnSync('kill', ['-0', `${process.pid}`]).status === 0
  );
}

const asRoot = test.skipIf(!canBePlayed());

asRoot('what criu has written as root is read by sudo', async ({ scene, expect }) => {
  const { folder, asNobody } = scene;
  expect((await asNobody('restored', folder)).trim()).toBe('undefined');
  for (const [name, text] of [
    ['stats-restore', 'x'],
    ['root.pid', '4321'],
    ['dump.log', '(00.1) Error (criu/sk-inet.c:188): inet: Connected TCP socket, consider using --tcp-established\n'],
  ] as const)
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  expect((await asNobody('restored', folder)).trim()).toBe('4321');
  expect(await asNobody('why', folder)).toMatch(/Connected TCP socket/);
  expect(scene.asked()).toEqual([`cat ${join(folder, 'root.pid')}`, `cat ${join(folder, 'dump.log')}`]);
});

asRoot('what runs as root is ended by sudo, asked once however often it is wanted', async ({ scene, expect }) => {
  const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  scene.own(child);
  const ended = once(child, 'exit');
  await scene.asNobody('kill', String(child.pid));
  expect(await ended).toEqual([null, 'SIGKILL']);
  await waitFor('what sudo was asked', () => scene.asked().length > 0);
  expect(scene.asked()).toEqual([`kill -KILL -- -${child.pid}`]);
});
