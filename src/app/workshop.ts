import { join } from 'node:path';
import { AmdGpus, firstGpu } from '../adapters/amd-gpus.ts';
import { fileURLToPath } from 'node:url';
import type { CriuCheckpoints } from '../adapters/checkpoints.ts';
import { engineFiles } from '../adapters/engine-files.ts';
import { engineHttp } from '../adapters/engine-http.ts';
import { systemMachine } from '../adapters/machine.ts';
import { NvidiaSmi } from '../adapters/nvidia-smi.ts';
import type { SystemProcesses } from '../adapters/processes.ts';
import { systemPrograms } from '../adapters/programs.ts';
import { stubServers } from '../adapters/stub-server.ts';
import { nearest } from '../config/nearest.ts';
import type { Config } from '../config/schema.ts';
import { DriverRegistry } from '../engines/registry.ts';
import type { Extension } from '../engines/vllm-serve.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { Gpu } from '../ports/gpu.ts';
import type { Programs } from '../ports/programs.ts';
import { Room } from '../sleep/room.ts';
import { checkpointsOf } from './checkpoints.ts';
import { conversationsOf } from './conversations.ts';
import { levelMaker } from './levels.ts';

export type WorkshopMeans = {
  readonly config: Config;
  readonly processes: SystemProcesses;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly warned: (message: string) => void;
  /** The folder that conversations are kept below, if not the state folder. */
  readonly conversationsIn?: string;
  /** Whether images are written to be kept for every later start. */
  readonly prepares?: boolean;
};

/** What engines are made with. */
export type Workshop = {
  /** What makes drivers as a config says: this one, or another that is read later. */
  readonly driversOf: (config: Config) => DriverRegistry;
  readonly programs: Programs;
  readonly http: EngineHttp;
  readonly gpu: Gpu;
  readonly checkpoints: CriuCheckpoints;
  readonly conversations: ReturnType<typeof conversationsOf>;
};

/** Beside the sources as beside what is built from them. */
const extensionOf = (env: WorkshopMeans['env']): Extension => ({
  folder: fileURLToPath(new URL('../../python', import.meta.url)),
  pythonPath: env['PYTHONPATH'],
});

export function workshopOf({
  config,
  processes,
  clock,
  env,
  warned,
  prepares = false,
  conversationsIn = config.state_dir,
}: WorkshopMeans): Workshop {
  const programs = systemPrograms(env);
  const http = engineHttp();
  const nvidia = new NvidiaSmi(config.gpu, { clock, programs, processes });
  const gpu = firstGpu(nvidia, new AmdGpus(clock));
  const checkpoints = checkpointsOf({ config, processes, programs, onProblem: warned });
  const means = {
    clock,
    gpu,
    room: new Room({ clock, gpu }),
    machine: systemMachine(),
    programs,
    processes,
    checkpoints,
    prepares,
    warned,
  };
  const conversations = conversationsOf({ ...config, state_dir: conversationsIn });
  const files = engineFiles(join(config.state_dir, 'engine-files'));
  const extension = extensionOf(env);
  const ports = { clock, processes, programs, http, stubs: stubServers, nearest, conversations, extension, files };
  const driversOf = (latest: Config): DriverRegistry =>
    new DriverRegistry({ ...ports, levelsOf: levelMaker(latest, means) }, latest);
  return { driversOf, programs, http, gpu, checkpoints, conversations };
}
