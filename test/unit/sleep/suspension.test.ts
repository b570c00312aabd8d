import { describe, test } from 'vitest';
import type { Sleeper } from '../../../src/engines/sleeper.ts';
import type { GpuProcess, GpuSight } from '../../../src/ports/gpu.ts';
import { CudaCheckpoint } from '../../../src/sleep/cuda-checkpoint.ts';
import { level3 } from '../../../src/sleep/level-3.ts';
import { Room } from '../../../src/sleep/room.ts';
import { BeyondRepair, Suspension } from '../../../src/sleep/suspension.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';
import { failureOf, oneEngine, order, startUp, watched } from '../engines/one-engine.ts';

const [FIRST, SECOND] = [1_000, 1_001];

/** An engine of two processes on a GPU that holds what they are said to hold, with a host that has so much memory left. */
async function awake(
  held: Readonly<Record<number, number>>,
  availableMib = 100_000,
  gpusOf: Readonly<Record<number, readonly string[]>> = {},
) {
  const clock = new VirtualClock();
  const memory = new Map<number, number | undefined>(Object.entries(held).map(([pid, mib]) => [Number(pid), mib]));
  const did: string[] = [];
  const fails = new Set<string>();
  let seeing = Promise.resolve();
  const processes = (): GpuProcess[] =>
    [...memory].flatMap(([pid, usedMib]) => (gpusOf[pid] ?? ['GPU-0']).map((uuid) => ({ pid, uuid, usedMib })));
  let known: readonly GpuProcess[] = [];
  const see = async (maxAgeMs: number): Promise<readonly GpuProcess[]> => {
    if (maxAgeMs > 0) return known;
    const now = processes();
    await seeing;
    did.push('looked');
    return (known = now);
  };
  const device = { uuid: 'GPU-0', index: 0, name: 'x', totalMib: 80_000, usedMib: 0, freeMib: 80_000 };
  const gpu = {
    read: async (maxAgeMs: number): Promise<GpuSight> => ({
      kind: 'read',
      reading: { takenAt: clock.now(), cameAt: clock.now(), devices: [device], processes: await see(maxAgeMs) },
    }),
    holders: async (maxAgeMs: number) => ({ kind: 'read', processes: await see(maxAgeMs) }) as const,
  };
  const ask = async (argv: readonly string[]) => {
    const [, what = '', action = '', , pid = ''] = argv;
    if (what === '--help') return { code: 0, output: '--action --timeout' };
    did.push(`${action} ${pid}`);
    if (fails.has(action)) return { code: 1, output: 'unknown error' };
    if (action === 'checkpoint') memory.delete(Number(pid));
    return { code: 0, output: '' };
  };
  const machine = { isRoot: true, mapsGpu: async () => [], availableMib: async () => availableMib };
  const programs = { find: async (path: string) => ({ path, mark: '1' }) };
  const means = {
    program: 'cuda-checkpoint',
    programs,
    processes: { ask },
    machine,
    limits: { sleepMs: 1_000, wakeMs: 2_000 },
  };
  const room = new Room({ clock, gpu });
  const suspension = new Suspension({
    cuda: new CudaCheckpoint(means),
    gpu,
    machine,
    room,
    freeMs: 1_000,
    hasHybrid: false,
  });
  const level = level3(suspension, undefined);
  let sleeper: Sleeper | undefined;
  const hindrance: typeof level.hindrance = (asked, signal) => level.hindrance((sleeper = asked), signal);
  const engine = oneEngine(
    { backend: 'command', command: ['srv', '--port', '${PORT}'] },
    { levels: [{ ...level, hindrance }], gpu },
  );
  await startUp(engine);
  engine.processes.child.others = [SECOND];
  did.length = 0;
  return {
    ...{ did, fails, memory, engine, suspension },
    /** The engine, as levels see it. */
    sleeper: async (): Promise<Sleeper> => {
      await engine.driver.hindrance(3, new AbortController().signal);
      if (sleeper === undefined) throw new Error('no level was asked');
      return sleeper;
    },
    /** Now that both are there. */
    lookAgain: () => see(0),
    sleep: () => watched(engine.driver.sleep(3, order(2).order)),
    /** From now on a look takes until this is called. */
    slowly: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      seeing = promise;
      return resolve;
    },
  };
}

test('who is known is locked while it is looked who is there now, and nobody is frozen before', async ({ expect }) => {
  const { did, memory, engine, sleep, slowly } = await awake({ [FIRST]: 8_000 });
  memory.set(SECOND, 500);
  const see = slowly();
  const end = sleep();
  await engine.clock.advance(10);
  expect(did).toEqual([`lock ${FIRST}`]);
  see();
  await engine.clock.advance(10);
  expect(did).toEqual([
    ...[`lock ${FIRST}`, 'looked', `lock ${SECOND}`],
    ...[`checkpoint ${FIRST}`, `checkpoint ${SECOND}`, 'looked'],
  ]);
  expect(end.end?.kind).toBe('done');
});

