import type { ExpectStatic } from 'vitest';
import { adminStorm, endedRequests, STORM, type StormEnd } from '../helpers/admin-storm.ts';
import type { Catnap } from '../helpers/catnap.ts';
import { editor } from '../helpers/config-storm.ts';
import { test } from '../helpers/e2e.ts';
import { waitFor } from '../helpers/wait-for.ts';

const SECS = Number(process.env['ADMIN_STORM_SECS'] ?? 4);
const SEED = Number(process.env['ADMIN_STORM_SEED'] ?? 7);

async function asEver(catnap: Catnap, expect: ExpectStatic, { sent, left }: StormEnd): Promise<void> {
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
}

test(
  `${SECS} s of operators against traffic: every answer is one that is allowed, nobody hangs, and nothing is left`,
  { timeout: 90_000 + SECS * 2_000 },
  async ({ expect, start }) => {
    const catnap = await start(STORM, { env: { CATNAP_LOG: 'info,output=off' } });
    const end = await adminStorm(catnap, { secs: SECS, seed: SEED });
    expect(end.wrong).toEqual([]);
    expect(Math.min(end.sent, end.orders)).toBeGreaterThan(SECS * 2);
    await asEver(catnap, expect, end);
  },
);

test(
  `${SECS} s of the same, while the config is read again and again`,
  { timeout: 90_000 + SECS * 2_000 },
  async ({ expect, start, folder }) => {
    const catnap = await start(STORM, { env: { CATNAP_LOG: 'info,output=off' } });
    let reloads = 0;
    const end = await adminStorm(catnap, {
      secs: SECS,
      seed: SEED,
      besides: async (crowd, random) => {
        reloads = await editor(crowd, catnap, { config: STORM, keep: ['org/d'], folder }, random);
      },
    });
    expect(end.wrong).toEqual([]);
    expect(reloads).toBeGreaterThan(SECS);
    await asEver(catnap, expect, end);
  },
);
