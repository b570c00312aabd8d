import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { describe, test, vi } from 'vitest';
import { systemClock } from '../../../src/adapters/system-clock.ts';
import { after, FOREVER, millis } from '../../../src/core/kinds.ts';

async function clientOf(server: Server): Promise<Socket> {
  if (!server.listening) await once(server, 'listening');
  const address = server.address();
  const client = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
  await once(client, 'connect');
  return client;
}

describe('system clock', () => {
  test('runs at the moment or after it, never before and never synchronously', async ({ expect }) => {
    const clock = systemClock();
    const late = await Promise.all(
      [0, 0.4, 1, 1.6, 5.3, 20].map(
        (ms) =>
          new Promise<number>((resolve) => {
            const when = after(clock.now(), ms);
            let returned = false;
            clock.at(when, () => {
              expect(returned).toBe(true);
              resolve(clock.now() - when);
            });
            returned = true;
          }),
      ),
    );
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
  });

  test('a moment in the past is as soon as can be', async ({ expect }) => {
    const clock = systemClock();
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      clock.at(millis(-5), () => {
        order.push('run');
        resolve();
      });
      order.push('set');
    });
    expect(order).toEqual(['set', 'run']);
  });

  test('a cancelled timer does not run, however often it is cancelled', async ({ expect }) => {
    const clock = systemClock();
    let ran = false;
    const cancel = clock.at(after(clock.now(), 1), () => (ran = true));
    cancel();
    cancel();
    await new Promise<void>((resolve) => clock.at(after(clock.now(), 5), resolve));
    expect(ran).toBe(false);
  });

  test.for(['runs', 'is cancelled'])(
    'a timer that is due while the process stands still comes after what has come meanwhile, and %s',
    async (end, { expect, onTestFinished }) => {
      const clock = systemClock();
      const seen: string[] = [];
      const server = createServer().listen(0, '127.0.0.1');
      const [[socket], client] = await Promise.all([once(server, 'connection'), clientOf(server)]);
      onTestFinished(() => {
        client.destroy();
        server.close();
      });
      const due = Promise.withResolvers<void>();
      const cancel = clock.at(after(clock.now(), 5), () => {
        seen.push('timer');
        due.resolve();
      });
      socket.once('data', () => {
        seen.push('data');
        if (end === 'is cancelled') cancel();
      });
      client.write('x');
      const until = clock.now() + 100;
      while (clock.now() < until);
      if (end === 'runs') await due.promise;
      else await new Promise<void>((resolve) => clock.at(after(clock.now(), 5), resolve));
      expect(seen).toEqual(end === 'runs' ? ['data', 'timer'] : ['data']);
    },
  );

  test('waits longer than one timer can, and can be cancelled on the way', ({ expect }) => {
    vi.useFakeTimers();
    try {
      const clock = systemClock();
      const month = 31 * 24 * 3_600_000;
      let ran = 0;
      clock.at(after(clock.now(), month), () => ran++);
      const cancel = clock.at(after(clock.now(), month), () => (ran += 100));
      vi.advanceTimersByTime(2 ** 31);
      expect(ran).toBe(0);
      cancel();
      vi.advanceTimersByTime(month);
      expect(ran).toBe(1);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test('forever sets no timer, and no moment at all is an error', ({ expect }) => {
    vi.useFakeTimers();
    try {
      systemClock().at(FOREVER, () => {});
      expect(vi.getTimerCount()).toBe(0);
      expect(() => systemClock().at(millis(Number.NaN), () => {})).toThrow('not a number');
    } finally {
      vi.useRealTimers();
    }
  });
});
