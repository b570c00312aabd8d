import { test } from 'vitest';
import { GpuMemory } from '../../../src/api/admin/contract.ts';
import { controlPlane } from '../../../src/api/plane.ts';
import { millis } from '../../../src/core/kinds.ts';
import type { Gpu } from '../../../src/ports/gpu.ts';
import { listen } from './listener.ts';
import { alpha, deps, model, phases, stage } from './scene.ts';

async function told(gpu: Gpu): Promise<GpuMemory> {
  const view = stage([model(alpha, phases.awake)]);
  const vram = () => ({ mib: 12_500, replicas: 3, source: 'model_artifact_size' as const });
  await using server = await listen(controlPlane(deps(() => view, { gpu, vram }).deps));
  const { status, body } = await server.ask('/v1/admin/gpu-memory');
  if (status !== 200) throw new Error(`${status}: ${body}`);
  return GpuMemory.parse(JSON.parse(body));
}

test('the GPUs in the words of nvidia-smi, and the models with their estimates', async ({ expect }) => {
  const name = 'NVIDIA RTX PRO 6000 Blackwell Workstation Edition';
  const device = { uuid: 'GPU-1', index: 0, name, usedMib: 75_603, totalMib: 97_887, freeMib: 22_284 };
  const ages: number[] = [];
  const gpu: Gpu = {
    async read(maxAgeMs) {
      ages.push(maxAgeMs);
      return { kind: 'read', reading: { takenAt: millis(0), cameAt: millis(0), devices: [device], processes: [] } };
    },
  };
  expect(await told(gpu)).toEqual({
    gpus: [{ index: 0, name, used_mib: 75_603, total_mib: 97_887, used_over_total: '75603MiB / 97887MiB' }],
    models: [
      {
        name: 'alpha',
        runtime_state: 'loaded',
        is_loaded: true,
        configured_target_inflight: 32,
        effective_target_inflight: 4,
        vram_estimate_mib: 12_500,
        vram_estimate_replica_count: 3,
        vram_estimate_source: 'model_artifact_size',
      },
    ],
    error: null,
  });
  expect(ages).toEqual([1_000]);
});

test.for(['absent', 'failed'] as const)(
  'where there is none, or none that answers (%s), why',
  async (kind, { expect }) => {
    const { gpus, models, error } = await told({ read: async () => ({ kind, reason: 'nvidia-smi was not found' }) });
    expect([gpus, models.length, error]).toEqual([[], 1, 'nvidia-smi was not found']);
  },
);
