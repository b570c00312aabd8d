import { describe, test } from 'vitest';
import type { ModelInput } from '../../../src/config/schema.ts';
import { CheckpointError, type Checkpoint, type KeptImage } from '../../../src/ports/checkpoints.ts';
import type { Level2 } from '../../../src/sleep/level-2.ts';
import { CheckpointLevel } from '../../../src/sleep/level-4.ts';
import { failureOf, oneEngine, order, startUp, watched } from '../engines/one-engine.ts';
import { answered } from '../engines/scripted-ports.ts';
import { gpuWay, ON_DISK, ScriptedCheckpoints, type Gpu } from './scripted-checkpoints.ts';

const ALPHA: ModelInput = { backend: 'command', command: ['srv', '--port', '${PORT}'] };

type Means = ConstructorParameters<typeof CheckpointLevel>[0];
type Terms = Partial<Pick<Means, 'first' | 'cudaDriver' | 'keeps'>> & { readonly gpu?: Partial<Gpu> };

async function awake(
  { first, gpu = {}, cudaDriver = 'self', keeps = 'no' }: Terms = {},
  checkpoints = new ScriptedCheckpoints(),
) {
  const suspension = gpuWay(checkpoints.did, gpu);
  const means = { checkpoints, first, own: undefined, suspension, cudaDriver, keeps, stepMs: 1_000 };
  const engine = oneEngine(ALPHA, { levels: [new CheckpointLevel(means)] });
  await startUp(engine);
  return { ...engine, checkpoints };
}

/** What is done first tells when it is done. */
function layer(did: string[], name: string, hindrance?: string): Level2 {
  const done = { actMs: 0, proofMs: 0 };
  return {
    level: 2,
    sample: 'a sample',
    hindrance: async () => hindrance,
    sleep: async () => (did.push(`${name} sleeps`), done),
    wake: async () => (did.push(`${name} wakes`), done),
  };
}

test('its end on disk is no crash, and what comes back is the engine, watched as before', async ({ expect }) => {
  const { driver, told, clock, checkpoints } = await awake();
  await driver.sleep(4, order(2).order);
  await clock.advance(1);
  expect([told.exited, driver.running]).toEqual([[], undefined]);
  await driver.wake(4, order(3).order);
  expect(driver.running?.pid).toBe(7_001);
  expect(checkpoints.did).toEqual(['save', 'restore', 'drop']);
  checkpoints.returned.exit(null);
  await clock.advance(1);
  expect(told.exited).toEqual([[1, 'srv has ended, and its way back from disk hides how']]);
});

test('it is put to level 2 first, and left as it is where it cannot be', async ({ expect }) => {
  for (const [hindrance, before, after] of [
    [undefined, ['it sleeps'], ['it wakes']],
    ['it cannot', [], []],
  ] as const) {
    const checkpoints = new ScriptedCheckpoints();
    const { driver } = await awake({ first: layer(checkpoints.did, 'it', hindrance) }, checkpoints);
    await driver.sleep(4, order(2).order);
    await driver.wake(4, order(3).order);
    expect(checkpoints.did).toEqual([...before, 'save', 'restore', ...after, 'drop']);
  }
});

