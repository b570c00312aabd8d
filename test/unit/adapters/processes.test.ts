import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { openProcesses, type ProcessesOptions, type SystemProcesses } from '../../../src/adapters/processes.ts';
import { engineId, modelId } from '../../../src/core/kinds.ts';
import type { Child, SpawnSpec } from '../../../src/ports/process.ts';
import { killSurvivors, noSurvivors, survivors, testFolder } from '../../helpers/survivors.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const fixture = (name: string) => new URL(`../../fixtures/${name}.ts`, import.meta.url).pathname;

let folder: ReturnType<typeof testFolder>;
let processes: SystemProcesses;
let problems: string[];

beforeEach(async () => {
  folder = testFolder();
  problems = [];
  processes = await open();
});

afterEach(async () => {
  killSurvivors(folder.path);
  await processes.close();
  folder.remove();
});

const open = (options: Partial<ProcessesOptions> = {}) =>
  openProcesses({ stateDir: join(folder.path, 'state'), onProblem: (message) => problems.push(message), ...options });

function spec(argv: SpawnSpec['argv'], rest: Partial<SpawnSpec> = {}): SpawnSpec {
  const model = modelId('alpha');
  // The folder's name in its environment is how a test finds what an engine left.
  return {
    engine: engineId(model, 0),
    model,
    argv,
    env: { TEST_FOLDER: folder.path },
    cwd: undefined,
    port: 1,
    ...rest,
  };
}

const start = (name: string, ...args: string[]) => processes.spawn(spec([process.execPath, fixture(name), ...args]));

/** Another engine, with a log of its own. */
const startOther = (name: string, ...args: string[]) =>
  processes.spawn(spec([process.execPath, fixture(name), ...args], { engine: engineId(modelId('alpha'), 1) }));

const printed = (child: Child, line: string, within = 10_000) =>
  waitFor(`the line "${line}"`, () => child.tail(100).find((said) => said.startsWith(line)), { within });

const records = () => readdirSync(join(folder.path, 'state', 'engines'));

