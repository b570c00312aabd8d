import { test } from 'vitest';
import type { OwnSleep } from '../../../src/engines/sleeper.ts';
import { hybrid } from '../../../src/sleep/hybrid.ts';
import { oneEngine, order, startUp } from '../engines/one-engine.ts';
import { answered } from '../engines/scripted-ports.ts';

type Ways = { readonly own?: Partial<OwnSleep>; readonly suspension?: Partial<Parameters<typeof hybrid>[1]> };

const LOOK = { sure: [], now: Promise.resolve({ kind: 'read', processes: [] } as const) };

const fails = (why: string) => async (): Promise<never> => Promise.reject(new Error(why));

/** An engine that does all that is asked of it, but for what the test says. */
async function awake(ways: Ways = {}) {
  const did: string[] = [];
  const step = (name: string) => async () => void did.push(name);
  const own: OwnSleep = {
    hindrance: async () => undefined,
    release: step('release'),
    resume: async (part) => void did.push(`resume ${part}`),
    reload: step('reload'),
    forget: step('forget'),
    partHindrance: () => undefined,
    part: step('part'),
    rejoin: step('rejoin'),
    sleeps: async () => undefined,
    settle: step('settle'),
    ...ways.own,
  };
  const suspension = {
    unusable: async () => undefined,
    lackOfMemory: async () => undefined,
    look: () => {
      did.push('look');
      return Promise.resolve(LOOK);
    },
    suspend: async (_: unknown, __: unknown, look: unknown) =>
      void did.push(look === LOOK ? 'suspend by that look' : 'suspend'),
    untilRoom: step('room'),
    thaw: step('thaw'),
    frozen: { pids: [], needs: new Map() },
    recall: () => undefined,
    ...ways.suspension,
  };
  const engine = oneEngine(
    { backend: 'command', command: ['srv', '--port', '${PORT}'] },
    { levels: [hybrid(own, suspension, { answerMs: 1_000, changed: 'told', warned: () => {} })] },
  );
  await startUp(engine);
  engine.http.reply = () => answered(200, '{"choices":[{"text":"a cat"}]}');
  const { driver } = engine;
  return {
    did,
    engine,
    sleep: (epoch: number) => driver.sleep('hybrid', order(epoch).order),
    wake: (epoch: number) => driver.wake('hybrid', order(epoch).order),
    hindrance: () => driver.hindrance('hybrid', new AbortController().signal),
  };
}

const BACK = ['resume weights', 'reload', 'resume kv_cache', 'forget'];

test('who is on the GPUs is looked at once the weights are given up, beside the rest', async ({ expect }) => {
  const { sleep, did } = await awake();
  await sleep(2);
  expect(did).toEqual(['release', 'look', 'suspend by that look']);
});

test('a wake for which there is no room yet is no reason to refuse the level', async ({ expect }) => {
  const { sleep, wake, hindrance, did } = await awake({ suspension: { untilRoom: fails('3 MiB are free') } });
  await sleep(2);
  await expect(wake(3)).rejects.toThrow('3 MiB are free');
  expect(await hindrance()).toBeUndefined();
  expect(did).not.toContain('thaw');
});

test('a wake that is withdrawn is no reason to refuse the level, one that fails is', async ({ expect }) => {
  const given = order(3);
  const withdrawn = await awake({
    suspension: { thaw: async () => (given.withdraw(), Promise.reject(new Error('it was cut'))) },
  });
  await withdrawn.sleep(2);
  await expect(withdrawn.engine.driver.wake('hybrid', given.order)).rejects.toThrow('the order was withdrawn');
  expect(await withdrawn.hindrance()).toBeUndefined();

  const failed = await awake({ suspension: { thaw: fails('a process hangs') } });
  await failed.sleep(2);
  await expect(failed.wake(3)).rejects.toThrow('a process hangs');
  expect(await failed.hindrance()).toBe('it did not come back from level hybrid before: a process hangs');
});

test('a sleep that fails and cannot be taken back tells both, and is not tried again', async ({ expect }) => {
  const { sleep, hindrance } = await awake({
    own: { resume: fails('the weights are gone') },
    suspension: { suspend: fails('it could not be locked') },
  });
  await expect(sleep(2)).rejects.toThrow(
    'it could not be locked; and what was done before could not be taken back: the weights are gone',
  );
  expect(await hindrance()).toBe('it did not come back from level hybrid before: the weights are gone');
});

test('weights that were given up half way are filled again, and those that were not are let be', async ({ expect }) => {
  for (const [asleep, done] of [
    [true, BACK],
    [undefined, BACK],
    [false, []],
  ] as const) {
    const { sleep, did, hindrance } = await awake({
      own: { release: fails('it took too long'), sleeps: async () => asleep },
    });
    await expect(sleep(2)).rejects.toThrow(/^it took too long$/);
    expect([did, await hindrance()]).toEqual([done, undefined]);
  }
});
