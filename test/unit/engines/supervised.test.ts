import { test } from 'vitest';
import type { ModelInput } from '../../../src/config/schema.ts';
import { after } from '../../../src/core/kinds.ts';
import { DriverError } from '../../../src/engines/driver.ts';
import { failureOf, oneEngine, order, startUp, watched } from './one-engine.ts';
import { answered, HANG, REFUSED } from './scripted-ports.ts';

const ALPHA: ModelInput = { backend: 'command', command: ['srv', '--port', '${PORT}'] };

test('a start gives the backend and tells how long the process took to answer and to be ready', async ({ expect }) => {
  const { driver, clock, http, processes } = oneEngine(ALPHA);
  http.reply = () => (clock.now() < 30 ? REFUSED : answered(clock.now() < 60 ? 503 : 200));
  expect(driver.backend).toBeUndefined();
  const start = watched(driver.start(order(4).order));
  await clock.advance(200);
  expect(start.end).toEqual({ kind: 'done', done: { actMs: 30, proofMs: 30 } });
  const { port } = driver.running ?? { port: 0 };
  expect(driver.running).toEqual({ pid: processes.child.pid, port, commandLine: `srv --port ${port}` });
  expect(driver.backend).toMatchObject({ origin: `http://127.0.0.1:${port}`, servedName: 'alpha' });
  expect(driver.backend?.gone.aborted).toBe(false);
  expect(processes.specs[0]).toMatchObject({ engine: 'alpha#0', model: 'alpha', port });
  expect(clock.pending).toBe(0);
});

test('a stop closes the connections before the process is asked to end', async ({ expect }) => {
  const engine = oneEngine(ALPHA);
  await startUp(engine);
  const { driver, clock, processes } = engine;
  const gone = driver.backend?.gone;
  let goneWhenAsked: boolean | undefined;
  processes.child.onSignal = () => {
    goneWhenAsked = gone?.aborted;
    processes.child.exit(0);
  };
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(100);
  expect(stop.end).toMatchObject({ kind: 'done' });
  expect(goneWhenAsked).toBe(true);
  expect([driver.backend, driver.running]).toEqual([undefined, undefined]);
  expect(engine.told.exited).toEqual([]);
});

test('a restarted engine is another backend', async ({ expect }) => {
  const engine = oneEngine(ALPHA);
  await startUp(engine, 1);
  const first = engine.driver.backend;
  engine.processes.child.onSignal = () => engine.processes.child.exit(0);
  await Promise.all([engine.driver.stop(order(2).order), engine.clock.advance(50)]);
  await startUp(engine, 3);
  expect(engine.driver.backend).not.toBe(first);
  expect(first?.gone.aborted).toBe(true);
  expect(engine.driver.backend?.gone.aborted).toBe(false);
});

test('an engine that ends by itself is told once, with its birth and why, and its connections are closed', async ({
  expect,
}) => {
  const engine = oneEngine(ALPHA);
  await startUp(engine, 7);
  const { driver, processes, told, clock } = engine;
  const gone = driver.backend?.gone;
  processes.child.print('CUDA error: an illegal memory access was encountered');
  processes.child.exit(null, 'SIGABRT');
  await clock.advance(10);
  expect(told.exited).toEqual([[7, 'srv was ended by SIGABRT (it gave up by itself)']]);
  expect(gone?.aborted).toBe(true);
  expect([driver.backend, driver.running]).toEqual([undefined, undefined]);
  const stop = watched(driver.stop(order(8).order));
  await clock.advance(10);
  expect(stop.end).toMatchObject({ kind: 'done' });
  expect(driver.tail(5)).toEqual(['CUDA error: an illegal memory access was encountered']);
});

test('what an engine printed before it died at work is not told, since it may be what a client wrote', async ({
  expect,
}) => {
  const engine = oneEngine(ALPHA);
  await startUp(engine);
  const { child } = engine.processes;
  child.print('ggml: failed to allocate 4 GiB', 'error in prompt: my secret question');
  child.exit(7);
  await engine.clock.advance(10);
  expect(engine.told.exited[0]?.[1]).toBe('srv ended with code 7: out of memory');
});