describe('a child process', () => {
  test('ends by itself: code, last lines without colour, nothing left', async ({ expect }) => {
    const child = await start('dies', '--code', '3');
    expect(await child.exited).toEqual({ code: 3, signal: null });
    expect(child.hasExited).toBe(true);
    expect(child.tail(10)).toEqual(['loading model', 'error: model is corrupted or incomplete']);
    expect(child.tail(1)).toEqual(['error: model is corrupted or incomplete']);
    expect(await child.members()).toEqual([]);
    await child.forget();
    expect(child.tail(1)).toEqual(['error: model is corrupted or incomplete']);
    expect(records()).toEqual([]);
  });

  test('says which signal ended it', async ({ expect }) => {
    const child = await start('dies', '--signal', 'SIGKILL');
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await child.forget();
  });

  test('leads a session and group of its own, reads nothing, and shares no pipe with us', async ({ expect }) => {
    const child = await processes.spawn(
      spec([
        'sh',
        '-c',
        'ls -l /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2; if read line; then echo heard; else echo deaf; fi; echo ready; exec sleep 600',
      ]),
    );
    await printed(child, 'ready');
    const [pid] = await child.members();
    expect(pid).toBe(child.pid);
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    expect(fields.slice(2, 4)).toEqual([`${child.pid}`, `${child.pid}`]);
    const open = child.tail(100).join('\n');
    expect(open).toContain('0 -> /dev/null');
    expect(open).toMatch(/1 -> .*\/state\/logs\/alpha-0\.[0-9a-f]{8}\.log/);
    expect(open).toMatch(/2 -> .*\/state\/logs\//);
    expect(open).toContain('deaf');
    expect(open).not.toMatch(/socket|pipe/);
    child.signal('SIGKILL');
    await noSurvivors(folder.path);
  });

  test('inherits nothing of ours that would change it', async ({ expect }) => {
    const leaks = {
      npm_config_registry: 'x',
      LLAMA_ARG_PORT: '1',
      LLAMA_API_KEY: 'k',
      AIP_MODE: 'PREDICTION',
      NODE_OPTIONS: '--no-warnings',
      INIT_CWD: '/',
      CATNAP_LOG: 'debug',
      SOME_SECRET: 's',
    };
    const before = { ...process.env };
    Object.assign(process.env, leaks, { CUDA_VISIBLE_DEVICES: '1', PATH: `/a/node_modules/.bin:${before['PATH']}` });
    try {
      const child = await processes.spawn(spec(['env'], { env: { LLAMA_ARG_THREADS: '2' } }));
      await child.exited;
      const names = child.tail(500).map((line) => line.split('=')[0] ?? '');
      expect(names).toEqual(
        expect.arrayContaining(['PATH', 'CUDA_VISIBLE_DEVICES', 'LLAMA_ARG_THREADS', 'CATNAP_ENGINE']),
      );
      expect(names.filter((name) => name in leaks || name.startsWith('npm_') || name.startsWith('VITEST'))).toEqual([]);
      expect(child.tail(500).join('\n')).not.toContain('node_modules/.bin');
      await child.forget();
    } finally {
      for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
      Object.assign(process.env, before);
    }
  });

  test.for([
    ['no-such-program-at-all', 'cannot start no-such-program-at-all: no program of this name is on PATH'],
    ['/no/such/program', 'cannot start /no/such/program: there is no such file'],
    ['/etc/passwd', 'cannot start /etc/passwd: the file may not be executed; see its permissions'],
  ] as const)('%s cannot be started, and the error says why', async ([program, message], { expect }) => {
    await expect(processes.spawn(spec([program]))).rejects.toThrow(message);
    expect(records()).toEqual([]);
  });

  test('a missing folder and a missing interpreter are named too', async ({ expect }) => {
    await expect(processes.spawn(spec(['true'], { cwd: '/no/such/folder' }))).rejects.toThrow(
      'its folder /no/such/folder does not exist',
    );
    const script = join(folder.path, 'script');
    writeFileSync(script, '#!/no/such/interpreter\n', { mode: 0o755 });
    await expect(processes.spawn(spec([script]))).rejects.toThrow(
      'the interpreter named in its first line does not exist',
    );
  });
});

describe('stopping', () => {
  test('one that ignores SIGTERM is ended by SIGKILL', async ({ expect }) => {
    const child = await start('stubborn');
    await printed(child, 'ready');
    child.signal('SIGTERM');
    await printed(child, 'hint 1');
    expect(await child.members()).toEqual([child.pid]);
    child.signal('SIGKILL');
    await waitFor('no members', async () => (await child.members()).length === 0);
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
    child.signal('SIGKILL');
    await noSurvivors(folder.path);
  });

  test('one that gives in at the second SIGTERM gets both', async ({ expect }) => {
    const child = await start('stubborn', '--hint-ends-it-at', '2');
    await printed(child, 'ready');
    child.signal('SIGTERM');
    await printed(child, 'hint 1');
    child.signal('SIGTERM');
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(await child.members()).toEqual([]);
  });

  test.for([
    ['a child in its group', []],
    ['a child whose leader has ended', ['--leave']],
    ['a child in a session of its own', ['--session']],
    ['a child in a session of its own whose leader has ended', ['--session', '--leave']],
    ['a child without environment whose leader has ended', ['--bare', '--leave']],
    ['a child without environment in a session of its own', ['--bare', '--session', '--hide']],
  ] as const)('%s is a member, and SIGKILL ends it', async ([, args], { expect }) => {
    const child = await start('forking', ...args);
    const stray = Number((await printed(child, 'ready')).split(' ')[1]);
    if (args.some((arg) => arg === '--leave')) await child.exited;
    child.signal('SIGTERM');
    await waitFor('only the child to be left', async () => {
      const members = await child.members();
      return members.includes(stray) && (child.hasExited || args.some((arg) => arg === '--hide'));
    });
    child.signal('SIGKILL');
    await waitFor('no members', async () => (await child.members()).length === 0);
    expect(existsSync(`/proc/${stray}`) && !isZombie(stray)).toBe(false);
    await child.exited;
    await noSurvivors(folder.path);
  });

  test('SIGKILL also ends what it can only find afterwards', async ({ expect }) => {
    const child = await start('forking', '--session', '--leave');
    await child.exited;
    child.signal('SIGKILL');
    expect(survivors(folder.path)).toHaveLength(1);
    await waitFor('no members', async () => (await child.members()).length === 0);
    await noSurvivors(folder.path);
  });

  test('a process that only looks like a child is not a member', async ({ expect }) => {
    const child = await start('stubborn');
    const other = await startOther('stubborn');
    await Promise.all([printed(child, 'ready'), printed(other, 'ready')]);
    child.signal('SIGKILL');
    await waitFor('no members', async () => (await child.members()).length === 0);
    expect(await other.members()).toEqual([other.pid]);
    expect(other.hasExited).toBe(false);
    other.signal('SIGKILL');
    await noSurvivors(folder.path);
  });

  test('killAllNow leaves nothing, wherever it hides', async ({ expect }) => {
    const children = await Promise.all([start('stubborn'), startOther('forking', '--session', '--hide')]);
    await Promise.all(children.map((child) => printed(child, 'ready')));
    const asked = processes.ask(['env', `TEST_FOLDER=${folder.path}`, 'sleep', '600'], 60_000);
    await waitFor('what was asked to run', () => survivors(folder.path).some(({ command }) => command === 'sleep 600'));
    expect(survivors(folder.path)).toHaveLength(4);
    processes.killAllNow();
    expect(await asked).toEqual({ code: null, output: '', why: 'it was ended by SIGKILL' });
    await noSurvivors(folder.path);
    for (const child of children) await waitFor('no members', async () => (await child.members()).length === 0);
  });
});

describe('logs', () => {
  test('100 MB of output costs little disk and no lines at the end', { timeout: 60_000 }, async ({ expect }) => {
    await processes.close();
    processes = await open({ logMaxBytes: 1024 * 1024, logTailLines: 50 });
    const child = await start('noisy', '--mib', '100', '--then-stay');
    await printed(child, 'the end', 40_000);
    // What a flood prints in the moment of a cut is neither kept nor counted.
    const counted = child.printed;
    expect(counted).toBeGreaterThan(16 * 1024 * 1024);
    const lines = child.tail(1_000);
    expect(lines.length).toBeLessThanOrEqual(50);
    expect(lines.at(-1)).toBe('the end');
    expect(lines.every((line) => line.length <= 4_100 && !line.includes('\x1b'))).toBe(true);
    const logs = join(folder.path, 'state', 'logs');
    const size = () => readdirSync(logs).reduce((sum, name) => sum + statSync(join(logs, name)).size, 0);
    await waitFor('the log to be cut', () => size() <= 4 * 1024 * 1024);
    expect(child.tail(1)).toEqual(['the end']);
    expect(child.printed).toBeGreaterThanOrEqual(counted);
    child.signal('SIGKILL');
    await child.exited;
    await child.forget();
    await noSurvivors(folder.path);
  });

  test('what it prints grows, and only counts from its own start', async ({ expect }) => {
    const first = await start('dies');
    await first.exited;
    await first.forget();
    const second = await start('stubborn');
    await printed(second, 'ready');
    expect(second.tail(10)).toEqual(['ready']);
    const before = second.printed;
    second.signal('SIGTERM');
    await waitFor('more output', () => second.printed > before);
    second.signal('SIGKILL');
    await noSurvivors(folder.path);
  });

  test('are private, and followed line by line with the name of the model', async ({ expect }) => {
    await processes.close();
    const heard: string[] = [];
    processes = await open({ onLine: (model, line) => heard.push(`${model}: ${line}`) });
    const child = await start('stubborn');
    await waitFor('its line', () => heard.length > 0);
    child.signal('SIGTERM');
    await printed(child, 'hint 1');
    child.signal('SIGKILL');
    await child.exited;
    await child.forget();
    expect(heard).toEqual(['alpha: ready', 'alpha: hint 1']);
    const state = join(folder.path, 'state');
    const [log] = readdirSync(join(state, 'logs'));
    expect(statSync(join(state, 'logs')).mode & 0o777).toBe(0o700);
    expect(statSync(join(state, 'engines')).mode & 0o777).toBe(0o700);
    expect(statSync(join(state, 'logs', log ?? '')).mode & 0o777).toBe(0o600);
  });
});

function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return true;
  }
}
