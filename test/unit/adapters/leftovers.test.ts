import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { openProcesses, type SystemProcesses } from '../../../src/adapters/processes.ts';
import { procTable, type ProcessId } from '../../../src/adapters/process-table.ts';
import type { EngineRecord } from '../../../src/adapters/registry.ts';
import { engineId, modelId } from '../../../src/core/kinds.ts';
import { killSurvivors, noSurvivors, survivors, testFolder } from '../../helpers/survivors.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const fixture = (name: string) => new URL(`../../fixtures/${name}.ts`, import.meta.url).pathname;
const node = (name: string, ...args: string[]) => [process.execPath, fixture(name), ...args];
const table = procTable();

let folder: ReturnType<typeof testFolder>;
let state: string;
let processes: SystemProcesses | undefined;
let problems: string[];
/** Another one for each test, since whoever bears a mark of a record is ended. */
let mark: string;

beforeEach(() => {
  folder = testFolder();
  state = join(folder.path, 'state');
  mkdirSync(join(state, 'engines'), { recursive: true });
  problems = [];
  mark = randomBytes(16).toString('hex');
});

afterEach(async () => {
  killSurvivors(folder.path);
  await processes?.close();
  processes = undefined;
  folder.remove();
});

const open = async (leftoverGraceMs = 150) =>
  (processes = await openProcesses({
    stateDir: state,
    leftoverGraceMs,
    onProblem: (message) => problems.push(message),
  }));

/** Starts a catnap with these engines; resolves once they all run. */
async function catnap(...engines: string[][]): Promise<{ process: ChildProcess; pids: number[] }> {
  const child = spawn(process.execPath, [fixture('small-catnap'), state, JSON.stringify(engines)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { process: child, pids: JSON.parse(String(line)) };
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** A process of nobody's concern to catnap, in a session of its own. */
async function bystander(env: Record<string, string> = {}): Promise<ProcessId> {
  const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore', env: { ...env, FOLDER: folder.path } });
  return waitFor('its start', () => (child.pid === undefined ? undefined : table?.look(child.pid)));
}

const lives = ({ pid, started }: ProcessId) => {
  const stat = table?.look(pid);
  return stat?.started === started && stat.alive;
};

/** Writes a record as an earlier catnap would have left it. */
function record(change: Partial<EngineRecord>, name = 'beta.json'): void {
  const dead = { pid: 2_000_000, started: 1 };
  const written: EngineRecord = {
    version: 1,
    engine: 'beta#0',
    model: 'beta',
    port: 1,
    mark,
    boot: table?.boot ?? '',
    namespace: table?.namespace ?? '',
    catnap: dead,
    leader: dead,
    ...change,
  };
  writeFileSync(join(state, 'engines', name), JSON.stringify(written));
}

const records = () => readdirSync(join(state, 'engines')).filter((name) => name.endsWith('.json'));

describe('after kill -9 of catnap', () => {
  test('the next one ends all that was left, and says what', async ({ expect }) => {
    const earlier = await catnap(
      node('stubborn'),
      node('stubborn', '--hint-ends-it-at', '1'),
      node('forking', '--session', '--leave'),
      node('forking', '--bare', '--session', '--hide'),
    );
    await killed(earlier.process);
    await waitFor('four engines, two of them with a child, one of these without its leader', () => {
      return survivors(state).length === 5;
    });

    const leftovers = await (await open()).reapLeftovers();

    await noSurvivors(state);
    expect(leftovers.toSorted((a, b) => a.port - b.port)).toEqual(
      earlier.pids.map((pid, index) => ({
        engine: `alpha#${index}`,
        model: 'alpha',
        port: 1001 + index,
        pid,
        gone: true,
      })),
    );
    expect(records()).toEqual([]);
    expect(problems).toEqual([]);
    expect(await processes?.reapLeftovers()).toEqual([]);
  });

  test('a start of which only the intention was recorded is found by its mark', async ({ expect }) => {
    const leftover = await bystander({ CATNAP_ENGINE: mark });
    record({ leader: null });
    expect(await (await open()).reapLeftovers()).toMatchObject([{ engine: 'beta#0', gone: true }]);
    expect(lives(leftover)).toBe(false);
    expect(records()).toEqual([]);
  });

  test('what stands still cannot hear that it is to end, and is not waited for', async ({ expect }) => {
    const leftover = await bystander({ CATNAP_ENGINE: mark });
    process.kill(leftover.pid, 'SIGSTOP');
    await waitFor('it to stand still', () => table?.look(leftover.pid)?.stopped);
    record({ leader: leftover });
    expect(await (await open(600_000)).reapLeftovers()).toMatchObject([{ engine: 'beta#0', gone: true }]);
    expect(lives(leftover)).toBe(false);
  });

  test('what this catnap started itself is no leftover', async ({ expect }) => {
    const model = modelId('alpha');
    const spec = { engine: engineId(model, 0), model, env: { FOLDER: folder.path }, cwd: undefined, port: 1 };
    const child = await (await open()).spawn({ ...spec, argv: ['sleep', '600'] });
    expect(await processes?.reapLeftovers()).toEqual([]);
    expect(problems).toEqual([]);
    expect(child.hasExited).toBe(false);
    child.signal('SIGKILL');
    await child.exited;
  });
});

test('a catnap that was killed and that nobody has collected does not run', async ({ expect }) => {
  const left = await bystander();
  const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, FOLDER: folder.path },
  });
  const pid = Number((await once(parent.stdout, 'data'))[0]);
  const zombie = await waitFor('its end', () => {
    const stat = table?.look(pid);
    return stat?.alive === false && stat;
  });
  record({ leader: left, catnap: { pid, started: zombie.started } });

  expect(await (await open()).reapLeftovers()).toMatchObject([{ pid: left.pid, gone: true }]);
  expect([lives(left), problems]).toEqual([false, []]);
});

