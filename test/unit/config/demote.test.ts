import { describe, test } from 'vitest';
import { goodConfig, onlyStage, problemsOf, warningsOf } from '../../helpers/config.ts';

const stub = (more: object = {}) => ({ backend: 'stub', ...more });
const one = (demote: unknown, more: object = {}) => ({ models: { a: stub({ demote, ...more }) } });
const after = (after_secs: number, level: unknown) => ({ after_secs, level });

const stepsOf = (config: unknown, absent: ReadonlyMap<3, string> = new Map()): string[] =>
  onlyStage(goodConfig(config), { absent }).models.map(({ model, demote = [] }) =>
    [model, ...demote.map(({ afterMs, level }) => `${afterMs / 1_000}s ${level}`)].join(' '),
  );

describe('steps down of idle models', () => {
  test('are those of the model, else those of the policy', ({ expect }) => {
    const models = { a: stub({ demote: [after(60, 2)] }), b: stub(), c: stub({ demote: [] }) };
    const policy = { demote: [after(600, 1), after(3_600, 5)] };
    expect(stepsOf({ models, policy })).toEqual(['a 60s 2', 'b 600s 1 3600s 5', 'c']);
  });

  test('of the policy give way to the next deeper level that a model can be put to', ({ expect }) => {
    const models = {
      a: stub(),
      llama: { backend: 'llama_server', model_path: '/models/a.gguf', levels_allowed: [3, 5] },
      remote: { backend: 'openai_remote', url: 'http://127.0.0.1:1/v1' },
    };
    const config = { models, policy: { demote: [after(1, 2), after(2, 3), after(3, 5)] } };
    expect(stepsOf(config)).toEqual(['a 1s 2 2s 5', 'llama 1s 3 3s 5', 'remote']);
    expect(stepsOf(config, new Map([[3, 'no cuda-checkpoint']]))[1]).toBe('llama 1s 5');
  });

  test.for<[unknown, string]>([
    [
      [after(60, 1), after(60, 5)],
      'models.a.demote[1].after_secs is 60, and must be above that of the step before (60): both count from the last request. Put the steps in the order of their times.',
    ],
    [
      [after(60, 5), after(90, 1)],
      'models.a.demote[1].level is 1, and must be deeper than that of the step before (5). From the lightest to the deepest: 1, 2, 3, hybrid, 4, 5.',
    ],
    [[after(60, 3)], 'models.a.demote[0].level is 3, which stub cannot do. It may be 1, 2, 5.'],
    [[{ after_sec: 60, level: 5 }], 'models.a.demote[0].after_sec is not a key here. Did you mean "after_secs"?'],
  ])('%j is an error', ([demote, problem], { expect }) => {
    expect(problemsOf(one(demote))).toContain(problem);
  });

  test('to a level that the list leaves out are an error, and in the policy none', ({ expect }) => {
    expect(problemsOf(one([after(60, 1)], { levels_allowed: [2, 5] }))).toEqual([
      'models.a.demote[0].level is 1, which levels_allowed leaves out. It may be 2, 5.',
    ]);
    expect(problemsOf({ models: { a: stub() }, policy: { demote: [after(9, 5), after(8, 5)] } })).toHaveLength(2);
  });

  test('that end the process, or never happen, are worth a word', ({ expect }) => {
    const vllm = { model_path: 'x', demote: [after(60, 1), after(90, 2)] };
    expect(warningsOf({ models: { a: vllm } })).toEqual([
      'models.a.demote[1].level is 2 after 1, and vllm_serve cannot go there without waking: it is stopped instead (level 5)',
    ]);
    expect(warningsOf(one([after(60, 5)], { activation: 'explicit' }))).toEqual([
      'models.a.demote has no effect, since activation is "explicit": what only operators load stays until they put it away',
    ]);
    expect(warningsOf(one([after(60, 1), after(90, 2), after(99, 5)]))).toEqual([]);
  });
});
