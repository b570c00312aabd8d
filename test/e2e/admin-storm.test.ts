import { adminStorm, endedRequests, STORM } from '../helpers/admin-storm.ts';
import { test } from '../helpers/e2e.ts';
import { waitFor } from '../helpers/wait-for.ts';

const SECS = Number(process.env['ADMIN_STORM_SECS'] ?? 4);
const SEED = Number(process.env['ADMIN_STORM_SEED'] ?? 7);

test(
  `${SECS} s of operators against traffic: every answer is one that is allowed, nobody hangs, and nothing is left`,
  { timeout: 90_000 + SECS * 2_000 },
  async ({ expect, start }) => {
    const catnap = await start(STORM, { env: { CATNAP_LOG: 'info,output=off' } });
    const { wrong, sent, left, orders } = await adminStorm(catnap, SECS, SEED);
    expect(wrong).toEqual([]);
    expect(Math.min(sent, orders)).toBeGreaterThan(SECS * 2);

    // Every request has ended once, and is told of.
    await waitFor('every request to have ended', async () => {
      const { requests } = JSON.parse((await catnap.get('/v1/admin/requests')).text);
      return requests.length === 0 && (await endedRequests(catnap)) >= sent - left;
    });
    expect(await endedRequests(catnap)).toBeLessThanOrEqual(sent);
    expect(catnap.facts('warned').filter(({ msg }) => msg.includes('bug'))).toEqual([]);

    // And all of it works as before.
    await catnap.ask('/control/mode', { body: '{"mode":"auto"}' });
    for (const model of ['a', 'b', 'c', 'org/d', 'e']) {
      await waitFor(`${model} to be loaded again`, async () => {
        const { status } = await catnap.ask(`/v1/admin/models/${model}/load`);
        return status === 200 && (await catnap.chat(model)).status === 200;
      });
    }
    const rest = await catnap.models();
    expect(rest.models.map(({ queue_depth, inflight_requests }) => queue_depth + inflight_requests)).toEqual([
      0, 0, 0, 0, 0,
    ]);
  },
);
