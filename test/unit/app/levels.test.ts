import { test } from 'vitest';
import { absentLevels, levelsMissed } from '../../../src/app/levels.ts';
import { goodConfig } from '../../helpers/config.ts';

const models = { alpha: { model_path: 'x', sleep_level: 3 }, beta: { model_path: 'x', sleep_level: 1 } };

test('without cuda-checkpoint the levels that need it are passed over, and whoever asked for one is named', async ({
  expect,
}) => {
  const config = goodConfig({ models, checkpoint: { cuda_checkpoint_path: '/nowhere/cuda-checkpoint' } });
  const absent = await absentLevels(config, { find: async () => undefined });
  expect([...absent.keys()]).toEqual([3, 'hybrid']);
  expect(levelsMissed(config, absent)).toEqual([
    'models.alpha.sleep_level is 3, which goes deeper here: /nowhere/cuda-checkpoint was not found (checkpoint.cuda_checkpoint_path)',
  ]);
});

test('with it there is nothing to say', async ({ expect }) => {
  const config = goodConfig({ models });
  const absent = await absentLevels(config, { find: async (path) => ({ path, mark: '1' }) });
  expect([absent.size, levelsMissed(config, absent)]).toEqual([0, []]);
});
