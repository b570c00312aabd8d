import type { SystemProcesses } from '../adapters/processes.ts';
import type { Config } from '../config/schema.ts';
import type { Programs } from '../ports/programs.ts';
import { keptImages } from './checkpoints.ts';
import { keepers } from './conversations.ts';
import { clearTrialPlace } from './trial-place.ts';
import type { Workshop } from './workshop.ts';

type Means = Pick<Workshop, 'checkpoints' | 'conversations'> & {
  readonly processes: SystemProcesses;
  readonly programs: Programs;
  readonly warned: (message: string) => void;
};

/** Removes what earlier catnaps have left on disk and nothing will come back for. */
export async function sweepKept(config: Config, { checkpoints, conversations, ...means }: Means): Promise<void> {
  await checkpoints.sweep(keptImages(config));
  await conversations
    .sweep(keepers(config))
    .catch((error: unknown) => means.warned(`kept conversations: ${String(error)}`));
  await clearTrialPlace(config, means);
}
