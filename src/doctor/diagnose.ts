import type { SleepLevel } from '../core/kinds.ts';
import type { EngineProgram, GpuSeen, Machine, ModelSeen, PortSeen } from './machine.ts';

/** One thing that was looked at. `bad`: something the config asks for cannot work. `note`: something that could be had is not there. */
export type Finding = {
  readonly what: string;
  readonly state: 'good' | 'note' | 'bad';
  readonly says: string;
};

export type LevelFinding = {
  readonly level: SleepLevel;
  readonly state: 'tried' | 'possible' | 'impossible';
  /** Whether it is the one the config asks for. */
  readonly wanted: boolean;
  /** What is missing, or speaks against it. */
  readonly missing: readonly string[];
};

export type ModelFinding = {
  readonly model: string;
  readonly backend: string;
  readonly levels: readonly LevelFinding[];
};

export type Diagnosis = {
  readonly findings: readonly Finding[];
  readonly models: readonly ModelFinding[];
  readonly well: boolean;
};

/** Below this a busy proxy runs out of connections. */
const FEW_FILES = 1_024;
const LITTLE_MIB = 1_024;
/** An engine has dozens of threads, each with a number, so a busy machine is soon through with the 32,768 of old defaults. */
const MANY_NUMBERS = 131_072;

/** What the machine means for the models. Nothing here looks at anything itself. */
export function diagnose(machine: Machine, models: readonly ModelSeen[]): Diagnosis {
  const findings: Finding[] = [
    { what: 'catnap', state: 'good', says: `${machine.version}, Node ${machine.node}, ${machine.system}` },
    ...machine.engines.map(engineFinding),
    gpuFinding(machine.gpu),
    ...modeFindings(machine.gpu),
    ...(machine.gpu.kind === 'read' ? machine.gpu.absent : []).map((says): Finding => ({
      what: 'stages',
      state: 'bad',
      says,
    })),
    cudaFinding(machine),
    machine.criuHindrance === undefined
      ? { what: 'criu', state: 'good', says: `works here; ${roomText(machine)}` }
      : { what: 'criu', state: 'note', says: machine.criuHindrance },
    rightsFinding(machine),
    ...memoryFindings(machine),
    stateFinding(machine),
    ...machine.ports.map((port) => portFinding(port, machine.stateDir.heldBy)),
  ];
  const judged = models.map((model) => modelFinding(model, machine));
  const lost = judged.some(({ levels }) => levels.some(({ wanted, state }) => wanted && state === 'impossible'));
  return { findings, models: judged, well: !lost && findings.every(({ state }) => state !== 'bad') };
}

const roomText = ({ imagesDir: { path, freeMib } }: Machine): string =>
  freeMib === undefined ? `how much room ${path} has is not known` : `${path} has room for ${freeMib} MiB`;

function engineFinding({ command, key, models, path, version }: EngineProgram): Finding {
  const forWhom = models.length === 0 ? '' : ` (for ${models.join(', ')})`;
  if (path === undefined) {
    const state = models.length === 0 ? 'note' : 'bad';
    return { what: command, state, says: `was not found${forWhom}: install it, or set ${key}` };
  }
  return {
    what: command,
    state: 'good',
    says: `${path}${version === undefined ? '' : `, version ${version}`}${forWhom}`,
  };
}

function gpuFinding(gpu: GpuSeen): Finding {
  if (gpu.kind === 'absent')
    return {
      what: 'GPU',
      state: 'note',
      says: `${gpu.reason}: memory of GPUs cannot be read, and levels 1 to 3 are of no use`,
    };
  if (gpu.kind === 'failed') return { what: 'GPU', state: 'bad', says: gpu.reason };
  if (gpu.devices.length === 0) return { what: 'GPU', state: 'note', says: 'the driver is there and shows none' };
  const each = gpu.devices.map(({ name, totalMib, freeMib }) => `${name}, ${freeMib} of ${totalMib} MiB free`);
  return { what: 'GPU', state: 'good', says: `driver ${gpu.driver ?? 'unknown'}; ${each.join('; ')}` };
}

/** What speaks against suspending on a GPU that is there. */
function modeFindings(gpu: GpuSeen): Finding[] {
  if (gpu.kind !== 'read') return [];
  const forgets =
    'is off: cuda-checkpoint may end the processes it is to suspend (levels 3, hybrid and 4); nvidia-smi -pm 1 puts it on';
  const isSplit = 'is on: cuda-checkpoint cannot suspend what runs on a part of a GPU (levels 3, hybrid and 4)';
  return [
    ...(gpu.forgets ? [{ what: 'persistence mode', state: 'note', says: forgets } as const] : []),
    ...(gpu.isSplit ? [{ what: 'MIG', state: 'note', says: isSplit } as const] : []),
  ];
}

function cudaFinding({ cudaCheckpoint: found }: Machine): Finding {
  const what = 'cuda-checkpoint';
  if (found === undefined) return { what, state: 'note', says: 'was not found (checkpoint.cuda_checkpoint_path)' };
  if (!found.acts)
    return { what, state: 'note', says: `${found.path} knows no --action: it freezes one process at a time` };
  return { what, state: 'good', says: found.path };
}

