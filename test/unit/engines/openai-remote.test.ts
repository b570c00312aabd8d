import { test } from 'vitest';
import { oneEngine, order } from './one-engine.ts';

const remote = () =>
  oneEngine({
    backend: 'openai_remote',
    url: 'https://api.example.com/base/v1/',
    api_key: 'sk',
    served_model_name: 'm',
  });

test('it is ready at once, without a word to anybody, at its base path and with our key', async ({ expect }) => {
  const { driver, http, processes } = remote();
  expect(await driver.start(order().order)).toEqual({ actMs: 0, proofMs: 0 });
  expect(driver.backend).toMatchObject({
    origin: 'https://api.example.com/base',
    servedName: 'm',
    headers: { authorization: 'Bearer sk' },
  });
  expect([http.calls, processes.specs, driver.running]).toEqual([[], [], undefined]);
});

test('a stop closes the connections to it', async ({ expect }) => {
  const { driver } = remote();
  await driver.start(order().order);
  const gone = driver.backend?.gone;
  await driver.stop(order(2).order);
  expect(gone?.aborted).toBe(true);
  expect(driver.backend).toBeUndefined();
});

test('silence of a remote is never taken for a hang, since a restart would not help', async ({ expect }) => {
  const { driver, http } = remote();
  await driver.start(order().order);
  expect(await driver.prove(new AbortController().signal)).toBe(true);
  expect(http.calls).toEqual([]);
});
