import { test } from 'vitest';
import type { ModelInput } from '../../../src/config/schema.ts';
import type { StubServer, StubServers, StubSpec, StubState } from '../../../src/ports/stub-server.ts';
import { failureOf, oneEngine, order, watched } from './one-engine.ts';

type StubInput = Extract<ModelInput, { backend: 'stub' }>;

/** A stub engine whose server only remembers what it was told. */
function stub(alpha: Partial<StubInput> = {}) {
  const specs: StubSpec[] = [];
  const states: (StubState | 'closed')[] = [];
  const crash = Promise.withResolvers<string>();
  const stubs: StubServers = {
    async open(spec) {
      specs.push(spec);
      const server: StubServer = {
        port: 9_000 + specs.length,
        pid: 1,
        crashed: crash.promise,
        set: (state) => void states.push(state),
        close: async () => void states.push('closed'),
      };
      return server;
    },
  };
  const engine = oneEngine({ backend: 'stub', ...alpha }, { stubs });
  return { ...engine, specs, states, crash: (reason: string) => crash.resolve(reason) };
}

test('it starts after its delay and answers with a line that names the model', async ({ expect }) => {
  const { driver, clock, specs, states } = stub({ start_ms: 300, first_token_ms: 5, token_ms: 7, tokens: 9 });
  const start = watched(driver.start(order().order));
  await clock.advance(299);
  expect([start.end, driver.backend]).toEqual([undefined, undefined]);
  await clock.advance(1);
  expect(start.end).toEqual({ kind: 'done', done: { actMs: 300, proofMs: 0 } });
  expect(driver.backend).toMatchObject({ origin: 'http://127.0.0.1:9001', servedName: 'alpha' });
  expect(specs).toEqual([
    { model: 'alpha', text: 'Hello from alpha, the built-in engine.', tokens: 9, firstTokenMs: 5, tokenMs: 7 },
  ]);
  expect(states).toEqual(['awake']);
});

test('it sleeps at levels 1 and 2 in the same server, and wakes as another backend', async ({ expect }) => {
  const { driver, clock, specs, states } = stub({ sleep_ms: 40, wake_ms: 60 });
  await driver.start(order().order);
  const awake = driver.backend;
  const sleep = watched(driver.sleep(2, order(2).order));
  expect([awake?.gone.aborted, driver.backend]).toEqual([true, undefined]);
  await clock.advance(40);
  expect(sleep.end).toEqual({ kind: 'done', done: { actMs: 40, proofMs: 0 } });
  const wake = watched(driver.wake(2, order(3).order));
  await clock.advance(60);
  expect(wake.end).toMatchObject({ kind: 'done' });
  expect(driver.backend).not.toBe(awake);
  expect(driver.backend?.gone.aborted).toBe(false);
  expect([specs.length, states]).toEqual([1, ['awake', 'asleep', 'awake']]);
});

test('a withdrawn start gives up at once, and the stop closes the server', async ({ expect }) => {
  const { driver, clock, states } = stub({ start_ms: 10_000 });
  const { order: first, withdraw } = order();
  const start = watched(driver.start(first));
  await clock.advance(10);
  withdraw();
  await clock.advance(0);
  expect(start.end).toMatchObject({ kind: 'failed' });
  await driver.stop(order(2).order);
  expect(states).toEqual(['closed']);
  expect(driver.running).toBeUndefined();
  expect(clock.pending).toBe(0);
});

test('a stop during the start ends both', async ({ expect }) => {
  const { driver, clock, states } = stub({ start_ms: 10_000 });
  const start = watched(driver.start(order().order));
  const stop = watched(driver.stop(order(2).order));
  await clock.advance(10);
  expect([start.end?.kind, stop.end?.kind, states]).toEqual(['failed', 'done', ['closed']]);
});

test('a crash while awake or asleep is told once, with its connections closed; while starting it fails the start', async ({
  expect,
}) => {
  const awake = stub();
  await awake.driver.start(order(5).order);
  const gone = awake.driver.backend?.gone;
  awake.crash('went down');
  await awake.clock.advance(0);
  expect(awake.told.exited).toEqual([[5, 'the stub engine went down']]);
  expect([gone?.aborted, awake.driver.backend, awake.driver.running]).toEqual([true, undefined, undefined]);

  const asleep = stub();
  await asleep.driver.start(order(5).order);
  await asleep.driver.sleep(1, order(6).order);
  asleep.crash('went down');
  await asleep.clock.advance(0);
  expect(asleep.told.exited).toHaveLength(1);

  const starting = stub({ start_ms: 10_000 });
  const start = watched(starting.driver.start(order().order));
  await starting.clock.advance(10);
  starting.crash('went down');
  await starting.clock.advance(0);
  expect(failureOf(start)).toBe('the stub engine went down');
  expect(starting.told.exited).toEqual([]);
});

test('a stop closes the connections and is no crash', async ({ expect }) => {
  const { driver, clock, told } = stub();
  await driver.start(order().order);
  const gone = driver.backend?.gone;
  await driver.stop(order(2).order);
  await clock.advance(10);
  expect([gone?.aborted, driver.backend]).toEqual([true, undefined]);
  expect(told.exited).toEqual([]);
});

test('a stop at whatever step of a start leaves no server and no backend', async ({ expect }) => {
  for (let step = 0; step < 40; step += 1) {
    const { driver, clock, specs, states } = stub();
    const start = watched(driver.start(order().order));
    for (let passed = 0; passed < step; passed += 1) await Promise.resolve();
    const stop = watched(driver.stop(order(2).order));
    await clock.advance(10);
    expect([step, start.end === undefined, stop.end?.kind]).toEqual([step, false, 'done']);
    expect([step, driver.backend, driver.running, specs.length, states.at(-1)]).toEqual([
      ...[step, undefined, undefined, 1, 'closed'],
    ]);
  }
});
