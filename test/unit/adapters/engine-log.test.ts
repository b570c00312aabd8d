import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { engineFileName } from '../../../src/adapters/engine-file-name.ts';
import { EngineLog } from '../../../src/adapters/engine-log.ts';
import { dropOldLogs } from '../../../src/adapters/old-logs.ts';
import { testFolder } from '../../helpers/survivors.ts';
import { waitFor } from '../../helpers/wait-for.ts';

let folder: ReturnType<typeof testFolder>;
let path: string;
let problems: string[];
const logs: EngineLog[] = [];

beforeEach(() => {
  folder = testFolder();
  path = join(folder.path, 'a.log');
  problems = [];
});

afterEach(async () => {
  await Promise.all(logs.splice(0).map((log) => log.close()));
  folder.remove();
});

function open(options: Partial<ConstructorParameters<typeof EngineLog>[0]> = {}): EngineLog {
  const log = new EngineLog({
    path,
    maxBytes: 1_000,
    keep: 1,
    tailLines: 500,
    onLine: undefined,
    onProblem: (message) => problems.push(message),
    ...options,
  });
  logs.push(log);
  return log;
}

/** Prints as an engine does: to the descriptor it was given, in append mode. */
const print = (log: EngineLog, text: string) => writeSync(log.file, text);
const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
const rotated = () => waitFor('the rotation', () => sizeOf(path) === 0);
const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `line ${from + index}`);
const text = (from: number, to: number) =>
  lines(from, to)
    .map((line) => `${line}\n`)
    .join('');

