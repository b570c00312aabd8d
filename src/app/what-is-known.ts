import { costFile } from '../adapters/cost-file.ts';
import { processesIn, readHandover } from '../adapters/handover.ts';
import type { SystemProcesses } from '../adapters/processes.ts';
import { systemPrograms } from '../adapters/programs.ts';
import type { Config } from '../config/schema.ts';
import type { Handover } from '../ports/handover.ts';
import type { Reporter } from '../ports/reporter.ts';
import { Footprints, learnedFrom } from './footprints.ts';
import type { Known } from './known.ts';
import { absentLevels, levelsMissed } from './levels.ts';
import type { AppOptions } from './options.ts';
import { plansOf, type Surveyed } from './stages.ts';
import { plansTakenOver } from './taking-over.ts';
import { withVerdicts } from './verdicts.ts';

type Means = { readonly processes: SystemProcesses; readonly reporter: Reporter };

type Found = {
  readonly known: Known;
  /** The config without what validations found wanting. */
  readonly judged: Config;
  /** What another catnap has left, if one has: from then on it is ours. */
  readonly handover: Handover | undefined;
};

/** Everything a catnap has to know before it begins. What can fail without the catnap before comes first. */
export async function whatIsKnown(options: AppOptions, { processes, reporter }: Means): Promise<Found> {
  const { config, clock, env, predecessor } = options;
  const warn = (message: string): void => reporter.report({ kind: 'warned', message });
  const programs = systemPrograms(env);
  const { config: judged, verdicts } = await withVerdicts(config, { programs, processes, warned: warn });
  const file = costFile(config.state_dir, warn);
  const absent = await absentLevels(config, programs);
  for (const message of levelsMissed(judged, absent)) warn(message);
  const handover = predecessor && readHandover(await predecessor.takeOver(), config.state_dir);
  if (handover !== undefined) await processes.enter(processesIn(handover));
  // Before the GPUs are measured: what is left of an earlier catnap is not there to stay.
  for (const leftover of await processes.reapLeftovers()) reporter.report({ kind: 'leftover-reaped', ...leftover });
  const footprints = await Footprints.open(judged, warn);
  const plan = handover && ((found: readonly Surveyed[]) => plansTakenOver(judged, found, handover));
  const learned = learnedFrom(footprints, verdicts);
  const plans = await plansOf(judged, { processes, clock, env, warn, learned, plan });
  const known = { file, known: await file.read(), verdicts, absent, plans, footprints, learned, written: config };
  return { known, judged, handover };
}
