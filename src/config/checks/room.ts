import { place, type Ground, type Misfit } from '../../core/placement.ts';
import { isKept, mostOf, needOf, spanOf, stageAskedBy, stagesOf, type Counts } from '../stages.ts';
import { nearest } from '../nearest.ts';
import type { ModelConfig } from '../schema.ts';
import { eachModel, type Check, type CheckFinding } from './check.ts';

/** Every model fits on the hardware when it is alone there with those that are kept, as far as that is known before anything is measured. */
export const modelsHaveRoom: Check = ({ config }) => {
  const stages = stagesOf(config);
  const counts = new Map(stages.map(({ name, counts }) => [name, counts]));
  const grounds = stages.flatMap(({ name, capacity, gpus, counts }): Ground[] => {
    // A kept model of a stage that counts models stands beside the others.
    const room = counts === 'models' ? Number.MAX_SAFE_INTEGER : capacity;
    return room === undefined ? [] : [{ name, capacity: room, gpus: gpus.length || undefined }];
  });
  const models = Object.entries(config.models).filter(([, model]) => {
    const asked = stageAskedBy(model);
    return asked === undefined ? grounds.length === stages.length : grounds.some(({ name }) => name === asked);
  });
  const pieces = models.map(([name, model]) => ({
    model: name,
    stage: stageAskedBy(model),
    keep: isKept(model),
    span: spanOf(model),
    need: (ground: Ground) => mostOf(model, counts.get(ground.name) ?? 'models'),
  }));
  const { misfits } = place(pieces, grounds);
  const capacity = config.stages === undefined ? config.gpu.capacity_mib : undefined;
  return misfits.map((misfit) => toldOf(misfit, config.models[misfit.model], counts, capacity));
};

function toldOf(
  { model: name, tried, span }: Misfit,
  model: ModelConfig | undefined,
  counts: ReadonlyMap<string, Counts>,
  capacity: number | undefined,
): CheckFinding {
  const isOnly = capacity !== undefined;
  const path = ['models', name];
  const tooFew = tried.every(({ gpus }) => gpus !== undefined && gpus < span);
  if (tooFew) {
    const message = `works on ${span} GPUs together, and ${isOnly ? 'its stage' : 'no stage that it may be on'} has so many`;
    return { path, message, fix: 'Give it a stage with as many `gpus`.' };
  }
  const [first] = tried;
  const kind = counts.get(first?.stage ?? '') ?? 'gpu_mib';
  const each = model === undefined ? 'all' : needOf(model, kind);
  const engines = model?.replica_max ?? 1;
  const together = engines > 1 ? `, ${first?.need} for ${enginesOf(model)},` : '';
  const room = isOnly
    ? `gpu.capacity_mib is ${capacity}${capacity === first?.room ? '' : `, of which ${first?.room} are left`}`
    : tried.map(({ stage, room: left }) => `stage ${stage} has ${left} for it`).join(' and ');
  return {
    path: [...path, 'footprint', kind === 'host_mib' ? 'host_mib' : 'gpu_mib'],
    message: `is ${each}${together} and ${room}: the model could never be awake`,
    fix: 'Lower the footprint, with a smaller context for example, or raise the capacity to what the hardware has. Models with `keep` leave less.',
    also: isOnly ? ['gpu', 'capacity_mib'] : ['stages'],
  };
}

const enginesOf = (model: ModelConfig | undefined): string => {
  const { replicas = 1, replica_max = 1 } = model ?? {};
  return replica_max > replicas ? `the ${replica_max} that replica_max allows` : `its ${replicas} replicas`;
};

/** A model names a stage that is there, and asks nothing of it that it cannot have. */
export const stagesLead = eachModel((name, model, { config }) => {
  if (model.backend === 'openai_remote') return [];
  const findings: CheckFinding[] = [];
  const stages = Object.keys(config.stages ?? {});
  const { stage, keep, exclusive, footprint } = model;
  if (stage !== undefined && !stages.includes(stage)) {
    const meant = nearest(stage, stages);
    const fix = meant === undefined ? 'Name one of `stages`.' : `Did you mean "${meant}"?`;
    findings.push({
      path: ['models', name, 'stage'],
      message: `is "${stage}", which is no stage here`,
      fix,
      also: ['stages'],
    });
  }
  if (keep && exclusive) {
    findings.push({
      path: ['models', name, 'exclusive'],
      message: 'cannot be true together with `keep`: nothing else could ever be awake',
      fix: 'Keep one of them.',
    });
  }
  const counts = stagesOf(config).filter((one) => stage === undefined || one.name === stage);
  if (keep && counts.some(({ counts: kind }) => kind !== 'models' && needOf(model, kind) === 'all')) {
    findings.push({
      path: ['models', name, 'keep'],
      message: 'sets room aside, and the config does not say how much',
      fix: `Add \`footprint\` with ${footprint === undefined || counts[0]?.counts === 'gpu_mib' ? '`gpu_mib`' : '`host_mib`'}.`,
    });
  }
  return findings;
});