describe('the log of an engine', () => {
  test('goes on in the same file after it was put aside, and the last lines span both', async ({ expect }) => {
    const log = open();
    print(log, text(0, 200));
    await rotated();
    expect(sizeOf(`${path}.1`)).toBeLessThanOrEqual(1_000);
    print(log, text(200, 203));
    expect(readFileSync(path, 'utf8')).toBe(text(200, 203));
    expect(log.tail(5)).toEqual(lines(198, 203));
    expect(log.printed).toBe(text(0, 203).length);
  });

  test('what is put aside stays within its bound, however much is printed meanwhile', async ({ expect }) => {
    let floods = 0;
    // Each look at the log finds that more was printed since the last one, also while the copy is made.
    const onLine = (line: string) => {
      if (line === 'more' && floods++ < 40) print(log, `${text(0, 200)}more\n`);
    };
    const log = open({ onLine });
    print(log, `${text(0, 300)}more\n`);
    await rotated();
    expect(sizeOf(`${path}.1`)).toBeLessThanOrEqual(2_000);
    print(log, 'the end\n');
    expect(log.tail(1)).toEqual(['the end']);
  });

  test('what was put aside with it of an earlier start is not among its last lines', async ({ expect }) => {
    writeFileSync(path, 'earlier\n'.repeat(50));
    const log = open();
    print(log, text(0, 100));
    await rotated();
    expect(readFileSync(`${path}.1`, 'utf8')).toContain('earlier');
    expect(log.tail(500)).toEqual(lines(0, 100));
  });

  test('as many files are kept as asked for', async ({ expect }) => {
    const log = open({ keep: 2 });
    for (const letter of ['a', 'b', 'c']) {
      print(log, `${letter}\n`.repeat(501));
      await rotated();
    }
    expect(readdirSync(folder.path).toSorted()).toEqual(['a.log', 'a.log.1', 'a.log.2']);
    expect(readFileSync(`${path}.1`, 'utf8')).toMatch(/^[c\n]+$/);
    expect(readFileSync(`${path}.2`, 'utf8')).toMatch(/^[b\n]+$/);
  });

  test('none is kept when none is asked for', async ({ expect }) => {
    const log = open({ keep: 0 });
    print(log, text(0, 200));
    await rotated();
    expect(readdirSync(folder.path)).toEqual(['a.log']);
    print(log, 'after\n');
    expect(log.tail(10)).toEqual(['after']);
  });

  test('survives somebody who clears it', async ({ expect }) => {
    const heard: string[] = [];
    const log = open({ onLine: (line) => heard.push(line) });
    print(log, text(0, 50));
    await waitFor('the first lines', () => heard.length === 50);
    truncateSync(path);
    expect(log.tail(10)).toEqual([]);
    print(log, text(50, 53));
    expect(log.tail(10)).toEqual(lines(50, 53));
    expect(log.printed).toBe(text(0, 53).length);
    await log.close();
    expect(heard).toEqual(lines(0, 53));
  });

  test('is cut even where it cannot be copied, and that is said once', async ({ expect }) => {
    mkdirSync(`${path}.1`);
    const log = open();
    for (let round = 0; round < 2; round += 1) {
      print(log, text(0, 200));
      await rotated();
    }
    expect(problems).toEqual([expect.stringContaining(path)]);
  });

  test('the last lines are those of this start, and stay when it is closed', async ({ expect }) => {
    writeFileSync(path, 'of an earlier start\n');
    const log = open({ tailLines: 3 });
    expect(log.tail(10)).toEqual([]);
    expect(log.printed).toBe(0);
    print(log, `${text(0, 5)}no end`);
    expect(log.tail(2)).toEqual(['line 4', 'no end']);
    expect(log.tail(0)).toEqual([]);
    await log.close();
    await log.close();
    rmSync(path);
    expect(log.tail(10)).toEqual(['line 3', 'line 4', 'no end']);
    expect(log.printed).toBe(text(0, 5).length + 6);
  });

  test('is for its owner alone, also when it was not before', ({ expect }) => {
    writeFileSync(path, '', { mode: 0o644 });
    open();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('the last lines of a large file are whole lines', ({ expect }) => {
    const log = open({ maxBytes: 10_000_000 });
    print(log, `${'x'.repeat(99)}\n`.repeat(5_000));
    expect(new Set(log.tail(500))).toEqual(new Set(['x'.repeat(99)]));
  });

  test('a follower hears every line once, also over a rotation and at the end', async ({ expect }) => {
    const heard: string[] = [];
    const log = open({ onLine: (line) => heard.push(line) });
    print(log, 'half a ');
    print(log, `line\n${text(0, 200)}`);
    await rotated();
    print(log, `${text(200, 210)}no end`);
    await log.close();
    expect(heard).toEqual(['half a line', ...lines(0, 210), 'no end']);
  });

  test('a follower of a flood is told what it misses, and hears the end', async ({ expect }) => {
    const heard: string[] = [];
    const log = open({ maxBytes: 100_000_000, onLine: (line) => heard.push(line) });
    print(log, 'x\n'.repeat(1_000_000));
    print(log, 'the end\n');
    await waitFor('the end', () => heard.at(-1) === 'the end');
    expect(heard[0]).toMatch(/^… \d+ bytes are only in .*a\.log$/);
    expect(heard.length).toBeLessThan(200_000);
  });
});

describe('the name of a file', () => {
  test.for(['alpha#0', 'org/model:q4#1', '../../etc/passwd', '.hidden', 'größe', 'x'.repeat(500), ''])(
    'of the engine "%s" is one, and shows it',
    (engine, { expect }) => {
      expect(engineFileName(engine)).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}\.[0-9a-f]{8}$/);
    },
  );

  test('is no other engine’s', ({ expect }) => {
    const names = ['a/b#0', 'a-b#0', 'a:b#0', `${'x'.repeat(100)}1`, `${'x'.repeat(100)}2`].map(engineFileName);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('old logs', () => {
  test('go with all their parts, and nothing else goes', async ({ expect }) => {
    const [old, young] = [engineFileName('old#0'), engineFileName('young#0')];
    const month = Date.now() / 1_000 - 40 * 86_400;
    for (const name of [`${old}.log`, `${old}.log.1`, `${young}.log.1`, 'mine.log', 'notes.txt']) {
      writeFileSync(join(folder.path, name), '');
      utimesSync(join(folder.path, name), month, month);
    }
    writeFileSync(join(folder.path, `${young}.log`), '');
    await dropOldLogs(folder.path);
    expect(readdirSync(folder.path).toSorted()).toEqual(
      ['mine.log', 'notes.txt', `${young}.log`, `${young}.log.1`].toSorted(),
    );
  });

  test('do not pile up', async ({ expect }) => {
    for (let number = 0; number < 230; number += 1) {
      writeFileSync(join(folder.path, `${engineFileName(`model-${number}#0`)}.log`), '');
    }
    await dropOldLogs(folder.path);
    expect(readdirSync(folder.path)).toHaveLength(200);
  });
});