test('what does not fit into host memory after all is unlocked, and nobody is frozen', async ({ expect }) => {
  const { did, memory, engine, sleep, slowly } = await awake({ [FIRST]: 8_000 }, 16_000);
  memory.set(FIRST, 20_000);
  const see = slowly();
  const end = sleep();
  await engine.clock.advance(10);
  see();
  await engine.clock.advance(10);
  expect(failureOf(end)).toMatch(/cannot be frozen: its 20000 MiB of GPU memory do not fit/);
  expect(did).toEqual([`lock ${FIRST}`, 'looked', `unlock ${FIRST}`]);
});

test('one that is not unlocked again is not to be used again', async ({ expect }) => {
  const { fails, memory, engine, sleep } = await awake({ [FIRST]: 8_000 }, 16_000);
  memory.set(FIRST, 20_000);
  fails.add('unlock');
  const end = sleep();
  await engine.clock.advance(10);
  expect(end.end).toMatchObject({ kind: 'failed', error: expect.any(BeyondRepair) });
});

test('where nobody is known it is looked first', async ({ expect }) => {
  const { did, memory, engine, sleep } = await awake({});
  memory.set(FIRST, 8_000);
  sleep();
  await engine.clock.advance(10);
  expect(did.filter((what) => what !== 'looked')).toEqual([`lock ${FIRST}`, `checkpoint ${FIRST}`]);
  expect(did[0]).toBe('looked');
});

test('a look may be begun before the order, which goes by it and does not wait for it to lock', async ({ expect }) => {
  const { did, memory, engine, suspension, sleeper, slowly } = await awake({ [FIRST]: 8_000 });
  const asked = await sleeper();
  did.length = 0;
  memory.set(SECOND, 500);
  const see = slowly();
  const look = await suspension.look(asked);
  await engine.clock.advance(5);
  const end = suspension.suspend(asked, new AbortController().signal, look);
  await engine.clock.advance(5);
  expect(did).toEqual([`lock ${FIRST}`]);
  see();
  await end;
  expect(did).toEqual([
    ...[`lock ${FIRST}`, 'looked', `lock ${SECOND}`],
    ...[`checkpoint ${FIRST}`, `checkpoint ${SECOND}`],
  ]);
});

describe('processes on several GPUs', () => {
  const APART = { [SECOND]: ['GPU-1'] };

  test('are refused, and nobody is locked, where they are known', async ({ expect }) => {
    const { did, memory, engine, sleep, lookAgain } = await awake({ [FIRST]: 8_000 }, 100_000, APART);
    memory.set(SECOND, 8_000);
    await lookAgain();
    did.length = 0;
    const end = sleep();
    await engine.clock.advance(10);
    expect(failureOf(end)).toMatch(
      /runs in 2 processes on 2 GPUs, and what they share a checkpoint breaks; use level 5$/,
    );
    expect(did).toEqual([]);
  });

  test('are refused, and the lock is taken back, where only the look finds them', async ({ expect }) => {
    const { did, memory, engine, sleep, slowly } = await awake({ [FIRST]: 8_000 }, 100_000, APART);
    memory.set(SECOND, 8_000);
    const see = slowly();
    const end = sleep();
    await engine.clock.advance(10);
    see();
    await engine.clock.advance(10);
    expect(failureOf(end)).toMatch(/^srv runs in 2 processes on 2 GPUs/);
    expect(did).toEqual([`lock ${FIRST}`, 'looked', `unlock ${FIRST}`]);
  });

  test('are refused though the driver does not tell how much they hold', async ({ expect }) => {
    const { did, memory, engine, sleep } = await awake({ [FIRST]: 8_000 }, 100_000, APART);
    memory.set(SECOND, undefined);
    const end = sleep();
    await engine.clock.advance(10);
    expect(failureOf(end)).toMatch(/in 2 processes on 2 GPUs/);
    expect(did.at(-1)).toBe(`unlock ${FIRST}`);
  });

  test('are not what one process on all of them is', async ({ expect }) => {
    const { did, engine, sleep } = await awake({ [FIRST]: 8_000 }, 100_000, { [FIRST]: ['GPU-0', 'GPU-1'] });
    const end = sleep();
    await engine.clock.advance(10);
    expect(end.end?.kind).toBe('done');
    expect(did).toContain(`checkpoint ${FIRST}`);
  });
});
