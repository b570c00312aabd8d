import { Hono } from 'hono';
import type { ControlDeps } from '../deps.ts';
import { viewFor } from '../narrow.ts';
import { visitorOf, type Visited } from '../visitor.ts';
import { ADMIN, type GpuMemory } from './contract.ts';
import { knownOf } from './models.ts';
import { vramFields } from './rows.ts';
import { runtimeState } from './state.ts';

/** A reading this old is shown as it is. */
const FRESH_MS = 1_000;

/** What the GPUs hold, and about how much of it each model takes. */
export function gpuMemory(deps: ControlDeps): Hono<Visited> {
  const app = new Hono<Visited>();
  app.get(`${ADMIN}/gpu-memory`, async (c) => {
    const sight = await deps.gpu.read(FRESH_MS);
    const devices = sight.kind === 'read' ? sight.reading.devices : [];
    const gpus = devices.map(({ index, name, usedMib, totalMib }) => ({
      index,
      name,
      used_mib: usedMib,
      total_mib: totalMib,
      used_over_total: `${usedMib}MiB / ${totalMib}MiB`,
    }));
    const models = viewFor(deps, visitorOf(c).mayUse).models.flatMap((view) => {
      const known = knownOf(deps, view);
      if (known === undefined) return [];
      const { config, vram, effectiveTarget } = known;
      const runtime_state = runtimeState(view);
      return {
        name: view.model,
        runtime_state,
        is_loaded: runtime_state === 'loaded',
        configured_target_inflight: config.target_inflight,
        effective_target_inflight: effectiveTarget,
        ...vramFields(vram),
      };
    });
    return c.json({ gpus, models, error: sight.kind === 'read' ? null : sight.reason } satisfies GpuMemory);
  });
  return app;
}
