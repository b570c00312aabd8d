import { gpusIn } from '../core/ranks.ts';
import type { Config, ModelConfig } from './schema.ts';

/** What the budget of a stage counts: memory of one kind, or how many models are awake. */
export type Counts = 'gpu_mib' | 'host_mib' | 'models';

export type GpuName = number | string;

/** A stage as the config has it. */
export type StageConfig = {
  readonly name: string;
  readonly gpus: readonly GpuName[];
  readonly counts: Counts;
  /** Without the head room; undefined: what is free on its GPUs is to be measured. */
  readonly capacity: number | undefined;
  readonly headRoomMib: number | undefined;
};

/** What one engine of a model takes of a budget: so much, `all` that there is, or nothing that would be counted. */
export type Need = number | 'all' | 'none';

/** The only stage where the config names none. */
const DEFAULT_STAGE = 'default';

export function stagesOf({ stages, gpu }: Pick<Config, 'stages' | 'gpu'>): readonly StageConfig[] {
  if (stages === undefined) {
    const { capacity_mib: mib } = gpu;
    const counts = mib === undefined ? 'models' : 'gpu_mib';
    return [{ name: DEFAULT_STAGE, gpus: [], counts, capacity: mib ?? 1, headRoomMib: undefined }];
  }
  return Object.entries(stages).map(([name, written]) => {
    const { gpus = [], capacity_mib: gpuMib, host_capacity_mib: hostMib, slots, head_room_mib: headRoomMib } = written;
    const stage = { name, gpus, headRoomMib };
    const left = (mib: number): number => mib - (headRoomMib ?? 0);
    if (gpuMib !== undefined) return { ...stage, counts: 'gpu_mib', capacity: left(gpuMib) };
    if (hostMib !== undefined) return { ...stage, counts: 'host_mib', capacity: left(hostMib) };
    if (slots === undefined && gpus.length > 0) return { ...stage, counts: 'gpu_mib', capacity: undefined };
    return { ...stage, counts: 'models', capacity: slots ?? 1 };
  });
}

/** `learned`: what one engine of the model was seen to take of what is counted, for models that do not say it themselves. */
export function needOf(model: ModelConfig, counts: Counts, learned?: number): Need {
  if (model.backend === 'openai_remote') return 'none';
  const { footprint, exclusive } = model;
  if (counts !== 'host_mib' && footprint?.gpu_mib === 0) return 'none';
  if (exclusive) return 'all';
  if (counts === 'models') return 1;
  if (counts === 'host_mib') return footprint?.host_mib ?? learned ?? 'all';
  return footprint?.gpu_mib ?? learned ?? 'all';
}

/** Whether each engine is counted, or the model as a whole. */
export const countsEngines = (counts: Counts): boolean => counts !== 'models';

/** How much a model may take at most, with all the engines an operator may ask for. */
export function mostOf(model: ModelConfig, counts: Counts, learned?: number): number | 'all' {
  const need = needOf(model, counts, learned);
  if (need === 'all') return 'all';
  return need === 'none' ? 0 : need * (countsEngines(counts) ? model.replica_max : 1);
}

export const isKept = (model: ModelConfig): boolean => model.backend !== 'openai_remote' && model.keep;

/** The stage a model asks for by name. */
export const stageAskedBy = (model: ModelConfig): string | undefined =>
  model.backend === 'openai_remote' ? undefined : model.stage;

/** On how many GPUs one engine works together, as far as its arguments tell. */
export function spanOf(model: ModelConfig): number {
  switch (model.backend) {
    case 'vllm_serve':
    case 'sglang':
      return gpusIn(model.backend, model.extra_args);
    default:
      return 1;
  }
}
