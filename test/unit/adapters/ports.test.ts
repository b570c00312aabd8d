import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, test } from 'vitest';
import { Ports } from '../../../src/adapters/ports.ts';

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ family }) => family === 'IPv6'));
const open = new Set<Server>();

afterEach(() => {
  for (const server of open) server.close();
  open.clear();
});

async function listen(port: number, host: string): Promise<Server> {
  const server = createServer().listen(port, host);
  open.add(server);
  await once(server, 'listening');
  return server;
}

describe('ports', () => {
  test('a free port can be listened on, and is not given out twice', async ({ expect }) => {
    const ports = new Ports();
    // So many that chance alone would give some of them twice.
    const given: number[] = [];
    while (given.length < 1_000) given.push(...(await Promise.all(Array.from({ length: 20 }, () => ports.free()))));
    expect(new Set(given).size).toBe(1_000);
    const [port = 0] = given;
    // Nobody has got one of them by chance, for a connection to somebody else.
    expect(Math.max(...given)).toBeLessThan(32_768);
    expect(await ports.isFree(port)).toBe(true);
    await listen(port, '127.0.0.1');
    expect(await ports.isFree(port)).toBe(false);
  });

  test('one that is kept for two is given to nobody before both have let go', async ({ expect }) => {
    const ports = new Ports();
    // Every second one, so that some of them would come up.
    const kept = Array.from({ length: 5_000 }, (_, at) => 20_000 + 2 * at);
    for (const port of kept) {
      ports.keep(port);
      ports.keep(port)();
    }
    const given = await Promise.all(Array.from({ length: 200 }, () => ports.free()));
    expect(given.filter((port) => kept.includes(port))).toEqual([]);
  });

  test.for(['127.0.0.1', '0.0.0.0', ...(hasIpv6 ? ['::'] : [])])(
    'a listener on %s takes it, and gives it back',
    async (host, { expect }) => {
      const ports = new Ports();
      const port = await ports.free();
      const server = await listen(port, host);
      expect(await ports.isFree(port)).toBe(false);
      server.close();
      await once(server, 'close');
      expect(await ports.isFree(port)).toBe(true);
    },
  );
});
