import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { Starter } from '../../../src/adapters/starter.ts';
import { killSurvivors, noSurvivors, survivors, testFolder } from '../../helpers/survivors.ts';
import { waitFor } from '../../helpers/wait-for.ts';

let folder: ReturnType<typeof testFolder>;
let problems: string[];
let starter: Starter;

beforeEach(() => {
  folder = testFolder();
  problems = [];
  starter = new Starter((problem) => problems.push(problem));
});

afterEach(() => {
  starter.close();
  killSurvivors(folder.path);
  folder.remove();
});

/** Every process of the script names the folder. */
const shell = (script: string, terms: { limitMs?: number; signal?: AbortSignal } = {}) =>
  starter.ask(['env', `FOLDER=${folder.path}`, 'sh', '-c', script], terms.limitMs ?? 60_000, terms);

/** The process that starts programs now. */
const parent = async (): Promise<number> => Number((await shell('echo $PPID')).output);

/** The small process, once it is there. */
async function small(): Promise<number> {
  starter.begin();
  let pid = process.pid;
  await waitFor('the small process', async () => (pid = await parent()) !== process.pid);
  return pid;
}

const isThere = (pid: number): boolean => existsSync(`/proc/${pid}`);

/** A program that says when it runs, and ends by itself no more. */
async function hanging(terms: { signal?: AbortSignal } = {}): Promise<ReturnType<typeof shell>[]> {
  const answer = shell(`trap '' TERM; echo wait; touch ${folder.path}/runs; sleep 600`, terms);
  await waitFor('the program', () => existsSync(`${folder.path}/runs`));
  return [answer];
}

/** Somebody else who has begun a starter, says which process the small one is, and then does as the script says. */
function owner(script: string): { readonly process: ChildProcess; readonly said: Promise<string> } {
  const begun = `
    import { Starter } from ${JSON.stringify(new URL('../../../src/adapters/starter.ts', import.meta.url).href)};
    const starter = new Starter(console.error);
    starter.begin();
    let small = process.pid;
    while (small === process.pid) small = Number((await starter.ask(['sh', '-c', 'echo $PPID'], 60_000)).output);
    console.log(small);
  `;
  const other = spawn(process.execPath, ['--input-type=module', '-e', begun + script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { process: other, said: text(other.stdout) };
}

describe('a small process that starts programs', () => {
  test('is not waited for: until it is there they are started from here', async ({ expect }) => {
    expect(await parent()).toBe(process.pid);
    starter.begin();
    expect(await parent()).toBe(process.pid);
    expect(isThere(await small())).toBe(true);
  });

  test('gives the code and what was printed, of many at once each its own', async ({ expect }) => {
    await small();
    const answers = Array.from({ length: 100 }, (_, n) => shell(`echo ${n}; exit ${n}`));
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 100 }, (_, n) => ({ code: n, output: `${n}\n` })));
    expect(await starter.ask(['no-such-program-at-all'], 1_000)).toEqual({
      code: null,
      why: expect.stringContaining('no program of this name'),
      output: 'cannot start no-such-program-at-all: no program of this name is on PATH',
    });
  });

  test('gives programs the environment they are asked with, and none of its own', async ({ expect }) => {
    await small();
    const { output } = await starter.ask(['/usr/bin/env'], 60_000, { env: { ONLY: 'this' } });
    expect(output.trim().split('\n')).toEqual(['ONLY=this']);
  });

  test('tells which process it is while it runs', async ({ expect }) => {
    await small();
    const seen = Promise.withResolvers<number>();
    const { output } = await starter.ask(['sh', '-c', 'echo $$'], 60_000, { watch: seen.resolve });
    expect(Number(output)).toBe(await seen.promise);
  });

  test('ends a program at its limit', async ({ expect }) => {
    await small();
    const answer = await shell(`trap '' TERM; sleep 600`, { limitMs: 1_000 });
    expect(answer).toEqual({ code: null, output: '', why: 'it did not end within 1 s' });
    await noSurvivors(folder.path);
  });

  test('ends a program that is called off', async ({ expect }) => {
    await small();
    const calling = new AbortController();
    const [answer] = await hanging({ signal: calling.signal });
    calling.abort();
    expect(await answer).toEqual({ code: null, output: 'wait\n', why: 'it was called off' });
    await noSurvivors(folder.path);
  });

  test('does not end by what ends other processes in an orderly way', async ({ expect }) => {
    const pid = await small();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.kill(pid, signal);
    expect(await parent()).toBe(pid);
  });

  test('killed, it takes nothing along: what it had started is ended and told, and the next are started all the same', async ({
    expect,
  }) => {
    const pid = await small();
    const [answer] = await hanging();
    process.kill(pid, 'SIGKILL');
    expect(await answer).toMatchObject({ code: null, why: expect.stringContaining('has ended') });
    await noSurvivors(folder.path);
    expect(await shell('echo here')).toEqual({ code: 0, output: 'here\n' });
    expect(problems).toEqual([expect.stringMatching(/SIGKILL/)]);
    expect(await small()).not.toBe(pid);
  });

  test('halted, it is ended, and so is what it had started', async ({ expect }) => {
    const pid = await small();
    const calling = new AbortController();
    const [answer] = await hanging({ signal: calling.signal });
    process.kill(pid, 'SIGSTOP');
    calling.abort();
    expect(await answer).toMatchObject({ code: null });
    await waitFor('the end of the small process', () => !isThere(pid));
    await noSurvivors(folder.path);
  });

  test('closed, it ends with all it has started', async ({ expect }) => {
    const pid = await small();
    const [answer] = await hanging();
    starter.close();
    expect(await answer).toMatchObject({ code: null });
    await noSurvivors(folder.path);
    await waitFor('the end of the small process', () => !isThere(pid));
    expect(problems).toEqual([]);
    expect(await parent()).toBe(process.pid);
  });

  test('halted when it is closed, it ends all the same', async ({ expect }) => {
    const pid = await small();
    const [answer] = await hanging();
    process.kill(pid, 'SIGSTOP');
    starter.close();
    expect(await answer).toMatchObject({ code: null });
    await noSurvivors(folder.path);
    await waitFor('the end of the small process', () => !isThere(pid));
  });

  test('stuck before it was ready, it ends when it is closed', async () => {
    const [node, stuck] = [process.execPath, join(folder.path, 'node')];
    writeFileSync(stuck, '#!/bin/sh\nkill -STOP $$\n', { mode: 0o755 });
    try {
      process.execPath = stuck;
      starter.begin();
    } finally {
      process.execPath = node;
    }
    await waitFor('the small process', () => survivors(folder.path).length > 0);
    starter.close();
    await noSurvivors(folder.path);
  });

  test('closed, it ends before whoever began it, who hears of its end', async ({ expect }) => {
    const { process: other, said } = owner('starter.close();');
    const [pid] = await Promise.all([said, once(other, 'exit')]);
    expect(Number(pid)).toBeGreaterThan(1);
    expect(isThere(Number(pid))).toBe(false);
  });

  test('ends with all it has started when whoever began it is killed', async ({ expect }) => {
    const { process: other, said } = owner(
      `void starter.ask(['sh', '-c', 'touch ${folder.path}/runs; sleep 600'], 600_000);`,
    );
    await waitFor('the program', () => existsSync(`${folder.path}/runs`));
    expect(survivors(folder.path).length).toBeGreaterThan(1);
    other.kill('SIGKILL');
    await noSurvivors(folder.path);
    const pid = Number(await said);
    await waitFor('the end of the small process', () => !isThere(pid));
  });
});
