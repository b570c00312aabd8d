import { test } from 'vitest';
import { engineId, millis, modelId, ticketId } from '../../../src/core/kinds.ts';
import { OpenLease } from '../../../src/runtime/lease.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';

const model = modelId('a');
const backend = { origin: 'http://127.0.0.1:1', servedName: 'a', headers: {}, gone: new AbortController().signal };

test('what an engine has not said while it was away is no sign of anything', async ({ expect }) => {
  const clock = new VirtualClock();
  const place = { rank: millis(0), seq: 0 };
  const times = { queuedMs: 0, swapMs: 0, place };
  const own = { ticket: ticketId(1), model, engine: engineId(model, 0), backend, clock, settled: () => {} };
  const lease = new OpenLease({ ...own, ...times });
  const began = lease.lastHeard;
  lease.stand(true);
  await clock.advance(60_000);
  expect([lease.standsStill, lease.lastHeard]).toEqual([true, began]);
  lease.stand(false);
  expect([lease.standsStill, lease.lastHeard - began]).toEqual([false, 60_000]);
});
