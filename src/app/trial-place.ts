import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import type { Programs } from '../ports/programs.ts';
import type { SystemProcesses } from '../adapters/processes.ts';
import { checkpointsOf } from './checkpoints.ts';

export type TrialPlace = {
  readonly config: Config;
  readonly conversationsIn: string;
};

type Means = {
  readonly processes: SystemProcesses;
  readonly programs: Programs;
  readonly warned: (message: string) => void;
};

/** What engines leave on disk while they are tried is kept apart from what they have left there while they served. */
export function trialPlaceOf(config: Config): TrialPlace {
  const conversationsIn = join(config.state_dir, 'validation');
  const images_dir = join(config.checkpoint.images_dir, 'validation');
  return {
    config: { ...config, checkpoint: { ...config.checkpoint, images_dir, keep_images: false } },
    conversationsIn,
  };
}

/**
 * Removes what engines that were tried have left there: at the end of a validation, and at every start, since one that was
 * killed could not. Other catnaps may have their images below the same folder; those stay. Never rejects.
 */
export async function clearTrialPlace(written: Config, { processes, programs, warned }: Means): Promise<void> {
  const { config, conversationsIn } = trialPlaceOf(written);
  try {
    await rm(conversationsIn, { recursive: true, force: true });
  } catch (error) {
    warned(`what a validation has left in ${conversationsIn} could not be removed: ${String(error)}`);
  }
  await checkpointsOf({ config, processes, programs, onProblem: warned }).clear();
}
