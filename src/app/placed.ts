import { systemPrograms } from '../adapters/programs.ts';
import type { SystemProcesses } from '../adapters/processes.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import { stagesOf } from '../config/stages.ts';
import type { Clock } from '../ports/clock.ts';
import { Footprints, learnedFrom } from './footprints.ts';
import { onGpus, plansOf } from './stages.ts';
import { verdictsThatHold } from './verdicts.ts';

type Of = {
  readonly config: Config;
  readonly name: string;
  readonly model: ModelConfig;
  readonly env: NodeJS.ProcessEnv;
};

type Means = {
  readonly clock: Clock;
  readonly processes: SystemProcesses;
  readonly warned: (message: string) => void;
};

/**
 * A model as its engines get it where a catnap serves it: they see the GPUs of its stage. What is tried on others tells nothing of it, and an
 * image from there fits no start. Rejects with what to change where a model fits on no stage.
 */
export async function placed({ config, name, model, env }: Of, means: Means): Promise<ModelConfig> {
  if (stagesOf(config).every(({ gpus }) => gpus.length === 0)) return model;
  const { warned: warn } = means;
  const verdicts = await verdictsThatHold(config, { ...means, programs: systemPrograms(env) });
  const learned = learnedFrom(await Footprints.open(config, warn), verdicts);
  const plans = await plansOf(config, { ...means, env, warn, learned });
  return onGpus(model, plans.find(({ models }) => models.includes(name))?.gpus ?? []);
}