/** Sudo may be allowed for some programs alone. */
function rightsFinding({ isRoot, sudo, cudaCheckpoint, criuHindrance }: Machine): Finding {
  const what = 'rights';
  if (isRoot) return { what, state: 'good', says: 'root' };
  if (sudo === true) return { what, state: 'good', says: 'no root, and sudo works without a password' };
  const runs = [
    ...(cudaCheckpoint?.mayRun === true ? ['cuda-checkpoint'] : []),
    ...(criuHindrance === undefined ? ['criu'] : []),
  ];
  if (runs.length > 0)
    return { what, state: 'good', says: `no root, and sudo runs ${runs.join(' and ')} without a password` };
  return { what, state: 'note', says: 'neither root nor sudo without a password: levels 3 and 4 need one of them' };
}

function memoryFindings({ memory }: Machine): Finding[] {
  const { totalMib, availableMib, groupLimitMib, openFiles, processNumbers } = memory;
  const limit = groupLimitMib === undefined ? '' : `; the control group allows ${groupLimitMib} MiB`;
  const says = `${availableMib} of ${totalMib} MiB available${limit}`;
  const findings: Finding[] = [{ what: 'memory', state: availableMib < LITTLE_MIB ? 'note' : 'good', says }];
  if (openFiles !== undefined && openFiles < FEW_FILES)
    findings.push({
      what: 'open files',
      state: 'note',
      says: `${openFiles} at most (ulimit -n): few for many connections`,
    });
  if (processNumbers !== undefined && processNumbers < MANY_NUMBERS)
    findings.push({
      what: 'process numbers',
      state: 'note',
      says: `${processNumbers} (kernel.pid_max): what comes back from disk (level 4) may find its own taken; sysctl kernel.pid_max=4194304 gives more`,
    });
  return findings;
}

function stateFinding({ stateDir: { path, fault, heldBy } }: Machine): Finding {
  const what = 'state_dir';
  if (fault !== undefined) return { what, state: 'bad', says: `${path}: ${fault}` };
  return { what, state: 'good', says: heldBy === undefined ? path : `${path}, ${heldBy}` };
}

function portFinding({ key, port, isFree }: PortSeen, heldBy: string | undefined): Finding {
  if (isFree) return { what: key, state: 'good', says: `${port} is free` };
  if (heldBy !== undefined)
    return { what: key, state: 'good', says: `${port} is in use, while a catnap runs on this state_dir` };
  return { what: key, state: 'bad', says: `${port} is in use by another program: end it, or change ${key}` };
}

function modelFinding(model: ModelSeen, machine: Machine): ModelFinding {
  const levels = model.sensible.map((level): LevelFinding => {
    const missing = missingFor(level, model, machine);
    const state = missing.length > 0 ? 'impossible' : model.passed.includes(level) ? 'tried' : 'possible';
    return { level, state, wanted: level === model.wanted, missing };
  });
  return { model: model.model, backend: model.backend, levels };
}

/** Engines that do nothing without a GPU: level 4 has to empty it first. */
const ON_GPU: ReadonlySet<string> = new Set(['vllm_serve', 'sglang', 'exllamav3']);

/** An old cuda-checkpoint knows no actions and freezes one process at a time, which is enough where there is one. */
function cudaMissing(level: SleepLevel, { cudaCheckpoint: found, isRoot, sudo }: Machine): string[] {
  const missing: string[] = [];
  if (found === undefined) missing.push('cuda-checkpoint is not there');
  else if (!found.acts && level === 'hybrid') missing.push('cuda-checkpoint with --action is not there');
  if (!(found?.mayRun ?? (isRoot || sudo === true)))
    missing.push('it needs root, or sudo without a password for cuda-checkpoint');
  return missing;
}

/** What keeps a model from a level here, all of it. */
function missingFor(level: SleepLevel, model: ModelSeen, machine: Machine): string[] {
  const missing: string[] = [];
  if (!model.works.includes(level)) missing.push(`this version does not do it for ${model.backend}`);
  else if (!model.allowed.includes(level)) missing.push('levels_allowed leaves it out');
  if (model.program !== undefined && model.program.path === undefined)
    missing.push(`${model.program.command} was not found`);
  const bad = model.knownBad.get(level);
  if (bad !== undefined) missing.push(bad);
  const failed = model.failed.get(level);
  if (failed !== undefined) missing.push(`it failed its validation: ${failed}`);
  if (level === 4 && machine.criuHindrance !== undefined) missing.push(machine.criuHindrance);
  if (level === 4 && ON_GPU.has(model.backend) && machine.gpu.kind === 'read' && machine.gpu.devices.length > 0)
    missing.push(...cudaMissing(level, machine));
  if (level === 3 || level === 'hybrid') {
    if (machine.gpu.kind !== 'read') missing.push('no GPU can be seen');
    missing.push(...cudaMissing(level, machine));
  }
  return missing;
}