/** The keys of a stage, and those of the one that is there without `stages`, make sense together. */
export const stagesMakeSense: Check = ({ config }) => {
  const { stages, gpu } = config;
  if (stages === undefined) return [];
  const findings: CheckFinding[] = [];
  if (Object.keys(stages).length === 0)
    findings.push({ path: ['stages'], message: 'is empty', fix: 'Add a stage, or take `stages` out.' });
  if (gpu.capacity_mib !== undefined) {
    findings.push({
      path: ['gpu', 'capacity_mib'],
      message: 'is for a config without `stages`',
      fix: 'Write it as `capacity_mib` of a stage.',
      also: ['stages'],
    });
  }
  const owners = new Map<number | string, string>();
  for (const [name, stage] of Object.entries(stages)) {
    const { gpus = [], capacity_mib: gpuMib, host_capacity_mib: hostMib, slots, head_room_mib: headRoom = 0 } = stage;
    const path = ['stages', name];
    const budgets = { capacity_mib: gpuMib, host_capacity_mib: hostMib, slots };
    const written = Object.entries(budgets).flatMap(([key, value]) => (value === undefined ? [] : [key]));
    if (written.length > 1)
      findings.push({
        path,
        message: `has ${written.join(' and ')}: a budget counts one thing`,
        fix: 'Keep one of them.',
      });
    if (hostMib !== undefined && gpus.length > 0)
      findings.push({
        path: [...path, 'host_capacity_mib'],
        message: 'is for a stage without `gpus`',
        fix: 'Make two stages.',
      });
    if (slots !== undefined && headRoom > 0)
      findings.push({
        path: [...path, 'head_room_mib'],
        message: 'means nothing where `slots` are counted',
        fix: 'Take it out.',
      });
    if (headRoom > 0 && headRoom >= (gpuMib ?? hostMib ?? Number.POSITIVE_INFINITY))
      findings.push({ path: [...path, 'head_room_mib'], message: 'leaves nothing of the capacity', fix: 'Lower it.' });
    for (const [at, gpuName] of gpus.entries()) {
      const owner = owners.get(gpuName);
      const message = owner === name ? 'is in the list already' : `is a GPU of stage ${owner} already`;
      if (owner !== undefined) findings.push({ path: [...path, 'gpus', at], message, fix: 'A GPU is on one stage.' });
      owners.set(gpuName, name);
    }
  }
  return findings;
};

const DEVICES = /^cuda:(\d+(?:,\d+)*)$/;

/** GPUs that a model names itself are GPUs of its stage. */
export const devicesAreOfTheStage = eachModel((name, model, { config }) => {
  const device = 'device' in model ? DEVICES.exec(model.device ?? '')?.[1] : undefined;
  const stage = stageAskedBy(model);
  const with_gpus = stagesOf(config).filter(({ gpus }) => gpus.length > 0);
  if (device === undefined || with_gpus.length === 0) return [];
  const path = ['models', name, 'device'];
  if (stage === undefined)
    return [
      {
        path,
        message: 'names GPUs, and so do the stages',
        fix: 'Name the `stage` of the model, or take `device` out.',
      },
    ];
  const { gpus = [] } = with_gpus.find((one) => one.name === stage) ?? {};
  const strange = device.split(',').find((gpu) => gpus.length > 0 && !gpus.includes(Number(gpu)));
  return strange === undefined
    ? []
    : [
        {
          path,
          message: `names GPU ${strange}, which is not one of stage ${stage}`,
          fix: 'Take `device` out: the stage decides.',
        },
      ];
});

/** A footprint of which there is nothing to take, and that nothing else goes by. */
export const footprintUnused = eachModel((name, model, { config }) =>
  config.stages === undefined &&
  config.policy.host_ram_limit_mib === undefined &&
  !config.policy.overlap &&
  'footprint' in model &&
  (model.footprint?.gpu_mib ?? 0) > 0 &&
  config.gpu.capacity_mib === undefined
    ? [
        {
          path: ['models', name, 'footprint'],
          message: 'has no effect, since gpu.capacity_mib is not set: one model is awake at a time',
          fix: 'Set gpu.capacity_mib to the memory that models may take together, or make `stages`.',
        },
      ]
    : [],
);
