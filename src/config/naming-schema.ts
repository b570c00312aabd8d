import { z } from 'zod';
import { aliasName, key, modelName } from './fields.ts';
import { params } from './params-schema.ts';

/** One name for several models, or for one that gets other parameters under it. */
export const AliasSchema = z.strictObject({
  models: key(z.array(modelName()).min(1).max(100), 'The models it stands for, the best first.', {
    examples: [['qwen3-8b', 'gemma-3-12b']],
  }),
  prefer: key(
    z.enum(['awake', 'first', 'least_loaded']).default('awake'),
    '`awake`: the first of them that is awake or about to be, so that small requests cause no swap. `first`: the first that is enabled. `least_loaded`: of those that are awake the one with the fewest requests.',
  ),
  ...params,
});

/** What clients may call models besides their names. */
export const naming = {
  aliases: key(
    z.record(aliasName(), AliasSchema).default({}),
    'Names that stand for several models, or for one with other parameters. Each is an object as below. `*` in a name stands for any text; `GET /v1/models` lists those without one.',
    { default_text: 'none' },
  ),
  preload: key(
    z.array(modelName()).max(1_000).default([]),
    'The models to load at start, in the order of `models`, as far as they fit beside each other. `explicit` models that are enabled are loaded as well.',
    { examples: [['qwen3-8b']] },
  ),
  default_model: key(
    z.string().min(1).default('none'),
    'Who answers requests that name no model: `none`, `awake` (the model that is awake or about to be), or a name.',
    { examples: ['awake', 'qwen3-8b'] },
  ),
};