test('an old complaint is not taken for the cause of a crash', async ({ expect }) => {
  const engine = oneEngine(ALPHA);
  await startUp(engine);
  const { child } = engine.processes;
  child.print('error: out of memory', ...Array.from({ length: 100 }, (_, request) => `request ${request} done`));
  child.exit(139);
  await engine.clock.advance(10);
  expect(engine.told.exited[0]?.[1]).toBe('srv ended with code 139');
});

test('a process that ends while it starts fails the start with what it printed, and is not told a second time', async ({
  expect,
}) => {
  const { driver, clock, processes, told } = oneEngine(ALPHA);
  const start = watched(driver.start(order().order));
  await clock.advance(20);
  processes.child.print('loading', 'error: no such model', 'bye');
  processes.child.exit(1);
  await clock.advance(0);
  expect(failureOf(start)).toBe('srv ended with code 1: error: no such model');
  const error = start.end?.kind === 'failed' ? start.end.error : undefined;
  expect(error instanceof DriverError && error.trouble).toBeUndefined();
  expect(told.exited).toEqual([]);
  expect(driver.backend).toBeUndefined();
});

test('a start that is late says so with the key that bounds it, and leaves the process to the stop', async ({
  expect,
}) => {
  const { driver, clock, http, processes } = oneEngine({ ...ALPHA, startup_timeout_secs: 3 });
  http.reply = () => HANG;
  const start = watched(driver.start(order().order));
  await clock.advance(3_100);
  expect(failureOf(start)).toContain('srv was not ready within 3 s (startup_timeout_secs)');
  expect(processes.child.signals).toEqual([]);
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(30_000);
  expect(stop.end).toMatchObject({ kind: 'done' });
  expect(processes.child.hasExited).toBe(true);
});

test('a silent start has stalled', async ({ expect }) => {
  const { driver, clock } = oneEngine({ ...ALPHA, startup_stall_secs: 2 });
  const start = watched(driver.start(order().order));
  await clock.advance(2_100);
  expect(failureOf(start)).toContain('srv stalled while starting: it printed nothing for 2 s (startup_stall_secs)');
});

test('a withdrawn start gives up at once, and the stop that follows ends what it began', async ({ expect }) => {
  const { driver, clock, processes } = oneEngine(ALPHA);
  const { order: first, withdraw } = order();
  const start = watched(driver.start(first));
  await clock.advance(20);
  withdraw();
  await clock.advance(0);
  expect(start.end).toMatchObject({ kind: 'failed' });
  processes.child.onSignal = () => processes.child.exit(0);
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(20);
  expect(stop.end).toMatchObject({ kind: 'done' });
  expect(processes.child.signals).toEqual(['SIGTERM']);
});

test('a stop during the spawn itself waits for the process and ends it', async ({ expect }) => {
  const { driver, clock, processes } = oneEngine(ALPHA);
  const spawn = Promise.withResolvers<void>();
  processes.hold = spawn.promise;
  const start = watched(driver.start(order().order));
  await clock.advance(0);
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(100);
  expect(start.end).toMatchObject({ kind: 'failed' });
  expect(stop.end).toBeUndefined();
  spawn.resolve();
  await clock.advance(60_000);
  expect(stop.end).toMatchObject({ kind: 'done' });
  expect(processes.child.hasExited).toBe(true);
  expect(driver.running).toBeUndefined();
});

test('a start that is stopped before it spawns spawns nothing', async ({ expect }) => {
  const { driver, clock, processes } = oneEngine(ALPHA);
  const start = watched(driver.start(order().order));
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(100);
  expect([start.end?.kind, stop.end?.kind]).toEqual(['failed', 'done']);
  expect(processes.specs).toEqual([]);
});

test('a program that cannot be started fails the start, and there is nothing to stop', async ({ expect }) => {
  const { driver, clock, processes } = oneEngine(ALPHA);
  processes.spawnError = new Error('srv was not found');
  const start = watched(driver.start(order().order));
  await clock.advance(10);
  expect(failureOf(start)).toBe('srv was not found');
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(0);
  expect(stop.end).toEqual({ kind: 'done', done: { actMs: 0, proofMs: 0 } });
});

