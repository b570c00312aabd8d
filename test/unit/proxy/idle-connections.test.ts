import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { test as base } from 'vitest';
import { IdleConnections } from '../../../src/proxy/idle-connections.ts';
import { waitFor } from '../../helpers/wait-for.ts';

/** A connection, as the server has it and as its client has it. */
type Pair = { readonly served: Socket; readonly client: Socket };

const test = base.extend('pair', async ({}, { onCleanup }): Promise<Pair> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const client = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
  const [served] = await once(server, 'connection');
  onCleanup(() => {
    client.destroy();
    served.destroy();
    server.close();
  });
  return { served, client };
});

/** What has been given away. */
function giving(idle: IdleConnections): Socket[] {
  const given: Socket[] = [];
  void idle.giveTo(async (connection) => void given.push(connection));
  return given;
}

function exchange(socket: Socket): { readonly req: IncomingMessage; readonly res: ServerResponse } {
  const req = new IncomingMessage(socket);
  [req.complete, req.httpVersionMajor, req.httpVersionMinor] = [true, 1, 1];
  return { req, res: new ServerResponse(req) };
}

test('one that waits for its next request goes, and so does one that comes to wait', ({ expect, pair }) => {
  const idle = new IdleConnections();
  idle.came(pair.served);
  const call = exchange(pair.served);
  idle.asked(call.req, 0);
  const given = giving(idle);
  expect(given).toEqual([]);
  idle.answered(call, 0);
  expect(given).toEqual([pair.served]);
  expect(pair.served.writableEnded).toBe(false);
});

test('one of which something was read that nobody has answered stays', async ({ expect, pair }) => {
  const idle = new IdleConnections();
  idle.came(pair.served);
  pair.client.write('GET / HT');
  await once(pair.served, 'data');
  expect(giving(idle)).toEqual([]);
});

test('one over which requests came before the last was answered is ended in place of being given', async ({
  expect,
  pair,
}) => {
  const idle = new IdleConnections();
  idle.came(pair.served);
  const [first, second] = [exchange(pair.served), exchange(pair.served)];
  idle.asked(first.req, 0);
  idle.asked(second.req, 1);
  idle.answered(first, 1);
  const given = giving(idle);
  idle.answered(second, 0);
  expect(given).toEqual([]);
  pair.client.resume();
  await waitFor('its client to be told', () => pair.client.readableEnded);
});
