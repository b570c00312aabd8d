import { describe, test } from 'vitest';
import { CancelledRequests, RequestList } from '../../../src/api/admin/contract.ts';
import { controlPlane } from '../../../src/api/plane.ts';
import { after } from '../../../src/core/kinds.ts';
import type { Outcome } from '../../../src/core/outcome.ts';
import type { OpenRequests, RequestSight } from '../../../src/ports/open-requests.ts';
import { bearer, BOSS, keysOf, TOKENS } from '../access/scene.ts';
import { listen } from './listener.ts';
import { alpha, beta, deps, model, NOW, phases, sight, stage } from './scene.ts';

/** Requests that end as they are told to. */
function open(sights: readonly RequestSight[], outcome: Outcome = 'cancelled'): OpenRequests & { cancelled: number[] } {
  const cancelled: number[] = [];
  return {
    cancelled,
    list: () => sights,
    cancel: (number) => {
      if (!sights.some((one) => one.number === number)) return undefined;
      cancelled.push(number);
      return Promise.resolve(outcome);
    },
  };
}

const view = () => stage([model(alpha, phases.awake), model(beta, phases.starting, { part: 'entering' })]);

const serve = (requests: OpenRequests, terms = {}) => listen(controlPlane(deps(view, { requests }).deps), terms);

const PATH = '/v1/admin/requests';

describe('GET /v1/admin/requests', () => {
  test('shows who waits for what, and since when', async ({ expect }) => {
    const requests = open([
      sight(1, { leg: 'streaming', bytesOut: 7, chunksOut: 2 }),
      sight(2, { priority: 'low', deadline: after(NOW, 1_500) }),
      sight(3, { model: beta }),
      sight(4, { leg: 'arriving', model: undefined, key: undefined, client: undefined }),
    ]);
    await using server = await serve(requests);
    const told = RequestList.parse(JSON.parse((await server.ask(PATH)).body));
    expect(told.requests.map(({ phase }) => phase)).toEqual(['streaming', 'waiting', 'entering', 'arriving']);
    expect(told.requests[1]).toMatchObject({ since_secs: 2.5, waited_secs: 2, priority: 'low', deadline_secs: 1.5 });
    expect(told.requests[3]).toMatchObject({ model: null, key: null, client: null, deadline_secs: null });
    expect([told.total, told.next]).toEqual([4, null]);
  });

  test('comes in pages that miss nobody', async ({ expect }) => {
    await using server = await serve(open([1, 3, 4, 8, 9].map((number) => sight(number))));
    const seen: number[] = [];
    let next: number | null = 0;
    for (let page = 0; next !== null && page < 9; page++) {
      const { body } = await server.ask(`${PATH}?limit=2&after=${next}`);
      const told: RequestList = RequestList.parse(JSON.parse(body));
      expect([told.requests.length <= 2, told.total]).toEqual([true, 5]);
      seen.push(...told.requests.map(({ number }) => number));
      next = told.next;
    }
    expect(seen).toEqual([1, 3, 4, 8, 9]);
  });

  test.for([
    ['?model=gpt-4o', [1, 3]],
    ['?model=org%2Fbeta', [2]],
    ['?phase=streaming', [3]],
    ['?phase=entering&model=org/beta', [2]],
    ['?phase=entering&model=alpha', []],
  ] as const)('%s', async ([query, numbers], { expect }) => {
    await using server = await serve(open([sight(1), sight(2, { model: beta }), sight(3, { leg: 'streaming' })]));
    const { requests } = RequestList.parse(JSON.parse((await server.ask(PATH + query)).body));
    expect(requests.map(({ number }) => number)).toEqual(numbers);
  });

  test.for([
    ['?limit=0', 400, 'invalid_request'],
    ['?limit=1001', 400, 'invalid_request'],
    ['?limit=x', 400, 'invalid_request'],
    ['?after=-1', 400, 'invalid_request'],
    ['?after=1.5', 400, 'invalid_request'],
    ['?phase=asleep', 400, 'invalid_request'],
    ['?model=nobody', 404, 'unknown_model'],
  ] as const)('%s is %i %s', async ([query, status, code], { expect }) => {
    await using server = await serve(open([]));
    const answer = await server.ask(PATH + query);
    expect([answer.status, answer.headers['x-catnap-error']]).toEqual([status, code]);
  });
});

describe('DELETE /v1/admin/requests/{id}', () => {
  test('ends it and says how far it was', async ({ expect }) => {
    const requests = open([sight(1), sight(2)]);
    await using server = await serve(requests);
    const answer = await server.ask(`${PATH}/r-2`, { method: 'DELETE' });
    expect(answer.status).toBe(200);
    expect(CancelledRequests.parse(JSON.parse(answer.body)).requests).toMatchObject([
      { id: 'r-2', phase: 'waiting', outcome: 'cancelled' },
    ]);
    expect(requests.cancelled).toEqual([2]);
  });

  test('ends all that share an id, slashes or not', async ({ expect }) => {
    const requests = open([sight(1, { id: 'a/b+c@d' }), sight(2), sight(3, { id: 'a/b+c@d' })]);
    await using server = await serve(requests);
    for (const path of [`${PATH}/a/b+c@d`, `${PATH}/${encodeURIComponent('a/b+c@d')}`]) {
      requests.cancelled.length = 0;
      expect((await server.ask(path, { method: 'DELETE' })).status).toBe(200);
      expect(requests.cancelled).toEqual([1, 3]);
    }
  });

  test('one that ended by itself in the same moment says so', async ({ expect }) => {
    await using server = await serve(open([sight(1)], 'served'));
    const { body } = await server.ask(`${PATH}/r-1`, { method: 'DELETE' });
    expect(CancelledRequests.parse(JSON.parse(body)).requests[0]?.outcome).toBe('served');
  });

  test('one that is not there, or is gone by then, is 404', async ({ expect }) => {
    const gone: OpenRequests = { list: () => [sight(1)], cancel: () => undefined };
    for (const [requests, path] of [
      [open([sight(1)]), '/r-9'],
      [gone, '/r-1'],
    ] as const) {
      await using server = await serve(requests);
      const answer = await server.ask(PATH + path, { method: 'DELETE' });
      expect([answer.status, answer.headers['x-catnap-error']]).toEqual([404, 'request_not_found']);
    }
  });

  test('other methods are told which there are', async ({ expect }) => {
    await using server = await serve(open([sight(1)]));
    const answer = await server.ask(`${PATH}/r-1`, { method: 'POST' });
    expect([answer.status, answer.headers.allow]).toEqual([405, 'DELETE']);
  });
});

test('an operator who may use some models sees and ends requests of these alone', async ({ expect }) => {
  const requests = open([sight(1), sight(2, { model: beta }), sight(3, { model: undefined, leg: 'arriving' })]);
  await using server = await serve(requests, { keys: keysOf({ ...BOSS, models: ['alpha'] }) });
  const headers = bearer(TOKENS.boss);
  const told = RequestList.parse(JSON.parse((await server.ask(PATH, { headers })).body));
  expect(told.requests.map(({ number }) => number)).toEqual([1]);
  expect((await server.ask(`${PATH}/r-2`, { method: 'DELETE', headers })).status).toBe(404);
  expect((await server.ask(`${PATH}/r-1`, { method: 'DELETE', headers })).status).toBe(200);
  expect(requests.cancelled).toEqual([1]);
});
