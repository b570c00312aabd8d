import { afterAll, afterEach, beforeAll, describe, test } from 'vitest';
import { CHANGES } from './changes.ts';
import { LOADS } from './loads.ts';
import { RealApp } from './real-app.ts';
import { SHOWN } from './rows.ts';
import { STATES } from './states.ts';
import { UNLOADS } from './unloads.ts';

/** What the contract of the admin API promises, item by item, asked of catnap itself. */
const ROWS = [...STATES, ...SHOWN, ...CHANGES, ...LOADS, ...UNLOADS];

describe('the admin API keeps its contract', () => {
  let app: RealApp;
  beforeAll(async () => {
    app = await RealApp.open();
  });
  afterEach(() => app.calm());
  afterAll(() => app.close());

  test('item by item, without a gap', ({ expect }) => {
    expect(ROWS.map(([item]) => item)).toEqual(Array.from({ length: 120 }, (_, at) => at + 1));
  });

  test.for(ROWS)('%i. %s', async ([, , check], { expect }) => {
    await check(app, expect);
    // Each row has looked at something.
    expect(expect.getState().assertionCalls).toBeGreaterThan(0);
  });
});
