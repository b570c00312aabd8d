import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openProcesses, type SystemProcesses } from '../../../src/adapters/processes.ts';
import type { HandedProcess } from '../../../src/ports/handover.ts';
import { killSurvivors, noSurvivors, survivors, testFolder } from '../../helpers/survivors.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const fixture = (name: string): string => new URL(`../../fixtures/${name}.ts`, import.meta.url).pathname;

let folder: ReturnType<typeof testFolder>;
let state: string;
let lines: string[];
const opened: SystemProcesses[] = [];

beforeEach(() => {
  folder = testFolder();
  state = join(folder.path, 'state');
  lines = [];
});

afterEach(async () => {
  killSurvivors(folder.path);
  for (const processes of opened.splice(0)) await processes.close();
  folder.remove();
});

async function open(handed: readonly HandedProcess[]): Promise<SystemProcesses> {
  const processes = await openProcesses({
    stateDir: state,
    leftoverGraceMs: 150,
    waits: true,
    onLine: (_, line) => lines.push(line),
    onProblem: () => {},
  });
  opened.push(processes);
  await processes.enter(handed);
  return processes;
}

type Catnap = { readonly process: ChildProcess; next(): Promise<unknown> };

/** Another catnap, in a process of its own. */
async function catnap(
  engines: string[][],
  handed: readonly HandedProcess[] = [],
): Promise<Catnap & { pids: number[] }> {
  const args = [fixture('small-catnap'), state, JSON.stringify(engines), JSON.stringify(handed)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const next = async (): Promise<unknown> => JSON.parse(String((await once(child.stdout, 'data'))[0]));
  const pids = (await next()) as number[];
  return { process: child, next, pids };
}

async function left(before: Catnap): Promise<HandedProcess[]> {
  const told = before.next();
  before.process.kill('SIGUSR2');
  return (await told) as HandedProcess[];
}

async function killed({ process: child }: Catnap): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** It says so once it runs, ends with SIGTERM, and has a child that is in a session of its own. */
const ENGINE = [
  process.execPath,
  '-e',
  `require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
   console.log('ready'); process.on('SIGCONT', () => console.log('heard')); setInterval(() => {}, 1000);`,
];
const engine = (): string[] => [...ENGINE, folder.path];

const recordOf = (): { catnap: { pid: number } } => {
  const [name = ''] = readdirSync(join(state, 'engines'));
  return JSON.parse(readFileSync(join(state, 'engines', name), 'utf8'));
};

test('a child of another process that is no more is looked after like one of our own', async () => {
  const before = await catnap([engine()]);
  const handed = await left(before);
  await killed(before);

  const processes = await open(handed);
  expect(recordOf().catnap.pid).toBe(process.pid);
  expect(await processes.reapLeftovers()).toEqual([]);
  const [one] = handed;
  if (one === undefined) throw new Error('nothing was handed over');
  const child = await processes.adopt(one);
  const printed = child.printed;
  process.kill(child.pid, 'SIGCONT');
  await waitFor('a line', () => lines.includes('heard'));

  expect([child.pid, child.hasExited, child.tail(5)]).toEqual([before.pids[0], false, ['ready', 'heard']]);
  expect(lines).toEqual(['heard']);
  expect(child.printed).toBe(printed + 'heard\n'.length);
  expect(await child.everyone()).toHaveLength(2);
  child.signal('SIGTERM');
  expect(await child.exited).toEqual({ code: null, signal: null });
  await noSurvivors(folder.path);
  await child.forget();
  expect(readdirSync(join(state, 'engines'))).toEqual([]);
});

test('a catnap that is killed after it has taken over leaves what the next start ends', async () => {
  const first = await catnap([engine(), engine()]);
  const handed = await left(first);
  const second = await catnap([], handed);
  await killed(first);
  expect(survivors(folder.path).length).toBeGreaterThan(4);
  await killed(second);

  const found = await (await open([])).reapLeftovers();

  expect(found.map(({ pid, gone }) => [pid, gone])).toEqual(first.pids.map((pid) => [pid, true]));
  await noSurvivors(folder.path);
});

test('a catnap that is killed after it has let go, before another has taken over, leaves what the next start ends', async () => {
  const first = await catnap([engine()]);
  await left(first);
  await killed(first);

  const found = await (await open([])).reapLeftovers();

  expect(found.map(({ pid, gone }) => [pid, gone])).toEqual([[first.pids[0], true]]);
});

test('one that has ended in between has exited, and a stranger with its number is not touched', async () => {
  const before = await catnap([engine()]);
  const [one] = await left(before);
  await killed(before);
  killSurvivors(ENGINE[2] ?? '');
  await waitFor('its end', () => survivors(`${process.execPath}\0-e\0require`).length === 0);
  if (one === undefined) throw new Error('nothing was handed over');
  const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore', detached: true });
  const taken = { ...one, pid: stranger.pid ?? 0 };

  const child = await (await open([taken])).adopt(taken);

  expect(await child.exited).toEqual({ code: null, signal: null });
  child.signal('SIGKILL');
  expect(await child.members()).not.toContain(stranger.pid);
  expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
  stranger.kill('SIGKILL');
  await once(stranger, 'exit');
});

test('a line that was half printed when the log changed hands is told once, and whole', async () => {
  const before = await catnap([engine()]);
  appendFileSync(join(state, 'logs', readdirSync(join(state, 'logs'))[0] ?? ''), 'half');
  const [one] = await left(before);
  if (one === undefined) throw new Error('nothing was handed over');
  const processes = await open([one]);
  await processes.adopt(one);

  appendFileSync(join(state, 'logs', readdirSync(join(state, 'logs'))[0] ?? ''), ' a line\n');

  await waitFor('the line', () => lines.length > 0);
  expect(lines).toEqual(['half a line']);
});
