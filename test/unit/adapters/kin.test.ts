import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'vitest';
import { askProgram } from '../../../src/adapters/ask-program.ts';
import { related } from '../../../src/adapters/kin.ts';
import { parseStat, procTable, type ProcessStat } from '../../../src/adapters/process-table.ts';

/** `pid parent session [started]`, one process each; a group is as good as a session here. */
function processes(...rows: readonly (readonly [number, number, number, number?])[]): ProcessStat[] {
  return rows.map(([pid, parent, session, started = pid]) => ({
    pid,
    parent,
    group: session,
    session,
    started,
    alive: true,
    stopped: false,
  }));
}

/** Process 51 of session 50 is we. */
const OTHERS = processes([1, 0, 1], [2, 1, 0], [50, 1, 50], [51, 50, 50]);

type Case = {
  readonly stats: ProcessStat[];
  readonly leader?: { pid: number; started: number };
  readonly holdsSession?: boolean;
  readonly known?: readonly number[];
  readonly marked?: readonly number[];
};

function kinOf({ stats, leader, holdsSession = false, known = [], marked = [] }: Case): number[] {
  const all = [...OTHERS, ...stats];
  const remembered = new Map(known.map((pid) => [pid, { pid, started: pid }]));
  const evidence = { leader, holdsSession, known: remembered, marked: new Set(marked), self: { pid: 51, session: 50 } };
  return [...related(evidence, all).keys()].toSorted((a, b) => a - b);
}

describe('who belongs to a start', () => {
  const leader = { pid: 100, started: 100 };

  test.for<[string, Case, number[]]>([
    ['nobody, when nothing is known', { stats: processes([100, 1, 100]) }, []],
    [
      'the known leader and its session',
      { stats: processes([100, 1, 100], [101, 1, 100]), leader, known: [100] },
      [100, 101],
    ],
    [
      'children in sessions of their own',
      { stats: processes([100, 1, 100], [101, 100, 101], [102, 101, 102]), known: [100] },
      [100, 101, 102],
    ],
    [
      'orphans in the session of one that is known',
      { stats: processes([101, 1, 100], [102, 1, 100]), known: [101] },
      [101, 102],
    ],
    [
      'orphans in the session of a bearer of the mark',
      { stats: processes([101, 1, 77], [102, 1, 77]), marked: [101] },
      [101, 102],
    ],
    [
      'orphans of the leader, for whoever started it',
      { stats: processes([101, 1, 100]), leader, holdsSession: true },
      [101],
    ],
    ['not orphans of the leader, for anyone else', { stats: processes([101, 1, 100]), leader }, []],
    [
      'not the session of one that got the number of the leader',
      { stats: processes([100, 1, 100, 999], [101, 100, 100, 999]), leader, holdsSession: true },
      [],
    ],
    ['not one that got the number of one that was known', { stats: processes([100, 1, 100, 999]), known: [100] }, []],
    ['not all of session 0', { stats: processes([101, 1, 0]), marked: [101] }, [101]],
    ['not all of our own session', { stats: processes([101, 1, 50]), marked: [101] }, [101]],
    ['not we, even if one of them is our parent', { stats: [], known: [50] }, [50]],
  ])('%s', ([, given, expected], { expect }) => {
    expect(kinOf(given)).toEqual(expected);
  });
});

describe('the process table', () => {
  const line = (name: string, state: string, threads: number) =>
    `42 (${name}) ${state} 7 42 40 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 ${threads} 0 113005 3133440 412`;

  test.for(['node', 'a b', 'tricky) S 1 1 1', '((('])('reads a process called "%s"', (name, { expect }) => {
    expect(parseStat(line(name, 'S', 1))).toEqual({
      pid: 42,
      parent: 7,
      group: 42,
      session: 40,
      started: 113_005,
      alive: true,
      stopped: false,
    });
  });

  test('a zombie is not alive, but one whose other threads run is', ({ expect }) => {
    expect(parseStat(line('x', 'Z', 1))?.alive).toBe(false);
    expect(parseStat(line('x', 'X', 0))?.alive).toBe(false);
    expect(parseStat(line('x', 'Z', 3))?.alive).toBe(true);
    expect(['T', 't', 'S'].map((state) => parseStat(line('x', state, 1))?.stopped)).toEqual([true, true, false]);
  });

  test('what is no such line is nothing', ({ expect }) => {
    for (const text of ['', '42', '42 (x', '42 (x) S 1']) expect(parseStat(text)).toBeUndefined();
  });

  test('finds us, by list and by number, and what we were started with', async ({ expect }) => {
    const table = procTable();
    expect(table?.look(process.pid)).toEqual(table?.self);
    expect(table?.self).toMatchObject({ pid: process.pid, parent: process.ppid, alive: true });
    const us = { pid: process.pid, started: table?.self.started };
    expect(await table?.list()).toEqual(expect.arrayContaining([expect.objectContaining(us)]));
    expect(table?.listNow()).toEqual(expect.arrayContaining([expect.objectContaining(us)]));
    const some = [process.pid, 2_000_000_000];
    expect(await table?.bearers(some, 'PATH=')).toEqual(new Set([process.pid]));
    expect(await table?.bearers(some, 'NO_SUCH_VARIABLE=')).toEqual(new Set());
    expect(table?.look(2_000_000_000)).toBeUndefined();
  });

  test('leaves out who is older, whether it has seen them before or not, and shows what has become of the others', async ({
    expect,
  }) => {
    const table = procTable();
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    try {
      await once(child, 'spawn');
      const { pid = 0 } = child;
      const stat = table?.look(pid);
      for (let looks = 0; looks < 3; looks += 1) {
        const younger = await table?.list(stat?.started);
        expect(younger).toContainEqual(expect.objectContaining({ pid, parent: process.pid, alive: true }));
        expect(younger?.map((other) => other.pid)).not.toContain(process.pid);
      }
      expect((await table?.list((stat?.started ?? 0) + 1))?.map((other) => other.pid)).not.toContain(pid);
      expect(await table?.list()).toContainEqual(table?.self);
      child.kill();
      await once(child, 'exit');
      expect((await table?.list(stat?.started))?.map((other) => other.pid)).not.toContain(pid);
    } finally {
      child.kill('SIGKILL');
    }
  });

  test('that cannot be read for want of open files is an error, not the end of a process', async ({ expect }) => {
    const program = `
      import { openSync } from 'node:fs';
      import { procTable } from '${new URL('../../../src/adapters/process-table.ts', import.meta.url).href}';
      const table = procTable();
      try { for (;;) openSync('/dev/null', 'r'); } catch {}
      try { console.log('seen', table.look(process.ppid)); } catch (error) { console.log('told', error.code); }
    `;
    const node = [process.execPath, '--input-type=module-typescript', '--eval', program];
    const { output } = await askProgram(['sh', '-c', 'ulimit -n 64; exec "$@"', 'sh', ...node], 10_000);
    expect(output).toContain('told EMFILE');
  });
});
