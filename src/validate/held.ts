import type { Gpu } from '../ports/gpu.ts';
import type { MainMemory } from '../ports/process-memory.ts';
import type { GpuHeld, Held } from './observed.ts';

/** What these processes hold now, of the GPUs and of main memory. */
export async function look(pids: readonly number[], gpu: Gpu, memory: MainMemory): Promise<Held> {
  const [onGpu, processes] = await Promise.all([lookAtGpu(pids, gpu), memory.of(pids)]);
  return { gpu: onGpu, processes };
}

async function lookAtGpu(pids: readonly number[], gpu: Gpu): Promise<GpuHeld> {
  const sight = await gpu.read(0);
  if (sight.kind !== 'read') return { kind: 'unseen', why: sight.reason };
  const { devices, processes } = sight.reading;
  const own = processes.filter(({ pid, usedMib }) => usedMib !== undefined && pids.includes(pid));
  if (own.length > 0) return { kind: 'own', ...held(own), processes: own.length };
  if (devices.length === 0) return { kind: 'unseen', why: 'there is no GPU' };
  return { kind: 'devices', ...held(devices) };
}

/** Together, and on each. */
function held(rows: readonly { readonly uuid: string; readonly usedMib: number | undefined }[]) {
  const byGpu: Record<string, number> = {};
  for (const { uuid, usedMib = 0 } of rows) byGpu[uuid] = (byGpu[uuid] ?? 0) + usedMib;
  return { mib: Object.values(byGpu).reduce((total, mib) => total + mib, 0), byGpu };
}