describe('on a GPU', () => {
  const onGpu = { concerns: async () => true };

  test('its memory is emptied after its own sleep, and filled before its own wake, where there is room', async ({
    expect,
  }) => {
    for (const [cudaDriver, leaves, returns] of [
      ['self', 'suspend', 'resume'],
      ['plugin', 'note', 'prove'],
    ] as const) {
      const checkpoints = new ScriptedCheckpoints();
      const { driver } = await awake({ first: layer(checkpoints.did, 'it'), gpu: onGpu, cudaDriver }, checkpoints);
      await driver.sleep(4, order(2).order);
      expect(checkpoints.did.splice(0)).toEqual(['it sleeps', leaves, 'save']);
      await driver.wake(4, order(3).order);
      expect(checkpoints.did).toEqual(['room', 'restore', returns, 'it wakes', 'drop']);
    }
  });

  test('what the plugin finds on the GPU counts for the size of the image', async ({ expect }) => {
    const needs = new Map([
      ['GPU-1', 700],
      ['GPU-2', 300],
    ]);
    for (const [cudaDriver, mib] of [
      ['self', 0],
      ['plugin', 1_000],
    ] as const) {
      const { driver, checkpoints } = await awake({ gpu: { ...onGpu, frozen: { pids: [7], needs } }, cudaDriver });
      await driver.sleep(4, order(2).order);
      expect([cudaDriver, checkpoints.gpuMib]).toEqual([cudaDriver, [mib]]);
    }
  });

  test('nothing is written while it is on the GPU, and nothing restored where there is no room', async ({ expect }) => {
    const fails = (why: string) => async () => Promise.reject(new Error(why));
    const stuck = await awake({ gpu: { ...onGpu, suspend: fails('it could not be locked') } });
    await expect(stuck.driver.sleep(4, order(2).order)).rejects.toThrow('it could not be locked');
    expect(stuck.checkpoints.did).toEqual([]);
    const full = await awake({ gpu: { ...onGpu, untilRoom: fails('there is no room') } });
    await full.driver.sleep(4, order(2).order);
    await expect(full.driver.wake(4, order(3).order)).rejects.toThrow('there is no room');
    expect(full.checkpoints.did).toEqual(['suspend', 'save']);
  });

  test('what the tools lack is told before anything is done; host memory counts for what is left after its own sleep', async ({
    expect,
  }) => {
    const lack = { ...onGpu, lackOfMemory: async () => '9 MiB do not fit' };
    const rough = await awake({ gpu: lack });
    await expect(rough.driver.sleep(4, order(2).order)).rejects.toThrow(/^9 MiB do not fit/);
    expect(rough.checkpoints.did).toEqual([]);
    const checkpoints = new ScriptedCheckpoints();
    const left = { ...lack, suspend: async () => Promise.reject(new Error('what is left does not fit')) };
    const slim = await awake({ first: layer(checkpoints.did, 'it'), gpu: left }, checkpoints);
    await expect(slim.driver.sleep(4, order(2).order)).rejects.toThrow('what is left does not fit');
    expect(checkpoints.did).toEqual(['it sleeps']);
    const none = await awake({ gpu: { ...onGpu, unusable: async () => 'no cuda-checkpoint' } });
    await expect(none.driver.sleep(4, order(2).order)).rejects.toThrow('no cuda-checkpoint');
  });
});

test('a failed save says why, and the process it has left is watched again', async ({ expect }) => {
  const { driver, processes, told, clock, checkpoints } = await awake();
  checkpoints.onSave = () => {
    throw new CheckpointError('it could not be written to disk: no room');
  };
  const sleep = watched(driver.sleep(4, order(2).order));
  await clock.advance(1);
  expect(failureOf(sleep)).toBe('srv cannot sleep at level 4: it could not be written to disk: no room');
  processes.child.exit(3);
  await clock.advance(1);
  expect(told.exited).toEqual([[1, 'srv ended with code 3']]);
});

test('when its return fails the reason is that of the return, and a stop ends what has come back', async ({
  expect,
}) => {
  const { driver, processes, told, clock, checkpoints } = await awake();
  await driver.sleep(4, order(2).order);
  checkpoints.back = Promise.reject(new CheckpointError('it could not be brought back from disk: bad image'));
  checkpoints.onRestore = () => checkpoints.returned.exit(null);
  const wake = watched(driver.wake(4, order(3).order));
  await clock.advance(1);
  expect(failureOf(wake)).toBe('srv did not come back from disk: it could not be brought back from disk: bad image');
  expect(told.exited).toEqual([]);
  checkpoints.returned.others = [7_002];
  checkpoints.returned.onSignal = () => (checkpoints.returned.others = []);
  const stop = watched(driver.stop(order(4).order));
  await clock.advance(60_000);
  expect(stop.end?.kind).toBe('done');
  expect(checkpoints.returned.signals).toEqual(['SIGKILL']);
  expect(processes.child.signals).toEqual([]);
  expect(checkpoints.did).toEqual(['save', 'restore', 'drop']);
});

