import { test } from 'vitest';
import type { ModelInput } from '../../../src/config/schema.ts';
import type { NapLevel } from '../../../src/core/kinds.ts';
import { DriverError } from '../../../src/engines/driver.ts';
import type { Sleeper } from '../../../src/engines/sleeper.ts';
import type { Gpu } from '../../../src/ports/gpu.ts';
import type { Level } from '../../../src/sleep/level.ts';
import { failureOf, oneEngine, order, startUp, watched } from './one-engine.ts';
import { answered, ScriptedChild } from './scripted-ports.ts';

const ALPHA: ModelInput = { backend: 'command', command: ['srv', '--port', '${PORT}'], stop_grace_secs: 5 };

/** A level that does nothing but what the test says. */
class ScriptedLevel implements Level {
  readonly level: NapLevel;
  seen: Sleeper | undefined;
  discarded = 0;
  hinders: string | undefined;
  onSleep: (sleeper: Sleeper) => Promise<void> = async () => undefined;
  onWake: (sleeper: Sleeper) => Promise<void> = async () => undefined;

  constructor(level: NapLevel) {
    this.level = level;
  }

  async hindrance(): Promise<string | undefined> {
    return this.hinders;
  }

  async sleep(sleeper: Sleeper) {
    this.seen = sleeper;
    await this.onSleep(sleeper);
    return { actMs: 1, proofMs: 2 };
  }

  async wake(sleeper: Sleeper) {
    await this.onWake(sleeper);
    return { actMs: 3, proofMs: 4 };
  }

  async discard(): Promise<void> {
    this.discarded += 1;
  }
}

async function awake(level: NapLevel, root: object = {}, gpu?: Gpu) {
  const way = new ScriptedLevel(level);
  const engine = oneEngine(ALPHA, { levels: [way], root, ...(gpu !== undefined && { gpu }) });
  await startUp(engine);
  return { ...engine, way };
}

test('connections are closed before the level begins, and another backend is given when it wakes', async ({
  expect,
}) => {
  const { driver, way } = await awake(1);
  const first = driver.backend;
  let closedBefore: boolean | undefined;
  way.onSleep = async () => void (closedBefore = first?.gone.aborted === true && driver.backend === undefined);
  expect(await driver.sleep(1, order(2).order)).toMatchObject({ actMs: 1, proofMs: 2 });
  expect(closedBefore).toBe(true);
  expect(driver.backend).toBeUndefined();
  expect(driver.running).toBeDefined();
  expect(await driver.wake(1, order(3).order)).toEqual({ actMs: 3, proofMs: 4 });
  expect(driver.backend?.gone.aborted).toBe(false);
  expect(driver.backend).not.toBe(first);
});

test('what hinders a level is told before anything is done', async ({ expect }) => {
  const { driver, way } = await awake(1);
  way.hinders = 'vLLM 0.15.1 frees nothing when it sleeps';
  const sleep = watched(driver.sleep(1, order(2).order));
  await new Promise((resolve) => setImmediate(resolve));
  expect(failureOf(sleep)).toBe('vLLM 0.15.1 frees nothing when it sleeps');
  expect(way.seen).toBeUndefined();
});

test('an engine that ends in its sleep is told', async ({ expect }) => {
  const { driver, processes, told, clock } = await awake(1);
  await driver.sleep(1, order(2).order);
  processes.child.exit(9);
  await clock.advance(1);
  expect(told.exited).toEqual([[1, 'srv ended with code 9']]);
});

test('an engine that ends while it wakes is not awake', async ({ expect }) => {
  const { driver, processes, clock, way } = await awake(1);
  await driver.sleep(1, order(2).order);
  way.onWake = async () => processes.child.exit(9);
  const wake = watched(driver.wake(1, order(3).order));
  await clock.advance(1);
  expect(failureOf(wake)).toContain('srv ended with code 9');
  expect(driver.backend).toBeUndefined();
});

test('a process that was let go may end without a word, and one that takes its place is the engine', async ({
  expect,
}) => {
  const { driver, processes, told, clock, way } = await awake(4);
  way.onSleep = async (sleeper) => {
    sleeper.letGo();
    processes.child.exit(null, 'SIGKILL');
  };
  await driver.sleep(4, order(2).order);
  await clock.advance(1);
  expect(told.exited).toEqual([]);
  expect(driver.running).toBeUndefined();

  const restored = new ScriptedChild(7_001);
  way.onWake = async (sleeper) => sleeper.takeBack(restored);
  await driver.wake(4, order(3).order);
  expect(driver.running?.pid).toBe(7_001);
  restored.exit(1);
  await clock.advance(1);
  expect(told.exited).toEqual([[1, 'srv ended with code 1']]);
});

