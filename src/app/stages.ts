import { NvidiaSmi } from '../adapters/nvidia-smi.ts';
import { systemPrograms } from '../adapters/programs.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import {
  isKept,
  mostOf,
  spanOf,
  stageAskedBy,
  stagesOf,
  type Counts,
  type GpuName,
  type StageConfig,
} from '../config/stages.ts';
import type { ModelId } from '../core/kinds.ts';
import type { MemoryKind } from '../core/overlap.ts';
import { place, type Ground, type Misfit } from '../core/placement.ts';
import type { StageOptions } from '../core/stage-events.ts';
import type { Clock } from '../ports/clock.ts';
import type { Gpu, GpuDevice } from '../ports/gpu.ts';
import type { Processes } from '../ports/process.ts';
import type { StageSpec } from '../runtime/supervisor.ts';

/** A stage as it is in the end: what it has, and who is on it. */
export type StagePlan = {
  readonly name: string;
  readonly gpus: readonly StageGpu[];
  readonly counts: Counts;
  readonly capacity: number;
  /** The models on it, in the order of the config. */
  readonly models: readonly string[];
};

/** A GPU of a stage: as the config names it, and as the driver knows it where it could be asked. */
export type StageGpu = {
  readonly name: GpuName;
  readonly index: number | undefined;
  readonly uuid: string | undefined;
};

/** What one engine of a model was seen to take of one kind of memory, in MiB. */
export type Learned = (model: ModelId | string, memory: MemoryKind) => number | undefined;

/** Of which kind of memory a stage counts, or would. */
export const memoryOf = (counts: Counts): MemoryKind => (counts === 'host_mib' ? 'host' : 'gpu');

/** A stage whose capacity is known by now. */
export type Surveyed = Omit<StagePlan, 'models'>;

const MEASURED_HEAD_ROOM_MIB = 512;

/** Looks at the GPUs that stages name. Rejects where one of them is not there. A stage that cannot be measured has one model awake at a time. */
export async function survey(
  config: Config,
  gpu: Pick<Gpu, 'read'>,
  warned: (message: string) => void,
): Promise<readonly Surveyed[]> {
  const stages = stagesOf(config);
  if (stages.every(({ gpus }) => gpus.length === 0)) return stages.map((stage) => surveyed(stage, []));
  const sight = await gpu.read(0);
  const devices = sight.kind === 'read' ? sight.reading.devices : [];
  if (sight.kind !== 'read') {
    const blind = stages.filter(({ capacity }) => capacity === undefined).map(({ name }) => name);
    if (blind.length > 0)
      warned(
        `the GPUs of ${blind.join(', ')} cannot be measured (${sight.reason}): one model is awake there at a time; set stages.${blind[0]}.capacity_mib`,
      );
  }
  return stages.map((stage) => surveyed(stage, devices));
}

/** Without a look at the hardware: what has to be measured has one model awake at a time. */
export const unsurveyed = (config: Config): readonly Surveyed[] => stagesOf(config).map((stage) => surveyed(stage, []));

function surveyed({ name, gpus, counts, capacity, headRoomMib }: StageConfig, devices: readonly GpuDevice[]): Surveyed {
  const found = gpus.map((gpu) => {
    const absent = absenceOf(gpu, name, devices);
    if (absent !== undefined) throw new Error(absent);
    return { name: gpu, device: devices.find(isCalled(gpu)) };
  });
  const known = found.map(({ name: gpu, device }): StageGpu => ({
    name: gpu,
    index: device?.index,
    uuid: device?.uuid,
  }));
  const stage = { name, gpus: known };
  if (capacity !== undefined) return { ...stage, counts, capacity };
  const measured = found.flatMap(({ device }) => (device === undefined ? [] : [device.freeMib]));
  if (measured.length < found.length) return { ...stage, counts: 'models', capacity: 1 };
  const headRoom = headRoomMib ?? MEASURED_HEAD_ROOM_MIB * measured.length;
  const left = measured.reduce((sum, mib) => sum + mib, 0) - headRoom;
  if (left <= 0)
    throw new Error(`the GPUs of stages.${name} have ${left + headRoom} MiB free, and head_room_mib is ${headRoom}`);
  return { ...stage, counts, capacity: left };
}

