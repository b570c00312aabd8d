import { describe, test } from 'vitest';
import { onGpus, planned, survey } from '../../../src/app/stages.ts';
import { roomOf, roomsOf } from '../../../src/app/stage-plan.ts';
import { millis } from '../../../src/core/kinds.ts';
import type { GpuSight } from '../../../src/ports/gpu.ts';
import { goodConfig, onlyStage } from '../../helpers/config.ts';

const UUIDS = ['GPU-0000aaaa-1', 'GPU-1111bbbb-2'] as const;
const device = (index: 0 | 1, totalMib: number, usedMib: number) => ({
  uuid: UUIDS[index],
  index,
  name: 'a GPU',
  totalMib,
  usedMib,
  freeMib: totalMib - usedMib,
});
const seen: GpuSight = {
  kind: 'read',
  reading: {
    takenAt: millis(0),
    cameAt: millis(0),
    devices: [device(0, 24_000, 500), device(1, 80_000, 0)],
    processes: [],
  },
};
const gpu = (sight: GpuSight) => ({ read: () => Promise.resolve(sight) });
const model = (more: object = {}) => ({ backend: 'stub', ...more });

describe('what stages have', () => {
  test('is measured where nobody says it, less what is kept free', async ({ expect }) => {
    const stages = { small: { gpus: [0] }, big: { gpus: [UUIDS[1]], head_room_mib: 2_000 } };
    const found = await survey(goodConfig({ stages, models: { a: model() } }), gpu(seen), () => {});
    expect(found.map(({ name, capacity, counts }) => [name, capacity, counts])).toEqual([
      ['small', 22_988, 'gpu_mib'],
      ['big', 78_000, 'gpu_mib'],
    ]);
    expect(found.map(({ gpus }) => gpus)).toEqual([
      [{ name: 0, index: 0, uuid: UUIDS[0] }],
      [{ name: UUIDS[1], index: 1, uuid: UUIDS[1] }],
    ]);
  });

  test('is one model at a time where nothing can be measured, which is said', async ({ expect }) => {
    const told: string[] = [];
    const absent: GpuSight = { kind: 'absent', reason: 'nvidia-smi was not found' };
    const config = goodConfig({ stages: { s: { gpus: [0, 1] } }, models: { a: model() } });
    const found = await survey(config, gpu(absent), (message) => told.push(message));
    expect(found).toMatchObject([{ counts: 'models', capacity: 1 }]);
    expect(told).toEqual([expect.stringMatching(/GPUs of s cannot be measured.*stages.s.capacity_mib/)]);
  });

  test('cannot be a GPU that is not there', async ({ expect }) => {
    const config = goodConfig({ stages: { s: { gpus: [3] } }, models: { a: model() } });
    await expect(survey(config, gpu(seen), () => {})).rejects.toThrow(
      'stages.s.gpus names GPU 3, and this machine has 0 (GPU-0000aaaa-1), 1 (GPU-1111bbbb-2)',
    );
  });

  test('may turn out to be too little for a model', async ({ expect }) => {
    const models = { a: model({ footprint: { gpu_mib: 30_000 } }) };
    const config = goodConfig({ stages: { s: { gpus: [0] } }, models });
    const found = await survey(config, gpu(seen), () => {});
    expect(() => planned(config, found, () => undefined)).toThrow(
      'models.a fits on no stage (it needs 30000 and s has 22988 for it)',
    );
  });
});

describe('engines see', () => {
  const gpus = [
    { name: 0, index: 0, uuid: UUIDS[0] },
    { name: UUIDS[1], index: 1, uuid: UUIDS[1] },
  ];
  const deviceOf = (more: object): unknown => {
    const { a } = goodConfig({ models: { a: { backend: 'llama_server', model_path: '/m.gguf', ...more } } }).models;
    const placed = a && onGpus(a, gpus);
    return placed !== undefined && 'device' in placed ? placed.device : undefined;
  };

  test('the GPUs of their stage alone, by UUID', ({ expect }) => {
    expect(deviceOf({})).toBe(`cuda:${UUIDS.join(',')}`);
    expect(deviceOf({ device: 'cuda' })).toBe(`cuda:${UUIDS.join(',')}`);
  });

  test('what their model says, where it says it', ({ expect }) => {
    expect(deviceOf({ device: 'cuda:1' })).toBe('cuda:1');
    expect(deviceOf({ device: 'cpu' })).toBe('cpu');
  });

  test('numbers, for vLLM, which takes nothing else', ({ expect }) => {
    const { a } = goodConfig({ models: { a: { backend: 'vllm_serve', model_path: 'm' } } }).models;
    expect(a && onGpus(a, gpus)).toMatchObject({ device: 'cuda:0,1' });
  });
});

describe('the room of a model', () => {
  const of = (config: object, name: string, learned?: number) => {
    const complete = goodConfig(config);
    const [plan] = planned(
      complete,
      [{ name: 'default', gpus: [], counts: 'gpu_mib', capacity: 10_000 }],
      () => learned,
    );
    const settings = complete.models[name];
    if (plan === undefined || settings === undefined) throw new Error('there is none');
    return roomOf(
      settings,
      roomsOf(complete, plan, () => learned),
      learned,
    );
  };
  const gpuOf = { gpu: { capacity_mib: 10_000 } };

  test('is that of each of its engines', ({ expect }) => {
    const models = { a: model({ footprint: { gpu_mib: 2_000 }, replicas: 2, replica_max: 3 }) };
    expect(of({ ...gpuOf, models }, 'a')).toEqual({ cost: 4_000, costEach: 2_000, keep: false });
  });

  test('is what was seen, where nobody says it, and all when that is too much', ({ expect }) => {
    const models = { a: model(), b: model({ exclusive: true, footprint: { gpu_mib: 5 } }) };
    expect(of({ ...gpuOf, models }, 'a', 3_000)).toEqual({ cost: 3_000, costEach: 3_000, keep: false });
    expect(of({ ...gpuOf, models }, 'a')).toEqual({ cost: 10_000, keep: false });
    expect(of({ ...gpuOf, models }, 'b')).toEqual({ cost: 10_000, keep: false });
  });

  test('is what those that are kept leave', ({ expect }) => {
    const models = { a: model({ exclusive: true }), e: model({ keep: true, footprint: { gpu_mib: 900 } }) };
    expect(of({ ...gpuOf, models }, 'a')).toEqual({ cost: 9_100, keep: false });
    expect(of({ ...gpuOf, models }, 'e')).toEqual({ cost: 900, costEach: 900, keep: true });
    const { capacity } = onlyStage(goodConfig({ models: { a: model(), e: model({ keep: true }) } }));
    expect(capacity).toBe(2);
  });
});
