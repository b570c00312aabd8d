import { describe, test } from 'vitest';
import { goodConfig, plansOf, problemsOf, warningsOf } from '../../helpers/config.ts';

const model = (more: object = {}) => ({ backend: 'stub', ...more });
const mib = (gpu_mib: number, more: object = {}) => model({ footprint: { gpu_mib }, ...more });

const where = (config: object): string =>
  plansOf(goodConfig(config))
    .map(({ name, capacity, counts, models }) => `${name} ${capacity} ${counts}: ${models.join(' ')}`)
    .join('; ');

describe('stages', () => {
  test('are one where none is named', ({ expect }) => {
    expect(where({ models: { a: model(), b: model() } })).toBe('default 1 models: a b');
    expect(where({ gpu: { capacity_mib: 8_000 }, models: { a: mib(5_000) } })).toBe('default 8000 gpu_mib: a');
  });

  test('have a budget of GPU memory, of main memory, or of models', ({ expect }) => {
    const stages = {
      big: { gpus: [0], capacity_mib: 24_000, head_room_mib: 1_000 },
      cpu: { host_capacity_mib: 64_000 },
      side: { slots: 2 },
    };
    const models = {
      a: mib(20_000),
      b: model({ stage: 'cpu', footprint: { host_mib: 40_000 } }),
      c: model({ stage: 'side' }),
      d: model({ stage: 'side' }),
    };
    expect(where({ stages, models })).toBe('big 23000 gpu_mib: a; cpu 64000 host_mib: b; side 2 models: c d');
  });

  test('take the models that fit, the largest first', ({ expect }) => {
    const stages = { one: { capacity_mib: 24_000 }, two: { capacity_mib: 12_000 } };
    const models = { tiny: mib(900), mid: mib(10_000), large: mib(20_000) };
    expect(where({ stages, models })).toBe('one 24000 gpu_mib: large; two 12000 gpu_mib: tiny mid');
  });

  const wrong: readonly (readonly [string, object, RegExp])[] = [
    [
      'a stage that is not there',
      { stages: { big: {} }, models: { a: model({ stage: 'bug' }) } },
      /models.a.stage is "bug".*Did you mean "big"/,
    ],
    ['no stage at all', { models: { a: model({ stage: 'big' }) } }, /models.a.stage is "big", which is no stage here/],
    [
      'both kinds of capacity',
      { stages: { s: { capacity_mib: 5, slots: 2 } }, models: { a: model() } },
      /stages.s has capacity_mib and slots/,
    ],
    [
      'a capacity in two places',
      { gpu: { capacity_mib: 5 }, stages: { s: {} }, models: { a: model() } },
      /gpu.capacity_mib is for a config without `stages`/,
    ],
    [
      'a GPU on two stages',
      { stages: { s: { gpus: [0] }, t: { gpus: [0] } }, models: { a: model() } },
      /stages.t.gpus\[0\] is a GPU of stage s already/,
    ],
    [
      'something that is no GPU',
      { stages: { s: { gpus: ['first'] } }, models: { a: model() } },
      /stages.s.gpus\[0\] must be the number of a GPU/,
    ],
    [
      'a model that fits nowhere',
      { stages: { s: { capacity_mib: 8_000 }, t: { capacity_mib: 9_000 } }, models: { a: mib(10_000) } },
      /models.a.footprint.gpu_mib is 10000 and stage s has 8000 for it and stage t has 9000 for it: the model could never be awake/,
    ],
    [
      'more engines than fit',
      { stages: { s: { capacity_mib: 8_000 } }, models: { a: mib(3_000, { replica_max: 3 }) } },
      /is 3000, 9000 for the 3 that replica_max allows, and stage s has 8000/,
    ],
    [
      'a kept model whose size nobody knows',
      { stages: { s: { capacity_mib: 8_000 } }, models: { a: model({ keep: true }) } },
      /models.a.keep sets room aside, and the config does not say how much/,
    ],
    [
      'a kept model that wants all',
      { models: { a: model({ keep: true, exclusive: true }) } },
      /models.a.exclusive cannot be true together with `keep`/,
    ],
    [
      'kept models that leave no room',
      { stages: { s: { capacity_mib: 8_000 } }, models: { a: mib(5_000, { keep: true }), b: mib(4_000) } },
      /models.b.footprint.gpu_mib is 4000 and stage s has 3000 for it/,
    ],
    [
      'GPUs of another stage',
      {
        stages: { s: { gpus: [0] } },
        models: { a: { backend: 'command', command: 'x --port ${PORT}', stage: 's', device: 'cuda:1' } },
      },
      /names GPU 1, which is not one of stage s/,
    ],
    [
      'an unknown key',
      { stages: { s: { capacity: 5 } }, models: { a: model() } },
      /stages.s.capacity is not a key here/,
    ],
  ];
  for (const [what, config, expected] of wrong) {
    test(`cannot have ${what}`, ({ expect }) => {
      expect(problemsOf(config)).toEqual([expect.stringMatching(expected)]);
    });
  }

  test('a model that works on several GPUs needs a stage with as many', ({ expect }) => {
    const stages = { one: { gpus: [0], capacity_mib: 9 } };
    for (const a of [
      { backend: 'vllm_serve', model_path: 'm', extra_args: ['--tensor-parallel-size', '2'] },
      { backend: 'vllm_serve', model_path: 'm', extra_args: ['-dp', '2'] },
      { backend: 'sglang', model_path: 'm', extra_args: ['--dp-size=2'] },
    ]) {
      expect(problemsOf({ stages, models: { a } })).toEqual([
        expect.stringMatching(/models.a works on 2 GPUs together, and no stage that it may be on has so many/),
      ]);
      const config = goodConfig({ stages: { ...stages, two: { gpus: [1, 2], capacity_mib: 9 } }, models: { a } });
      expect(plansOf(config).map(({ models }) => models)).toEqual([[], ['a']]);
    }
  });

  test('a kept model stands beside those that are counted', ({ expect }) => {
    expect(where({ models: { embed: model({ keep: true }), a: model(), b: model() } })).toBe(
      'default 1 models: embed a b',
    );
    expect(warningsOf({ models: { embed: model({ keep: true }), a: model() } })).toEqual([]);
  });
});
