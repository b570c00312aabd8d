import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'vitest';
import { forkScript, socketOf } from '../../../src/adapters/ipc.ts';

const DEAF = new URL('../../fixtures/deaf.ts', import.meta.url).pathname;

test('whatever is on its way to a process that is killed has an end, also what waits behind a socket', async ({
  expect,
}) => {
  const child = forkScript(DEAF, [], {});
  const servers = [createServer(), createServer()];
  const sent: string[] = [];
  const sending = servers.map(async (server, at) => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    await child.send({ at }, socketOf(server));
    sent.push(`socket ${at}`);
  });
  await once(servers[1] ?? process, 'listening');
  child.signal('SIGKILL');
  expect(await child.ended).toEqual({ code: null, signal: 'SIGKILL' });
  await Promise.all(sending);
  expect(sent).toEqual(['socket 0', 'socket 1']);
  await child.send({ at: 2 });
  for (const server of servers) server.close();
});
