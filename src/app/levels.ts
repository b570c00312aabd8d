import type { Config, ProcessModel } from '../config/schema.ts';
import type { SleepLevel } from '../core/kinds.ts';
import type { OwnSleep, Sleeps } from '../engines/sleeper.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Clock } from '../ports/clock.ts';
import type { Gpu } from '../ports/gpu.ts';
import type { Machine } from '../ports/machine.ts';
import type { Processes } from '../ports/process.ts';
import type { Programs } from '../ports/programs.ts';
import { CudaCheckpoint } from '../sleep/cuda-checkpoint.ts';
import { EndProof } from '../sleep/end-proof.ts';
import { hybrid } from '../sleep/hybrid.ts';
import { level1 } from '../sleep/level-1.ts';
import { level2 } from '../sleep/level-2.ts';
import { level3 } from '../sleep/level-3.ts';
import { CheckpointLevel } from '../sleep/level-4.ts';
import type { Level } from '../sleep/level.ts';
import { Levels } from '../sleep/levels.ts';
import { MemoryProof } from '../sleep/memory.ts';
import type { Room } from '../sleep/room.ts';
import { Suspension } from '../sleep/suspension.ts';
import { ruledOut } from './ruled-out.ts';
import { ms } from './times.ts';

type Means = {
  readonly clock: Clock;
  readonly gpu: Gpu;
  readonly room: Room;
  readonly machine: Machine;
  readonly programs: Programs;
  readonly processes: Pick<Processes, 'ask'>;
  readonly checkpoints: Checkpoints;
  /** Whether the images that are written are to be kept for every later start. */
  readonly prepares?: boolean;
  readonly warned: (message: string) => void;
};

/** Levels that this machine cannot do, whatever the engine, with the reason. Looked at once, at the start. */
export async function absentLevels(
  { checkpoint }: Pick<Config, 'checkpoint'>,
  programs: Programs,
): Promise<ReadonlyMap<SleepLevel, string>> {
  const { cuda_checkpoint_path: program } = checkpoint;
  if ((await programs.find(program)) !== undefined) return new Map();
  const reason = `${program} was not found (checkpoint.cuda_checkpoint_path)`;
  return new Map<SleepLevel, string>([
    [3, reason],
    ['hybrid', reason],
  ]);
}

/** Who is to sleep at a level that is not to be had here, or not with its settings. */
export function levelsMissed(
  { models }: Pick<Config, 'models'>,
  absent: ReadonlyMap<SleepLevel, string>,
): readonly string[] {
  return Object.entries(models).flatMap(([name, model]) => {
    const { sleep_level: level } = model;
    const reason = absent.get(level) ?? ruledOut(model).get(level);
    return reason === undefined ? [] : [`models.${name}.sleep_level is ${level}, which goes deeper here: ${reason}`];
  });
}

/** What makes the levels of each engine, given the sleep calls it has of its own. */
export function levelMaker(
  config: Pick<Config, 'gpu' | 'checkpoint' | 'sleep_timeout_secs' | 'wake_timeout_secs' | 'changed_answer'>,
  { clock, gpu, room, machine, programs, processes, checkpoints, prepares = false, warned }: Means,
): (model: ProcessModel, own: OwnSleep | undefined) => Sleeps {
  const memory = new MemoryProof({ clock, gpu, timeoutMs: ms(config.gpu.free_timeout_secs) });
  const end = new EndProof({ clock, gpu, machine, timeoutMs: ms(config.gpu.free_timeout_secs) });
  const program = config.checkpoint.cuda_checkpoint_path;
  const limits = { sleepMs: ms(config.sleep_timeout_secs), wakeMs: ms(config.wake_timeout_secs) };
  const cuda = new CudaCheckpoint({ program, programs, processes, machine, limits });
  const freeMs = ms(config.gpu.free_timeout_secs);
  const answerMs = ms(config.wake_timeout_secs);
  const hearing = { answerMs, changed: config.changed_answer, warned };
  const { sleep_first, cuda_driver: cudaDriver } = config.checkpoint;
  const keeps = prepares ? 'prepared' : config.checkpoint.keep_images ? 'all' : 'no';
  const sleepsFirst = sleep_first === 2;
  return ({ levels_allowed: allowed }, own) => {
    const levels: Level[] = [];
    if (own !== undefined && allowed.includes(1)) levels.push(level1(own));
    if (own !== undefined && allowed.includes(2)) levels.push(level2(own, hearing));
    const hasHybrid = own !== undefined && allowed.includes('hybrid');
    const suspension = new Suspension({ cuda, gpu, machine, room, freeMs, hasHybrid });
    if (allowed.includes(3)) levels.push(level3(suspension, own));
    if (hasHybrid) levels.push(hybrid(own, suspension, hearing));
    if (allowed.includes(4)) {
      const first = own !== undefined && sleepsFirst ? level2(own, hearing) : undefined;
      levels.push(new CheckpointLevel({ checkpoints, first, own, suspension, cudaDriver, keeps, stepMs: answerMs }));
    }
    return new Levels(levels, { memory, end, room, hearing, warned });
  };
}