describe('never touched', () => {
  test('a process that got the number of a leftover', async ({ expect }) => {
    const innocent = await bystander();
    record({ leader: { pid: innocent.pid, started: innocent.started - 1 } });
    await (await open()).reapLeftovers();
    expect(lives(innocent)).toBe(true);
    expect(records()).toEqual([]);
  });

  test('a process of another boot or of another PID namespace with the same number', async ({ expect }) => {
    const innocent = await bystander();
    record({ leader: innocent, boot: 'another' });
    await (await open()).reapLeftovers();
    record({ leader: innocent, namespace: 'pid:[1]' });
    await processes?.reapLeftovers();
    expect(lives(innocent)).toBe(true);
    expect(records()).toEqual([]);
  });

  test('an engine of a catnap that runs: it is left to it, and that is said', async ({ expect }) => {
    const [other, engine] = [await bystander(), await bystander({ CATNAP_ENGINE: mark })];
    record({ catnap: other, leader: engine });
    expect(await (await open()).reapLeftovers()).toEqual([]);
    expect(lives(engine)).toBe(true);
    expect(problems).toEqual([expect.stringContaining(`another catnap that runs (process ${other.pid})`)]);
    expect(records()).toHaveLength(1);
  });

  test('a process in a session that may or may not be that of a leftover: that is said, and remembered', async ({
    expect,
  }) => {
    // The shell leads the session and ends; what stays bears no mark.
    const leader = spawn('sh', ['-c', 'sleep 600 & :'], {
      detached: true,
      stdio: 'ignore',
      env: { FOLDER: folder.path },
    });
    await once(leader, 'exit');
    const orphan = await waitFor('the orphan', () => survivors(folder.path)[0]);
    record({ leader: { pid: leader.pid ?? 0, started: 1 } });
    expect(await (await open()).reapLeftovers()).toMatchObject([{ engine: 'beta#0', gone: false }]);
    expect(survivors(folder.path)).toHaveLength(1);
    expect(problems).toEqual([expect.stringContaining(`left alone: process ${orphan.pid}`)]);
    expect(records()).toHaveLength(1);
  });
});

describe('records that cannot be read', () => {
  test('are set aside and told, and the others count', async ({ expect }) => {
    const leftover = await bystander({ CATNAP_ENGINE: mark });
    record({ leader: leftover });
    const engines = join(state, 'engines');
    writeFileSync(join(engines, 'a.json'), '');
    // An empty mark would be found in every environment there is.
    record({ mark: '' }, 'b.json');
    writeFileSync(join(engines, 'c.json.0000.part'), '{');
    expect(await (await open()).reapLeftovers()).toMatchObject([{ engine: 'beta#0', gone: true }]);
    expect(lives(leftover)).toBe(false);
    expect(problems).toHaveLength(2);
    expect(problems[0]).toContain('a.json.unreadable');
    expect(readdirSync(engines)).toEqual(['a.json.unreadable', 'b.json.unreadable']);
    expect(await processes?.reapLeftovers()).toEqual([]);
    expect(problems).toHaveLength(2);
  });

  test('do not pile up', async ({ expect }) => {
    for (let number = 0; number < 30; number += 1) writeFileSync(join(state, 'engines', `${number}.json`), 'x');
    await (await open()).reapLeftovers();
    expect(readdirSync(join(state, 'engines')).length).toBeLessThanOrEqual(10);
  });
});

describe('two catnaps and one state folder', () => {
  test('the second is told who has it, also on another path', async ({ expect }) => {
    const first = await catnap();
    symlinkSync(state, join(folder.path, 'link'));
    state = join(folder.path, 'link');
    await expect(open()).rejects.toThrow(`is in use by another catnap (process ${first.process.pid})`);
    await killed(first.process);
    await open();
    await expect(open()).rejects.toThrow('is in use by another catnap');
    await processes?.close();
    await open();
  });

  test('the folders are made', async ({ expect }) => {
    state = join(folder.path, 'some', 'where');
    await open();
    expect(existsSync(join(state, 'logs'))).toBe(true);
  });

  test('a folder that cannot be made is named with its key', async ({ expect }) => {
    state = join(folder.path, 'file');
    writeFileSync(state, '');
    await expect(open()).rejects.toThrow(`${state} cannot be used; set state_dir`);
  });
});
