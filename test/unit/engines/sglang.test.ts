import { test } from 'vitest';
import { failureOf, oneEngine, order, watched } from './one-engine.ts';

test('its key is never put where the list of processes shows it: a config file of somebody else is refused', async ({
  expect,
}) => {
  const { driver, clock, processes } = oneEngine({
    ...{ backend: 'sglang', model_path: 'lab/model', api_key: 'sk-1' },
    extra_args: ['--config', '/etc/sglang.yaml'],
  });
  const start = watched(driver.start(order(1).order));
  await clock.advance(100);
  expect(failureOf(start)).toContain('give what is in yours as flags in models.alpha.extra_args, without --config');
  expect(processes.specs).toEqual([]);
});
