import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'vitest';
import type { RequestRow } from '../../../src/api/admin/contract.ts';
import { requestsText } from '../../../src/cli/requests.ts';
import { type } from './terminal.ts';

const row: RequestRow = {
  id: 'r-1',
  number: 1,
  model: 'alpha',
  key: 'team',
  client: '127.0.0.1',
  method: 'POST',
  path: '/v1/chat/completions',
  phase: 'streaming',
  since: '2026-11-20T12:00:00.000Z',
  since_secs: 12,
  waited_secs: 0.03,
  priority: 'normal',
  deadline_secs: null,
  bytes_in: 100,
  bytes_out: 2_048,
  chunks_out: 3,
};

const early: RequestRow = { ...row, id: 'r-2', number: 2, model: null, key: null, phase: 'arriving', bytes_out: 0 };

/** A catnap in which these are open. Collects what it is asked. */
async function catnap(answer: unknown, status = 200) {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(`${req.method} ${req.url}`);
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    asked,
    url: `127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('catnap requests lists what is open', async ({ expect }) => {
  await using server = await catnap({ requests: [row, early], total: 2, next: null });
  const { code, out } = await type(['requests', '--url', server.url, '--model', 'gpt 4', '--phase', 'streaming']);
  expect(code).toBe(0);
  expect(server.asked).toEqual(['GET /v1/admin/requests?limit=100&model=gpt+4&phase=streaming']);
  expect(out).toBe(`ID   MODEL  PHASE      SINCE  WAITED  PRIORITY  KEY   OUT      PATH
r-1  alpha  streaming  12 s   30 ms   normal    team  2.0 KiB  /v1/chat/completions
r-2  -      arriving   12 s   30 ms   normal    -     -        /v1/chat/completions
`);
});

test('it says so when there are more, or none', ({ expect }) => {
  expect(requestsText({ requests: [row], total: 9, next: 1 }, { colour: false })).toContain(
    '1 of 9 are shown; --limit shows more.',
  );
  expect(requestsText({ requests: [], total: 0, next: null }, { colour: false })).toBe('No request is open.\n');
});

test('catnap cancel ends one and says what became of it', async ({ expect }) => {
  await using server = await catnap({
    requests: [
      { ...row, outcome: 'cancelled' },
      { ...early, outcome: 'served' },
    ],
  });
  const { code, out } = await type(['cancel', 'a/b', '--url', server.url]);
  expect([code, server.asked]).toEqual([0, ['DELETE /v1/admin/requests/a%2Fb']]);
  expect(out).toBe(
    'r-1 of alpha was streaming and has been ended.\nr-2 was arriving and had ended by itself: served.\n',
  );
});

test('one that is not open is a failure', async ({ expect }) => {
  const error = { message: 'No request with this id is open.', type: 'x', param: 'id', code: 'request_not_found' };
  await using server = await catnap({ error }, 404);
  const { code, err } = await type(['cancel', 'r-9', '--url', server.url]);
  expect(code).toBe(1);
  expect(err).toContain('No request with this id is open.');
});
