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

test('who asks for a level that his settings rule out is named when catnap starts', async ({ expect }) => {
  const together = ['--tensor-parallel-size', '2'];
  const config = goodConfig({
    models: {
      alpha: { model_path: 'x', sleep_level: 3, extra_args: together },
      beta: { model_path: 'x', sleep_level: 'hybrid', extra_args: together },
      gamma: { model_path: 'x', sleep_level: 2, extra_args: ['--speculative-config', '{}'] },
      delta: { model_path: 'x', sleep_level: 1, extra_args: together },
      epsilon: { model_path: 'x', sleep_level: 3, extra_args: ['-tp=2'] },
      zeta: { backend: 'exllamav3', model_path: '/m/x', sleep_level: 3, extra_args: ['--tensor-parallel', 'true'] },
    },
  });
  expect(levelsMissed(config, new Map())).toEqual([
    expect.stringMatching(/^models\.alpha\.sleep_level is 3, which goes deeper here: it runs on several GPUs/),
    expect.stringMatching(/^models\.beta\.sleep_level is hybrid, .*needs --enforce-eager/),
    expect.stringMatching(/^models\.gamma\.sleep_level is 2, .*draft model/),
    expect.stringMatching(/^models\.epsilon\.sleep_level is 3, .*several GPUs/),
    expect.stringMatching(/^models\.zeta\.sleep_level is 3, .*several GPUs/),
  ]);
});