test('a second stop joins the first', async ({ expect }) => {
  const engine = oneEngine(ALPHA);
  await startUp(engine);
  const { driver, clock, processes } = engine;
  processes.child.onSignal = () => clock.at(after(clock.now(), 500), () => processes.child.exit(0));
  const stops = [watched(driver.stop(order(2).order)), watched(driver.stop(order(3).order))];
  await clock.advance(600);
  expect(stops.map(({ end }) => end?.kind)).toEqual(['done', 'done']);
  expect(processes.child.signals).toEqual(['SIGTERM']);
  expect(processes.child.forgotten).toBe(1);
});

test('a stop whose order is withdrawn gives up at once, and the next goes on with it', async ({ expect }) => {
  const engine = oneEngine({ ...ALPHA, stop_grace_secs: 2 });
  await startUp(engine);
  const { driver, clock, processes } = engine;
  const { order: first, withdraw } = order(2);
  const given = watched(driver.stop(first));
  await clock.advance(100);
  withdraw();
  await clock.advance(0);
  expect(given.end).toMatchObject({ kind: 'failed' });
  const next = watched(driver.stop(order(3).order));
  await clock.advance(4_000);
  expect(next.end).toMatchObject({ kind: 'done' });
  expect(processes.child.signals).toEqual(['SIGTERM', 'SIGTERM', 'SIGKILL']);
});

test('a stop that cannot be proven names who is left; the engine is still held, and the next stop ends it', async ({
  expect,
}) => {
  const engine = oneEngine(ALPHA, { root: { stop_timeout_secs: 12, stop_grace_secs: 1 } });
  await startUp(engine);
  const { driver, clock, processes } = engine;
  processes.child.others = [4_711];
  const first = watched(driver.stop(order(2).order));
  await clock.advance(12_100);
  expect(failureOf(first)).toContain('4711');
  processes.child.others = [];
  const second = watched(driver.stop(order(3).order));
  await clock.advance(100);
  expect(second.end).toMatchObject({ kind: 'done' });
});

test('a configured port that somebody else has is an error that names the key, before anything is spawned', async ({
  expect,
}) => {
  const { driver, clock, processes } = oneEngine({ ...ALPHA, port: 8_011 });
  processes.taken.add(8_011);
  const start = watched(driver.start(order().order));
  await clock.advance(10);
  expect(failureOf(start)).toBe('port 8011 is in use by another program: end it, or change models.alpha.port');
  expect(processes.specs).toEqual([]);
});

test('a nap is refused, since the engine knows none', async ({ expect }) => {
  const engine = oneEngine(ALPHA);
  await startUp(engine);
  await expect(engine.driver.sleep(1, order(2).order)).rejects.toThrow('cannot be put to sleep at level 1');
});

test('an engine that is not awake proves nothing', async ({ expect }) => {
  const { driver } = oneEngine(ALPHA);
  expect(await driver.prove(new AbortController().signal)).toBe(false);
});

/** Lets so many steps of promises pass and no time. */
async function steps(count: number): Promise<void> {
  for (let step = 0; step < count; step += 1) await Promise.resolve();
}

test('a stop at whatever step of a start leaves no process and no backend', async ({ expect }) => {
  for (let step = 0; step < 80; step += 1) {
    const { driver, clock, http, processes } = oneEngine(ALPHA);
    http.reply = () => answered(200);
    const start = watched(driver.start(order().order));
    await steps(step);
    const stop = watched(driver.stop(order(2).order));
    await clock.advance(60_000);
    expect([step, start.end === undefined, stop.end?.kind]).toEqual([step, false, 'done']);
    expect([step, driver.backend, driver.running]).toEqual([step, undefined, undefined]);
    expect([step, processes.children.every(({ hasExited }) => hasExited)]).toEqual([step, true]);
  }
});

test('an exit at whatever step of a start fails it or is told, and never both or neither', async ({ expect }) => {
  for (let step = 0; step < 80; step += 1) {
    const { driver, clock, http, processes, told } = oneEngine(ALPHA);
    http.reply = () => answered(200);
    const start = watched(driver.start(order().order));
    while (processes.children.length === 0) await Promise.resolve();
    await steps(step);
    processes.child.exit(1);
    await clock.advance(1_000);
    expect([step, (start.end?.kind === 'failed' ? 1 : 0) + told.exited.length]).toEqual([step, 1]);
    expect([step, driver.backend]).toEqual([step, undefined]);
  }
});
