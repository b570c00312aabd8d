import { test } from 'vitest';
import { namesOf } from '../../../src/app/names.ts';
import { millis } from '../../../src/core/kinds.ts';
import type { StageView } from '../../../src/runtime/view.ts';
import { goodConfig } from '../../helpers/config.ts';

const nobody: StageView = {
  now: millis(0),
  accepting: true,
  mode: { kind: 'auto' },
  models: [],
  readyInMs: () => 0,
  stages: [],
  swap: undefined,
};

const names = (rest: object = {}) =>
  namesOf(
    goodConfig({
      models: {
        alpha: {
          backend: 'stub',
          set_params: { top_k: 40, seed: 1 },
          strip_params: ['logprobs', 'stop'],
          default_params: { max_tokens: 100, stop: ['x'] },
        },
        beta: { backend: 'stub', enabled: false },
      },
      aliases: {
        think: { models: ['alpha'], set_params: { think: { budget: 5 } }, default_params: { top_k: 9 } },
        either: { models: ['beta', 'alpha'], prefer: 'first', strip_params: ['seed', 'max_tokens'] },
      },
      ...rest,
    }),
    () => nobody,
  );

const touches = (name: string) => Object.fromEntries(names().find(name)?.rewrite ?? []);

const own = {
  top_k: { kind: 'set', json: '40' },
  seed: { kind: 'set', json: '1' },
  logprobs: { kind: 'strip' },
  max_tokens: { kind: 'default', json: '100' },
  // Taken out, so always missing, so always given.
  stop: { kind: 'set', json: '["x"]' },
};

test('a model has its parameters under each of its names', ({ expect }) => {
  expect(touches('alpha')).toEqual(own);
});

test('a name has parameters besides, and the last word', ({ expect }) => {
  expect(touches('think')).toEqual({
    ...own,
    think: { kind: 'set', json: '{"budget":5}' },
    top_k: { kind: 'default', json: '9' },
  });
  expect(touches('either')).toEqual({ ...own, seed: { kind: 'strip' }, max_tokens: { kind: 'strip' } });
});

test('a model without any is not rewritten', ({ expect }) => {
  expect(names().find('beta')?.rewrite).toBe(undefined);
});

test('an alias leads past a disabled model', ({ expect }) => {
  expect(names().find('either')?.model).toBe('alpha');
  expect(names().find('gamma')).toBe(undefined);
});

test.for<[setting: string, found: string]>([
  ['none', 'nobody'],
  ['awake', 'nobody-awake'],
  ['alpha', 'alpha'],
  ['either', 'alpha'],
  ['beta', 'beta'],
])('default_model %s', ([setting, expected], { expect }) => {
  const found = names({ default_model: setting }).unnamed();
  expect(typeof found === 'string' ? found : found.model).toBe(expected);
});
