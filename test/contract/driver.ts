import { connect } from 'node:net';
import { describe, type TestContext } from 'vitest';
import type { ModelInput } from '../../src/config/schema.ts';
import type { Backend, Driver } from '../../src/engines/driver.ts';
import { waitFor } from '../helpers/wait-for.ts';
import { order, test } from './engines.ts';

/** A model that skips its test where the real part cannot be had. */
type Model = (context: Pick<TestContext, 'skip'>) => Promise<ModelInput>;

/** A family of engines that is held to what every driver promises. */
type Subject = {
  /** Answers every chat with `says`. */
  readonly model: Model;
  readonly says: string;
  /** Can be met in the middle of its start. */
  readonly slowToStart: Model;
  /** Streams for seconds when it is asked this for a completion. */
  readonly longStream: { readonly model: Model; readonly ask: object };
  /** Makes the engine end by itself. */
  readonly crash: (driver: Driver) => Promise<void>;
};

/** The promises of `engines/driver.ts`, on real processes and sockets. */
export function driverContract(name: string, subject: Subject): void {
  describe(`every driver, ${name}`, () => {
    test('starts an engine that answers, and a stop leaves nothing', async ({ engines, expect, skip }) => {
      const { driver, exits } = engines.make(await subject.model({ skip }));
      const done = await driver.start(order().order);
      expect(done.actMs).toBeGreaterThan(0);
      const backend = awake(driver);
      expect(await chat(backend)).toBe(subject.says);
      const { port, pid } = driver.running ?? {};
      expect([typeof pid, backend.origin]).toEqual(['number', `http://127.0.0.1:${port}`]);
      await driver.stop(order(2).order);
      expect(await accepts(backend)).toBe(false);
      expect([backend.gone.aborted, driver.backend, driver.running, exits]).toEqual([true, undefined, undefined, []]);
    });

    test('starts again after a stop, as another backend', async ({ engines, expect, skip }) => {
      const { driver } = engines.make(await subject.model({ skip }));
      await driver.start(order(1).order);
      const first = awake(driver);
      await driver.stop(order(2).order);
      await driver.start(order(3).order);
      expect(awake(driver)).not.toBe(first);
      expect(await chat(awake(driver))).toBe(subject.says);
    });

    test('tells once of an engine that ended by itself, and can stop and start after it', async ({
      engines,
      expect,
      skip,
    }) => {
      const { driver, exits } = engines.make(await subject.model({ skip }));
      await driver.start(order(5).order);
      const backend = awake(driver);
      await subject.crash(driver);
      await waitFor('the exit to be told', () => exits.length > 0);
      expect(exits.map(({ born }) => born)).toEqual([5]);
      expect([backend.gone.aborted, driver.backend]).toEqual([true, undefined]);
      await driver.stop(order(6).order);
      await driver.start(order(7).order);
      expect(await chat(awake(driver))).toBe(subject.says);
      expect(exits).toHaveLength(1);
    });

    test('gives up a start whose order is withdrawn, at any moment, and stops what it began', async ({
      engines,
      expect,
      skip,
    }) => {
      const model = await subject.slowToStart({ skip });
      const moments: ((driver: Driver) => Promise<unknown>)[] = [
        () => Promise.resolve(),
        () => new Promise(setImmediate),
        (driver) => waitFor('the process', () => driver.running !== undefined, { every: 1 }),
      ];
      for (const moment of moments) {
        const { driver, exits } = engines.make(model);
        const { order: given, withdraw } = order();
        const start = driver.start(given);
        const failed = expect(start).rejects.toThrow();
        await moment(driver);
        withdraw();
        await failed;
        await driver.stop(order(2).order);
        expect([driver.backend, driver.running, exits]).toEqual([undefined, undefined, []]);
      }
    });

    test('lets a stop overtake a start', async ({ engines, expect, skip }) => {
      const { driver, exits } = engines.make(await subject.slowToStart({ skip }));
      const failed = expect(driver.start(order().order)).rejects.toThrow('stopped while starting');
      await waitFor('the process', () => driver.running !== undefined, { every: 1 });
      await driver.stop(order(2).order);
      await failed;
      expect([driver.running, exits]).toEqual([undefined, []]);
    });

    test('takes two stops at a time as one, and one of nothing as done', async ({ engines, expect, skip }) => {
      const { driver } = engines.make(await subject.model({ skip }));
      await driver.start(order(1).order);
      await Promise.all([driver.stop(order(2).order), driver.stop(order(3).order)]);
      expect(await driver.stop(order(4).order)).toEqual({ actMs: 0, proofMs: 0 });
      expect(driver.running).toBeUndefined();
    });

    test('stops an engine in the middle of a stream whose client hangs up as told', async ({
      engines,
      expect,
      skip,
    }) => {
      const { driver } = engines.make(await subject.longStream.model({ skip }));
      await driver.start(order(1).order);
      const backend = awake(driver);
      const stream = await streaming(backend, subject.longStream.ask, backend.gone);
      await driver.stop(order(2).order);
      expect(await stream.endedWell).toBe(false);
      expect(await accepts(backend)).toBe(false);
    });

    test('stops an engine in the middle of a stream whose client stays', async ({ engines, expect, skip }) => {
      const { driver } = engines.make(await subject.longStream.model({ skip }));
      await driver.start(order(1).order);
      const backend = awake(driver);
      const stream = await streaming(backend, subject.longStream.ask);
      await driver.stop(order(2).order);
      expect(await stream.endedWell).toBe(false);
      expect(await accepts(backend)).toBe(false);
    });

    test('proves an engine that is idle or busy', async ({ engines, expect, skip }) => {
      const { driver } = engines.make(await subject.longStream.model({ skip }));
      await driver.start(order(1).order);
      expect(await driver.prove(AbortSignal.timeout(15_000))).toBe(true);
      const stream = await streaming(awake(driver), subject.longStream.ask);
      expect(await driver.prove(AbortSignal.timeout(15_000))).toBe(true);
      await driver.stop(order(2).order);
      await stream.endedWell;
      expect(await driver.prove(AbortSignal.timeout(1_000))).toBe(false);
    });
  });
}

export function awake(driver: Driver): Backend {
  if (driver.backend === undefined) throw new Error('the engine has no backend');
  return driver.backend;
}

/** What the engine answers to a chat. */
export async function chat({ origin, servedName, headers }: Backend): Promise<string> {
  const body = JSON.stringify({ model: servedName, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 64 });
  const answer = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body });
  const said: { choices: { message: { content: string } }[] } = JSON.parse(await answer.text());
  return said.choices[0]?.message.content ?? '';
}

/** A stream that has begun: whether it comes to its proper end is told once it has ended. */
export async function streaming(
  { origin, servedName, headers }: Backend,
  ask: object,
  signal?: AbortSignal,
): Promise<{ readonly endedWell: Promise<boolean> }> {
  const body = JSON.stringify({ model: servedName, ...ask, stream: true });
  const path = `${origin}/v1/completions`;
  const answer = await fetch(path, { method: 'POST', headers, body, ...(signal && { signal }) });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  const first = await reader?.read();
  if (first?.value === undefined) throw new Error('the stream did not begin');
  const toTheEnd = async (): Promise<boolean> => {
    try {
      let last = '';
      for (;;) {
        const next = await reader?.read();
        if (next === undefined || next.done) return last.includes('[DONE]');
        last = next.value;
      }
    } catch {
      return false;
    }
  };
  return { endedWell: toTheEnd() };
}

/** Whether anybody takes connections there. */
function accepts({ origin }: Backend): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