test('the end of a process that was let go and is taken back is told, even if it came in between', async ({
  expect,
}) => {
  const { driver, processes, told, clock, way } = await awake(4);
  way.onSleep = async (sleeper) => {
    sleeper.letGo();
    processes.child.exit(1);
    await processes.child.exited;
    sleeper.takeBack(sleeper.child);
    throw new DriverError('the dump failed');
  };
  const sleep = watched(driver.sleep(4, order(2).order));
  await clock.advance(1);
  expect(failureOf(sleep)).toBe('the dump failed');
  expect(told.exited).toEqual([[1, 'srv ended with code 1']]);
});

test('a sleeper that can hear is asked to end, one that cannot is killed at once, and what was kept for it goes', async ({
  expect,
}) => {
  for (const [level, signals] of [
    [1, ['SIGTERM', 'SIGTERM', 'SIGKILL']],
    [3, ['SIGKILL']],
  ] as const) {
    const { driver, processes, clock, way } = await awake(level);
    await driver.sleep(level, order(2).order);
    const stop = watched(driver.stop(order(3).order));
    await clock.advance(30_000);
    expect([level, stop.end?.kind]).toEqual([level, 'done']);
    expect([level, processes.child.signals]).toEqual([level, signals]);
    expect([level, way.discarded]).toEqual([level, 1]);
  }
});

test('an order that is withdrawn ends the wait for a level that does not listen', async ({ expect }) => {
  const { driver, way, clock } = await awake(1);
  way.onSleep = () => new Promise(() => undefined);
  const { order: given, withdraw } = order(2);
  const sleep = watched(driver.sleep(1, given));
  await clock.advance(1);
  withdraw();
  await clock.advance(1);
  expect(sleep.end?.kind).toBe('failed');
});

test('who answers otherwise after a wake than before is told of, or is not awake, as the config says', async ({
  expect,
}) => {
  for (const [changed_answer, told] of [
    ['told', ['alpha: srv answers "a dog" after level 1, and answered "a cat" before']],
    ['restart', []],
  ] as const) {
    const { driver, http, told: seen } = await awake(1, { changed_answer });
    const says = (text: string) => () => answered(200, JSON.stringify({ choices: [{ text }] }));
    http.reply = says('a cat');
    await driver.sleep(1, order(2).order);
    await driver.wake(1, order(3).order);
    await driver.sleep(1, order(4).order);
    http.reply = says('a dog');
    const end = driver.wake(1, order(5).order).then(
      () => 'awake',
      (error: Error) => error.message,
    );
    expect(await end).toMatch(
      changed_answer === 'told' ? /^awake$/ : /answers "a dog" after level 1, .*\(changed_answer\)/,
    );
    expect(seen.warned.filter((line) => line.includes('a dog')).map((line) => line.split(': try', 1)[0])).toEqual(told);
  }
});

test('what it holds is looked at when its first request has had its turn, or as soon as it has to sleep', async ({
  expect,
}) => {
  const did: string[] = [];
  const gpu: Gpu = {
    read: async () => ({ kind: 'absent', reason: 'there is no GPU here' }),
    holders: async () => (did.push('look'), { kind: 'read', processes: [] }),
  };
  const { driver, clock, way } = await awake(3, {}, gpu);
  way.onSleep = async () => void did.push('sleep');
  way.onWake = async () => void did.push('wake');
  await driver.sleep(3, order(2).order);
  did.length = 0;
  await driver.wake(3, order(3).order);
  await clock.advance(1);
  expect(did).toEqual(['wake']);
  await clock.advance(100);
  expect(did).toEqual(['wake', 'look']);
  did.length = 0;
  await driver.wake(3, order(4).order);
  await driver.sleep(3, order(5).order);
  expect([did[0], did[1], did.at(-1)]).toEqual(['wake', 'look', 'sleep']);
});

test('a question that came before it was ready is asked again', async ({ expect }) => {
  const { driver, http, clock, told } = await awake(1);
  const cat = answered(200, JSON.stringify({ choices: [{ text: 'a cat' }] }));
  http.reply = () => cat;
  await driver.sleep(1, order(2).order);
  const readyAt = clock.now() + 30;
  const asked: string[] = [];
  http.reply = ({ json }) => {
    if (JSON.stringify(json)?.includes('France') === true) asked.push(clock.now() < readyAt ? 'too early' : 'in time');
    return clock.now() < readyAt ? answered(503) : cat;
  };
  const wake = watched(driver.wake(1, order(3).order));
  await clock.advance(100);
  expect([wake.end?.kind, asked]).toEqual(['done', ['too early', 'in time']]);
  expect(told.warned.filter((line) => line.includes('a cat'))).toEqual([]);
});