const isCalled =
  (gpu: GpuName) =>
  ({ index, uuid }: GpuDevice): boolean =>
    gpu === index || gpu === uuid;

/** That a GPU which a stage names is not there, in words. The parts of a GPU that is divided are not in the driver's list. */
function absenceOf(gpu: GpuName, stage: string, devices: readonly GpuDevice[]): string | undefined {
  if (devices.length === 0 || String(gpu).startsWith('MIG-') || devices.some(isCalled(gpu))) return undefined;
  const all = devices.map(({ index, uuid }) => `${index} (${uuid})`).join(', ');
  return `stages.${stage}.gpus names GPU ${gpu}, and this machine has ${all}`;
}

/** All that stages name and that is not there. */
export const absentGpus = (config: Config, devices: readonly GpuDevice[]): readonly string[] =>
  stagesOf(config).flatMap(({ name, gpus }) => gpus.flatMap((gpu) => absenceOf(gpu, name, devices) ?? []));

/** Puts every model on a stage. Throws where one fits on none, with what to change. */
export function planned(config: Config, stages: readonly Surveyed[], learned: Learned): readonly StagePlan[] {
  const counts = new Map(stages.map((stage) => [stage.name, stage.counts]));
  const grounds = stages.map(({ name, capacity, gpus, counts: kind }): Ground => {
    return { name, capacity: kind === 'models' ? Number.MAX_SAFE_INTEGER : capacity, gpus: gpus.length || undefined };
  });
  const pieces = Object.entries(config.models).map(([name, model]) => ({
    model: name,
    stage: stageAskedBy(model),
    keep: isKept(model),
    span: spanOf(model),
    need: (ground: Ground) => {
      const kind = counts.get(ground.name) ?? 'models';
      return mostOf(model, kind, learned(name, memoryOf(kind)));
    },
  }));
  const { placed, misfits } = place(pieces, grounds);
  const [misfit] = misfits;
  if (misfit !== undefined) throw new Error(misfits.map(toldOf).join('; '));
  return stages.map((stage) => ({
    ...stage,
    models: Object.keys(config.models).filter((model) => placed.get(model) === stage.name),
  }));
}

/** What is there when catnap starts. */
export async function plansOf(
  config: Config,
  means: {
    readonly processes: Processes;
    readonly clock: Clock;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly warn: (message: string) => void;
    readonly learned: Learned;
    /** Who is put where, once the stages are known; undefined: everybody wherever there is room. */
    readonly plan?: ((stages: readonly Surveyed[]) => readonly StagePlan[]) | undefined;
  },
): Promise<readonly StagePlan[]> {
  const { processes, clock, env, warn, learned } = means;
  const gpu = new NvidiaSmi(config.gpu, { clock, programs: systemPrograms(env), processes });
  const stages = await survey(config, gpu, warn);
  return means.plan?.(stages) ?? planned(config, stages, learned);
}

export const specOf = (plan: StagePlan, options: StageOptions): StageSpec => ({
  name: plan.name,
  gpus: gpusOf(plan),
  counts: plan.counts,
  options,
});

/** As they are called for good, where that is known. */
export const gpusOf = ({ gpus }: Pick<StagePlan, 'gpus'>): readonly string[] =>
  gpus.map(({ name, uuid }) => uuid ?? String(name));

/** A model as its engines get it: they see the GPUs of its stage. */
export function onGpus(model: ModelConfig, gpus: readonly StageGpu[]): ModelConfig {
  if (gpus.length === 0 || !('device' in model || 'stop_grace_secs' in model) || model.device === 'cpu') return model;
  if (model.device?.startsWith('cuda:') === true) return model;
  // vLLM takes numbers alone.
  const byNumber = model.backend === 'vllm_serve';
  const seen = gpus.map(({ name, index, uuid }) => (byNumber ? (index ?? name) : (uuid ?? name)));
  return { ...model, device: `cuda:${seen.join(',')}` };
}

function toldOf({ model, tried, span }: Misfit): string {
  const places = tried.map(({ stage, need, room, gpus }) => {
    if (gpus !== undefined && gpus < span) return `${stage} has ${gpus} GPUs and it works on ${span}`;
    return `it needs ${need} and ${stage} has ${room} for it`;
  });
  return `models.${model} fits on no stage (${places.join('; ')}): lower its footprint, or give the stage more`;
}
