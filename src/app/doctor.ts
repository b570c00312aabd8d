import { askProgram } from '../adapters/ask-program.ts';
import { Criu } from '../adapters/criu.ts';
import { folderState, memoryOfMachine, roomIn, systemName } from '../adapters/surroundings.ts';
import { NvidiaSmi } from '../adapters/nvidia-smi.ts';
import { Ports } from '../adapters/ports.ts';
import { systemPrograms } from '../adapters/programs.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import { DEPTH, LEVELS } from '../config/sleep-levels.ts';
import type { SleepLevel } from '../core/kinds.ts';
import { diagnose, type Diagnosis } from '../doctor/diagnose.ts';
import type { EngineProgram, GpuSeen, Machine, ModelSeen, PortSeen } from '../doctor/machine.ts';
import { diagnosisText } from '../doctor/text.ts';
import { hasKvScales, vllmArgs } from '../engines/vllm-flags.ts';
import { knownBad, versionOf as vllmVersion } from '../engines/vllm-version.ts';
import type { Processes } from '../ports/process.ts';
import type { Programs } from '../ports/programs.ts';
import type { Verdict } from '../ports/verdicts.ts';
import { levelOf } from '../validate/judge.ts';
import { EXIT } from './exit.ts';
import { commandOf, driverOf, versionOf } from './identity.ts';
import { absentGpus } from './stages.ts';
import { isInUse, verdictsThatHold } from './verdicts.ts';
import { ruledOut } from './ruled-out.ts';

export type DoctorOptions = {
  readonly config: Config;
  /** Whether the models are somebody's, and not only there because a config must have some. */
  readonly hasModels: boolean;
  readonly version: string;
  readonly json: boolean;
  readonly out: (text: string) => void;
};

type Means = { readonly programs: Programs; readonly processes: Pick<Processes, 'ask'> };

const ASK_LIMIT_MS = 10_000;

/** Looks at the machine and tells what of the config can work on it. Changes nothing. Resolves to the exit code. */
export async function examine({ config, hasModels, version, json, out }: DoctorOptions): Promise<number> {
  const programs = systemPrograms(process.env);
  const means: Means = { programs, processes: { ask: (argv, limitMs) => askProgram(argv, limitMs) } };
  const models = hasModels ? Object.entries(config.models) : [];
  const engines = await enginesOf(models, config, means);
  const machine = await look(config, models, engines, version, means);
  const verdicts = await verdictsThatHold(config, { ...means, warned: () => {} });
  const seen = models.map(([name, model]) => modelSeen(name, model, config, engines, verdicts.get(name) ?? []));
  const diagnosis = diagnose(machine, seen);
  out(json ? asJson(diagnosis) : diagnosisText(diagnosis));
  return diagnosis.well ? EXIT.ok : EXIT.failed;
}

async function look(
  config: Config,
  models: readonly (readonly [string, ModelConfig])[],
  engines: readonly EngineProgram[],
  version: string,
  means: Means,
): Promise<Machine> {
  const { checkpoint, state_dir } = config;
  const isRoot = process.geteuid?.() === 0;
  const criu = new Criu(
    {
      command: checkpoint.criu_path,
      plugins: checkpoint.cuda_driver === 'plugin' ? checkpoint.cuda_plugin_dir : undefined,
      cudaCheckpoint: checkpoint.cuda_checkpoint_path,
    },
    { ...means, isRoot },
  );
  const [sudo, gpu, cudaCheckpoint, criuHindrance, memory, ports, folder, freeMib] = await Promise.all([
    isRoot ? undefined : succeeds(['sudo', '-n', 'true'], means),
    gpuSeen(config, means),
    cudaCheckpointOf(checkpoint.cuda_checkpoint_path, isRoot, means),
    criu.hindrance(),
    memoryOfMachine(),
    portsOf(config, models),
    folderState(state_dir),
    roomIn(checkpoint.images_dir),
  ]);
  return {
    version,
    node: process.versions.node,
    system: systemName(),
    isRoot,
    sudo,
    engines,
    gpu,
    cudaCheckpoint,
    criuHindrance,
    memory,
    ports,
    stateDir: { path: state_dir, ...folder },
    imagesDir: { path: checkpoint.images_dir, freeMib },
  };
}

async function succeeds(argv: readonly [string, ...string[]], { processes }: Means): Promise<boolean> {
  return (await processes.ask(argv, ASK_LIMIT_MS)).code === 0;
}

async function gpuSeen(config: Config, means: Means): Promise<GpuSeen> {
  const sight = await new NvidiaSmi(config.gpu, { clock: systemClock(), ...means }).read(0);
  if (sight.kind !== 'read') return { kind: sight.kind, reason: sight.reason };
  const { devices } = sight.reading;
  const [driver, modes] = await Promise.all([driverOf(config, means), modesOf(config, means)]);
  return { kind: 'read', driver, devices, ...modes, absent: absentGpus(config, devices) };
}

