import { describe, test } from 'vitest';
import { ErrorAnswer, GpuMemory, ModelList } from '../../../src/api/admin/contract.ts';
import { controlPlane } from '../../../src/api/plane.ts';
import { modelId } from '../../../src/core/kinds.ts';
import type { ModelView } from '../../../src/runtime/view.ts';
import { listen } from './listener.ts';
import { alpha, deps, model, phases, stage } from './scene.ts';

const LOAD = '/v1/admin/models/alpha/load';

describe('a config that was read while somebody was still asking', () => {
  test.for([
    [LOAD, '{"replicas":1}', 'a load'],
    ['/control/sleep', '{"model":"alpha"}', 'a sleep'],
  ] as const)('without the model: he is told that there is none (%s)', async ([path, body], { expect }) => {
    let models: readonly ModelView[] = [model(alpha, phases.awake)];
    const { deps: all, bugs, orders } = deps(() => stage(models));
    // What is awaited between the name and the order lasts as long as the client likes.
    const find: typeof all.find = (name) => {
      models = [];
      return all.find(name);
    };
    await using server = await listen(controlPlane({ ...all, find }));
    const { status, body: told } = await server.ask(path, { method: 'POST', body });
    expect([status, bugs, orders]).toEqual([404, [], []]);
    expect(ErrorAnswer.parse(JSON.parse(told)).error.code).toBe('unknown_model');
  });

  test.for([
    ['GET', '/v1/admin/models/alpha'],
    ['POST', LOAD],
    ['POST', '/v1/admin/models/alpha/unload'],
  ] as const)('without the model, which a name still means: %s %s', async ([method, path], { expect }) => {
    const { deps: all, bugs, orders } = deps(() => stage([]));
    await using server = await listen(controlPlane(all));
    const { status, body } = await server.ask(path, { method });
    expect([status, bugs, orders]).toEqual([404, [], []]);
    expect(ErrorAnswer.parse(JSON.parse(body)).error.code).toBe('unknown_model');
  });

  test('without the model, when it is refused by the stage: as one that was never there', async ({ expect }) => {
    const end = { kind: 'refused', code: 'model_not_found', message: 'no more', retryAfterMs: undefined } as const;
    const given = deps(() => stage([model(alpha, phases.off)]));
    const operator = { ...given.deps.operator, load: async () => end };
    await using server = await listen(controlPlane({ ...given.deps, operator }));
    for (const [path, body] of [
      [LOAD, '{}'],
      ['/control/wake', '{"model":"alpha"}'],
    ] as const) {
      const answer = await server.ask(path, { method: 'POST', body });
      expect([path, answer.status, answer.headers['x-catnap-error']]).toEqual([path, 404, 'unknown_model']);
    }
  });

  test('a load that is late tells of it without its row', async ({ expect }) => {
    let models: readonly ModelView[] = [model(alpha, phases.off)];
    const given = deps(() => stage(models));
    const load = (): Promise<never> => {
      models = [];
      return new Promise(() => {});
    };
    const operator = { ...given.deps.operator, load };
    await using server = await listen(controlPlane({ ...given.deps, operator }));
    const { status, body } = await server.ask(`${LOAD}?timeout_s=0.02`, { method: 'POST' });
    const { error } = ErrorAnswer.parse(JSON.parse(body));
    expect([status, error.code, error.model, given.bugs]).toEqual([504, 'load_timeout', undefined, []]);
  });

  test('with another model: it is not told of yet', async ({ expect }) => {
    const added = modelId('added');
    let models: readonly ModelView[] = [model(alpha, phases.awake)];
    const { deps: all, bugs } = deps(() => stage(models), {
      gpu: {
        read: async () => {
          models = [...models, model(added, phases.off)];
          return { kind: 'absent', reason: 'nvidia-smi was not found' };
        },
      },
    });
    await using server = await listen(controlPlane(all));
    const memory = await server.ask('/v1/admin/gpu-memory');
    const list = await server.ask('/v1/admin/models');
    expect([memory.status, list.status, bugs]).toEqual([200, 200, []]);
    expect(GpuMemory.parse(JSON.parse(memory.body)).models.map(({ name }) => name)).toEqual(['alpha']);
    expect(ModelList.parse(JSON.parse(list.body)).models.map(({ name }) => name)).toEqual(['alpha']);
  });
});
