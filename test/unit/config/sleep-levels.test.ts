import { describe, test } from 'vitest';
import { LEVELS } from '../../../src/config/sleep-levels.ts';
import { goodConfig, problemsOf, warningsOf } from '../../helpers/config.ts';

const alpha = { backend: 'llama_server', model_path: '/models/alpha.gguf' };
const stub = { backend: 'stub' };
const server = { backend: 'command', command: 'server ${PORT}' };
const remote = { backend: 'openai_remote', url: 'https://api.example.com' };
const one = (model: unknown, rest: object = {}): unknown => ({ models: { a: model }, ...rest });

describe('sleep levels', () => {
  test.for<[object, unknown, string]>([
    [
      alpha,
      1,
      `is 1, which llama_server cannot do. In this version it can do ${LEVELS.llama_server.works.join(', ')}.`,
    ],
    [
      alpha,
      'hybrid',
      `is hybrid, which llama_server cannot do. In this version it can do ${LEVELS.llama_server.works.join(', ')}.`,
    ],
    [server, 2, `is 2, which command cannot do. In this version it can do ${LEVELS.command.works.join(', ')}.`],
    [stub, 4, 'is 4, which stub cannot do. In this version it can do 1, 2, 5.'],
  ])('%j %s', ([model, sleep_level, problem], { expect }) => {
    expect(problemsOf(one({ ...model, sleep_level }))).toEqual([`models.a.sleep_level ${problem}`]);
  });

  test('a list of levels leaves out neither the level that is used nor what the engine has', ({ expect }) => {
    const vllm = { model_path: 'x' };
    expect(problemsOf(one({ ...vllm, sleep_level: 2, levels_allowed: [1, 5] }))).toEqual([
      'models.a.sleep_level is 2, which levels_allowed leaves out. Put 2 into levels_allowed, or choose one of 1, 5.',
    ]);
    expect(problemsOf(one({ ...stub, levels_allowed: [1, 4] }))).toEqual([
      'models.a.levels_allowed[1] is 4, which stub cannot do. In this version it can do 1, 2, 5.',
    ]);
    expect(goodConfig(one({ ...vllm, levels_allowed: [2] })).models['a']?.levels_allowed).toEqual([2, 5]);
    expect(
      goodConfig(one({ ...vllm, levels_allowed: [2] }, { policy: { sleep_level: 1 } })).models['a']?.sleep_level,
    ).toBe(5);
  });

  test('a level of the policy that some models cannot take is a warning that names them', ({ expect }) => {
    const models = { a: alpha, b: stub, c: remote, d: { model_path: 'x' }, e: { ...alpha, sleep_level: 5 } };
    expect(warningsOf({ models, policy: { sleep_level: 1 } })).toEqual([
      'policy.sleep_level is 1, which this version cannot do for "a": stopped instead (level 5)',
    ]);
  });
});