/** Where the driver does not tell there is nothing to be said against it. */
async function modesOf({ gpu }: Config, { processes }: Means): Promise<{ forgets: boolean; isSplit: boolean }> {
  const query = '--query-gpu=persistence_mode,mig.mode.current';
  const asked = await processes.ask([gpu.nvidia_smi_path, query, '--format=csv,noheader,nounits'], ASK_LIMIT_MS);
  const rows =
    asked.code === 0
      ? asked.output
          .trim()
          .split('\n')
          .map((line) => line.split(', '))
      : [];
  return {
    forgets: rows.some(([persistence]) => persistence === 'Disabled'),
    isSplit: rows.some(([, mig]) => mig === 'Enabled'),
  };
}

async function cudaCheckpointOf(command: string, isRoot: boolean, means: Means): Promise<Machine['cudaCheckpoint']> {
  const found = await means.programs.find(command);
  if (found === undefined) return undefined;
  const { output } = await means.processes.ask([command, '--help'], ASK_LIMIT_MS);
  const mayRun = isRoot || (await succeeds(['sudo', '-n', command, '--help'], means));
  return { path: found.path, acts: output.includes('--action'), mayRun };
}

/** Every program that models are to be served by; where there are no models yet, those that could be. */
async function enginesOf(
  models: readonly (readonly [string, ModelConfig])[],
  config: Config,
  means: Means,
): Promise<readonly EngineProgram[]> {
  const users = new Map<
    string,
    { readonly model: ModelConfig | undefined; readonly key: string; readonly names: string[] }
  >();
  for (const [name, model] of models) {
    const [program] = commandOf(model) ?? [];
    if (program === undefined) continue;
    const key = 'command' in model ? `models.${name}.command` : COMMAND_KEYS[model.backend];
    const known = users.get(program) ?? { model, key: key ?? '', names: [] };
    known.names.push(name);
    users.set(program, known);
  }
  if (models.length === 0) {
    users.set(config.llama_server_command[0], { model: undefined, key: 'llama_server_command', names: [] });
    users.set(config.vllm_command[0], { model: undefined, key: 'vllm_command', names: [] });
  }
  return Promise.all(
    [...users].map(async ([command, { model, key, names }]): Promise<EngineProgram> => {
      const found = await means.programs.find(command);
      const version = found === undefined || model === undefined ? undefined : await versionOf(model, means);
      return { command, key, models: names, path: found?.path, version };
    }),
  );
}

const COMMAND_KEYS: Readonly<Record<string, string>> = {
  vllm_serve: 'vllm_command',
  llama_server: 'llama_server_command',
  llama_cpp: 'llama_server_command',
  sglang: 'sglang_command',
  exllamav3: 'exllamav3_command',
};

async function portsOf(config: Config, models: readonly (readonly [string, ModelConfig])[]): Promise<PortSeen[]> {
  const ports = new Ports();
  const named = [
    ['port', config.port],
    ['admin_port', config.admin_port ?? 0],
    ['metrics_port', config.metrics_port],
    ...models.map(([name, model]) => [`models.${name}.port`, ('port' in model ? model.port : undefined) ?? 0] as const),
  ] as const;
  const wanted = named.filter(([, port]) => port !== 0);
  return Promise.all(wanted.map(async ([key, port]) => ({ key, port, isFree: await ports.isFree(port) })));
}

function modelSeen(
  name: string,
  model: ModelConfig,
  config: Config,
  engines: readonly EngineProgram[],
  verdicts: readonly Verdict[],
): ModelSeen {
  const { works, accepted } = LEVELS[model.backend];
  const ofLevels = verdicts.filter((verdict) => isInUse(verdict, model, config));
  const [program] = commandOf(model) ?? [];
  const engine = engines.find(({ command }) => command === program);
  return {
    model: name,
    backend: model.backend,
    wanted: model.sleep_level,
    allowed: model.levels_allowed,
    sensible: DEPTH.filter((level) => works.includes(level) || accepted.includes(level)),
    works,
    program: engine,
    knownBad: new Map([...knownAgainst(name, model, engine?.version), ...ruledOut(model)]),
    failed: new Map(
      ofLevels.flatMap(({ level, passed, reason }) => (passed ? [] : [[levelOf(level), reason] as const])),
    ),
    passed: ofLevels.flatMap(({ level, passed }) => (passed ? [levelOf(level)] : [])),
  };
}

/** What is known of the engine's version, before it is started. */
function knownAgainst(name: string, model: ModelConfig, text: string | undefined): ReadonlyMap<SleepLevel, string> {
  const version = text === undefined ? undefined : vllmVersion(text);
  if (model.backend !== 'vllm_serve') return new Map();
  const names = [model.model_path, name, model.served_model_name ?? name];
  const lora = model.extra_args.some((argument) => /^--(enable-lora|lora-modules)/.test(argument));
  return new Map(
    ([1, 2] as const).flatMap((level) => {
      const why = knownBad(level, { version, names, lora, kvScales: hasKvScales(names, vllmArgs(model, {})) });
      if (why === undefined) return [];
      // Level hybrid begins with level 2.
      const levels: readonly SleepLevel[] = level === 2 ? [2, 'hybrid'] : [1];
      return levels.map((each) => [each, `vLLM ${text ?? 'of an unknown version'}: ${why}`] as const);
    }),
  );
}

function asJson({ findings, models, well }: Diagnosis): string {
  return `${JSON.stringify({ well, findings, models }, undefined, 2)}\n`;
}
