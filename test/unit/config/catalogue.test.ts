import { describe, test } from 'vitest';
import { catalogueOf, type Catalogue } from '../../../src/config/catalogue.ts';
import { goodConfig } from '../../helpers/config.ts';

/** The models a name stands for, and how one is chosen. */
function meaning(catalogue: Catalogue, name: string): string | undefined {
  const found = catalogue.resolve(name);
  return found && `${found.models.map(({ id }) => id).join(' ')} ${found.prefer}`;
}

const catalogue = catalogueOf(
  goodConfig({
    models: {
      zeta: { backend: 'stub', aliases: ['default', 'gpt-4o'] },
      alpha: { backend: 'stub', enabled: false },
      'Qwen/Qwen3-14B': { backend: 'stub' },
    },
  }),
);

test('lists models in the order of the config', ({ expect }) => {
  expect(catalogue.entries.map(({ id }) => id)).toEqual(['zeta', 'alpha', 'Qwen/Qwen3-14B']);
});

test('finds a model by its name and by its aliases, to the letter', ({ expect }) => {
  for (const name of ['zeta', 'default', 'gpt-4o']) expect(meaning(catalogue, name)).toBe('zeta first');
  expect(meaning(catalogue, 'Qwen/Qwen3-14B')).toBe('Qwen/Qwen3-14B first');
  expect(catalogue.resolve('alpha')?.models[0].config.enabled).toBe(false);
});

test.for(['', 'Zeta', 'zeta ', 'constructor', '__proto__', 'toString'])('knows no %j', (name, { expect }) => {
  expect(catalogue.resolve(name)).toBeUndefined();
});

describe('aliases', () => {
  const stub = { backend: 'stub' };
  const several = catalogueOf(
    goodConfig({
      models: {
        'claude-haiku-9': { ...stub, aliases: ['claude-*'] },
        small: { ...stub, aliases: ['claude-haiku-*', 'gpt-4o-mini'] },
        large: { ...stub, aliases: ['*/large', '*'] },
      },
      aliases: {
        helper: { models: ['small', 'large'] },
        'helper-*-any': { models: ['large', 'small'], prefer: 'least_loaded' },
      },
    }),
  );

  test.for<[name: string, meaning: string]>([
    ['claude-haiku-9', 'claude-haiku-9 first'],
    ['claude-haiku-4-5-20251001', 'small first'],
    ['claude-haiku-', 'small first'],
    ['claude-opus', 'claude-haiku-9 first'],
    ['a/b/large', 'large first'],
    ['gpt-4o-mini', 'small first'],
    ['gpt-4o-mini-2', 'large first'],
    ['helper', 'small large awake'],
    ['helper-1-any', 'large small least_loaded'],
    ['helper-any', 'large first'],
  ])('%s means %s', ([name, expected], { expect }) => {
    expect(meaning(several, name)).toBe(expected);
  });
});