test('a return that does not end is over at the limit of a wake, and what there is of it is ended', async ({
  expect,
}) => {
  const { driver, clock, checkpoints } = await awake();
  await driver.sleep(4, order(2).order);
  checkpoints.back = new Promise(() => {});
  const wake = watched(driver.wake(4, order(3).order));
  await clock.advance(999);
  expect(wake.end).toBeUndefined();
  await clock.advance(1);
  expect(failureOf(wake)).toBe('srv did not come back from disk within 1 s (wake_timeout_secs)');
  const stop = watched(driver.stop(order(4).order));
  await clock.advance(60_000);
  expect([stop.end?.kind, checkpoints.returned.signals]).toEqual(['done', ['SIGKILL']]);
});

test('one that is back and does not answer is not awake', async ({ expect }) => {
  const { driver, http, clock } = await awake();
  await driver.sleep(4, order(2).order);
  http.reply = () => answered(503);
  const wake = watched(driver.wake(4, order(3).order));
  await clock.advance(2_000);
  expect(failureOf(wake)).toContain('srv did not become ready within 1 s');
  expect(driver.backend).toBeUndefined();
});

test('a stop of an engine on disk removes it, whoever has its port by then', async ({ expect }) => {
  const { driver, processes, clock, checkpoints } = await awake();
  const port = driver.running?.port ?? 0;
  await driver.sleep(4, order(2).order);
  processes.taken.add(port);
  const stop = watched(driver.stop(order(3).order));
  await clock.advance(1);
  expect(stop.end?.kind).toBe('done');
  expect(checkpoints.did).toEqual(['save', 'drop']);
});

test('that its image has made room for another is told, of the engine that slept in it', async ({ expect }) => {
  const { driver, told, clock, checkpoints } = await awake();
  await driver.sleep(4, order(2).order);
  expect(told.lost).toEqual([]);
  checkpoints.loseImage();
  expect(told.lost).toEqual([1]);
  const stop = watched(driver.stop(order(3).order));
  await clock.advance(1);
  expect(stop.end?.kind).toBe('done');
});

test('a save that ends after it was given up leaves nothing on disk', async ({ expect }) => {
  const { driver, clock, checkpoints } = await awake();
  const { order: given, withdraw } = order(2);
  checkpoints.onSave = withdraw;
  const sleep = watched(driver.sleep(4, given));
  await clock.advance(1);
  expect(sleep.end?.kind).toBe('failed');
  expect(checkpoints.did).toEqual(['save', 'drop']);
});

test('what hinders it is told before anything is done', async ({ expect }) => {
  const did: string[] = [];
  const { driver, clock, checkpoints } = await awake({ first: layer(did, 'a') });
  checkpoints.hinders = 'criu needs root';
  const sleep = watched(driver.sleep(4, order(2).order));
  await clock.advance(1);
  expect(failureOf(sleep)).toBe('criu needs root');
  expect([did, checkpoints.did, driver.running === undefined]).toEqual([[], [], false]);
});

