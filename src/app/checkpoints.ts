import { CriuCheckpoints } from '../adapters/checkpoints.ts';
import { Criu } from '../adapters/criu.ts';
import { ImageStore, type MayStay } from '../adapters/images.ts';
import type { SystemProcesses } from '../adapters/processes.ts';
import type { Config } from '../config/schema.ts';
import { engineId, modelId } from '../core/kinds.ts';
import type { Programs } from '../ports/programs.ts';

type Parts = {
  readonly config: Pick<Config, 'checkpoint'>;
  readonly processes: SystemProcesses;
  readonly programs: Programs;
  readonly onProblem: (message: string) => void;
};

const MIB = 1_048_576;

/** Which images may outlive their catnap: of engines that there are, those that were prepared, and all where they are kept. */
export function keptImages({ models, checkpoint }: Pick<Config, 'models' | 'checkpoint'>): MayStay {
  const engines = new Set<string>(
    Object.entries(models).flatMap(([name, { replicas }]) =>
      Array.from({ length: replicas }, (_, replica) => engineId(modelId(name), replica)),
    ),
  );
  return (engine, prepared) => engines.has(engine) && (prepared || checkpoint.keep_images);
}

/** Checkpoints as the config has them. */
export function checkpointsOf({ config: { checkpoint }, processes, programs, onProblem }: Parts): CriuCheckpoints {
  const { criu_path: command, cuda_driver, cuda_plugin_dir, images_dir: folder, images_max_mib } = checkpoint;
  const { host } = processes;
  const plugins = cuda_driver === 'plugin' ? cuda_plugin_dir : undefined;
  const cudaCheckpoint = checkpoint.cuda_checkpoint_path;
  const criu = new Criu(
    { command, plugins, cudaCheckpoint },
    { programs, processes, isRoot: process.geteuid?.() === 0 },
  );
  const { table, state } = host;
  const maxBytes = images_max_mib * MIB;
  const images = table === undefined ? undefined : new ImageStore({ folder, maxBytes, table, state });
  const portIsFree = (port: number): Promise<boolean> => processes.portIsFree(port);
  return new CriuCheckpoints({ host, criu, images, programs, portIsFree, onProblem });
}
