import { awake, driverContract, chat } from './driver.ts';
import { order, test } from './engines.ts';

driverContract('the built-in stub', {
  model: async () => ({ backend: 'stub', text: 'Hello from alpha, the first model.' }),
  says: 'Hello from alpha, the first model.',
  slowToStart: async () => ({ backend: 'stub', start_ms: 20_000 }),
  longStream: { model: async () => ({ backend: 'stub', tokens: 1_000, token_ms: 20 }), ask: { prompt: 'x' } },
  crash: async (driver) => {
    const body = JSON.stringify({ stub_fault: 'crash' });
    await fetch(`${awake(driver).origin}/v1/completions`, { method: 'POST', body }).catch(() => undefined);
  },
});

test('the stub sleeps and wakes in its process, and answers only while awake', async ({ engines, expect }) => {
  const { driver } = engines.make({ backend: 'stub', text: 'hi' });
  await driver.start(order(1).order);
  const { origin } = awake(driver);
  for (const level of [1, 2] as const) {
    await driver.sleep(level, order(2).order);
    const asleep = await fetch(`${origin}/v1/completions`, { method: 'POST', body: '{}' });
    expect(asleep.status).toBe(503);
    await driver.wake(level, order(3).order);
    expect(await chat(awake(driver))).toBe('hi');
  }
});