describe('an image that an earlier catnap has kept', () => {
  const note = { slept: false, sample: null, gpu: null };

  async function withImage(over: Partial<KeptImage> = {}) {
    const checkpoints = new ScriptedCheckpoints();
    const { did } = checkpoints;
    const checkpoint: Checkpoint = {
      bytes: 1,
      release: () => ON_DISK,
      restore: async () => {
        did.push('restore');
        await checkpoints.onBegin;
        return { child: checkpoints.returned, back: checkpoints.back };
      },
      drop: async () => void did.push('drop'),
      whenGone: () => undefined,
      keep: async () => undefined,
    };
    const image: KeptImage = {
      ...{ port: 50_001, savedAt: '2026-01-01', prepared: false, before: note, checkpoint },
      change: async () => undefined,
      remove: async () => void did.push('remove'),
      ...over,
    };
    checkpoints.left = image;
    const means = { checkpoints, first: undefined, own: undefined, cudaDriver: 'self' as const, keeps: 'all' as const };
    const level = new CheckpointLevel({ ...means, suspension: gpuWay(did), stepMs: 1_000 });
    const engine = oneEngine(ALPHA, { levels: [level] });
    engine.http.reply = () => answered(200);
    return { ...engine, checkpoints };
  }

  test('is what the engine is brought back from, on the port it had, and nothing is spawned', async ({ expect }) => {
    const { driver, processes, clock, checkpoints } = await withImage();
    const start = watched(driver.start(order(1).order));
    await clock.advance(100);
    expect([start.end?.kind, driver.running]).toMatchObject(['done', { pid: 7_001, port: 50_001 }]);
    expect([checkpoints.did, processes.specs]).toEqual([['restore', 'drop'], []]);
  });

  test('is not used where anything has changed, and why is told', async ({ expect }) => {
    const { driver, processes, clock, told, checkpoints } = await withImage({
      change: async () => 'criu is another one',
    });
    const start = watched(driver.start(order(1).order));
    await clock.advance(100);
    expect([start.end?.kind, processes.specs.length]).toEqual(['done', 1]);
    expect(told.warned).toEqual([
      'it is started afresh and not brought back as it was at 2026-01-01: criu is another one',
    ]);
    expect(checkpoints.did).toEqual(['drop']);
  });

  test('is removed when it does not come back, and what has come is ended before another is started', async ({
    expect,
  }) => {
    const { driver, processes, clock, told, checkpoints } = await withImage();
    checkpoints.back = Promise.reject(new CheckpointError('bad image'));
    checkpoints.back.catch(() => undefined);
    checkpoints.returned.others = [7_002];
    checkpoints.returned.onSignal = () => (checkpoints.returned.others = []);
    const start = watched(driver.start(order(1).order));
    checkpoints.returned.exit(null);
    await clock.advance(5_000);
    expect([start.end?.kind, processes.specs.length, checkpoints.returned.signals]).toEqual(['done', 1, ['SIGKILL']]);
    expect(told.warned).toEqual([expect.stringContaining('did not come back from disk: bad image')]);
    expect(checkpoints.did).toContain('remove');
    expect(told.exited).toEqual([]);
  });

  test('is let go of when its return is given up, at whatever point, and nothing of it stays', async ({ expect }) => {
    for (const when of ['compared', 'begun', 'on its way'] as const) {
      const gate = Promise.withResolvers<void>();
      const engine = await withImage(when === 'compared' ? { change: () => gate.promise.then(() => undefined) } : {});
      const { driver, clock, checkpoints } = engine;
      if (when === 'begun') checkpoints.onBegin = gate.promise;
      if (when === 'on its way') checkpoints.back = gate.promise;
      const given = order(1);
      const start = watched(driver.start(given.order));
      await clock.advance(1);
      given.withdraw();
      await clock.advance(1);
      expect(failureOf(start)).toBe('the order was withdrawn');
      gate.resolve();
      await clock.advance(5_000);
      expect(checkpoints.did.filter((what) => what === 'drop').length).toBeGreaterThan(0);
      expect([when, checkpoints.returned.signals]).toEqual([when, when === 'compared' ? [] : ['SIGKILL']]);
      await driver.stop(order(2).order);
      // What it came from is let go of by then, so that the next start finds its way.
      checkpoints.left = undefined;
      const next = watched(driver.start(order(3).order));
      await clock.advance(5_000);
      expect(next.end?.kind).toBe('done');
    }
  });

  test('is removed when the engine that came from it fails', async ({ expect }) => {
    const { driver, clock, told, checkpoints } = await withImage({ prepared: true });
    void driver.start(order(1).order);
    await clock.advance(100);
    checkpoints.returned.exit(null);
    await clock.advance(1);
    expect([told.exited.length, checkpoints.did]).toEqual([1, ['restore', 'drop', 'remove']]);
  });

  test('is written with what a later catnap has to know, where images are kept', async ({ expect }) => {
    const checkpoints = new ScriptedCheckpoints();
    const gpu = { concerns: async () => true, frozen: { pids: [7], needs: new Map([['GPU-1', 700]]) } };
    const first = layer(checkpoints.did, 'it');
    const { driver } = await awake({ first, gpu, keeps: 'prepared' }, checkpoints);
    await driver.sleep(4, order(2).order);
    expect(checkpoints.passports).toEqual([
      {
        launched: { argv: ['srv', '--port', '40001'], env: { UV_USE_IO_URING: '0' }, cwd: undefined },
        before: { slept: true, sample: 'a sample', gpu: { pids: [7], needs: { 'GPU-1': 700 } } },
        prepared: true,
      },
    ]);
  });
});
