import { test } from 'vitest';
import type { ModelInput } from '../../../src/config/schema.ts';
import { CheckpointError, type Checkpoint, type Checkpoints } from '../../../src/ports/checkpoints.ts';
import type { Level } from '../../../src/sleep/level.ts';
import { CheckpointLevel } from '../../../src/sleep/level-4.ts';
import { failureOf, oneEngine, order, startUp, watched } from '../engines/one-engine.ts';
import { answered, ScriptedChild } from '../engines/scripted-ports.ts';

const ALPHA: ModelInput = { backend: 'command', command: ['srv', '--port', '${PORT}'] };

/** A machine on which a save kills the process and a return gives another, unless the test says otherwise. */
class ScriptedCheckpoints implements Checkpoints {
  readonly did: string[] = [];
  hinders: string | undefined;
  onSave: () => void = () => undefined;
  onRestore: () => void = () => undefined;
  back: Promise<void> = Promise.resolve();
  returned = new ScriptedChild(7_001);

  async hindrance(): Promise<string | undefined> {
    return this.hinders;
  }

  async save(child: ScriptedChild): Promise<Checkpoint> {
    this.did.push('save');
    this.onSave();
    child.exit(null, 'SIGKILL');
    return {
      bytes: 1,
      restore: async () => {
        this.did.push('restore');
        this.onRestore();
        return { child: this.returned, back: this.back };
      },
      drop: async () => void this.did.push('drop'),
    };
  }
}

async function awake(...first: Level[]) {
  const checkpoints = new ScriptedCheckpoints();
  const engine = oneEngine(ALPHA, { levels: [new CheckpointLevel({ checkpoints, first, answerMs: 1_000 })] });
  await startUp(engine);
  return { ...engine, checkpoints };
}

/** What is done first tells when it is done. */
function layer(did: string[], name: string, hindrance?: string): Level {
  const done = { actMs: 0, proofMs: 0 };
  return {
    level: 2,
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

test('it is put to the levels before first and woken from them in turn; what it cannot be put to is left out', async ({
  expect,
}) => {
  const did: string[] = [];
  const { driver, checkpoints } = await awake(layer(did, 'a'), layer(did, 'b', 'it cannot'), layer(did, 'c'));
  checkpoints.onSave = () => did.push('save');
  checkpoints.onRestore = () => did.push('restore');
  await driver.sleep(4, order(2).order);
  await driver.wake(4, order(3).order);
  expect(did).toEqual(['a sleeps', 'c sleeps', 'save', 'restore', 'c wakes', 'a wakes']);
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
  const { driver, clock, checkpoints } = await awake(layer(did, 'a'));
  checkpoints.hinders = 'criu needs root';
  const sleep = watched(driver.sleep(4, order(2).order));
  await clock.advance(1);
  expect(failureOf(sleep)).toBe('criu needs root');
  expect([did, checkpoints.did, driver.running === undefined]).toEqual([[], [], false]);
});
