import type { Config, ProcessModel } from '../config/schema.ts';
import type { OwnSleep, Sleeps } from '../engines/sleeper.ts';
import type { Checkpoints } from '../ports/checkpoints.ts';
import type { Clock } from '../ports/clock.ts';
import type { Gpu } from '../ports/gpu.ts';
import { level1 } from '../sleep/level-1.ts';
import { level2 } from '../sleep/level-2.ts';
import { CheckpointLevel } from '../sleep/level-4.ts';
import type { Level } from '../sleep/level.ts';
import { Levels } from '../sleep/levels.ts';
import { MemoryProof } from '../sleep/memory.ts';
import { ms } from './times.ts';

type Means = {
  readonly clock: Clock;
  readonly gpu: Gpu;
  readonly checkpoints: Checkpoints;
  readonly warned: (message: string) => void;
};

/** What makes the levels of each engine, given the sleep calls it has of its own. */
export function levelMaker(
  config: Pick<Config, 'gpu' | 'wake_timeout_secs' | 'checkpoint'>,
  { clock, gpu, checkpoints, warned }: Means,
): (model: ProcessModel, own: OwnSleep | undefined) => Sleeps {
  const memory = new MemoryProof({ clock, gpu, timeoutMs: ms(config.gpu.free_timeout_secs) });
  const answerMs = ms(config.wake_timeout_secs);
  const sleepsFirst = config.checkpoint.sleep_first === 2;
  return ({ levels_allowed: allowed }, own) => {
    const levels: Level[] = [];
    if (own !== undefined && allowed.includes(1)) levels.push(level1(own));
    if (own !== undefined && allowed.includes(2)) levels.push(level2(own, answerMs));
    if (allowed.includes(4)) {
      const first = own !== undefined && sleepsFirst ? [level2(own, answerMs)] : [];
      levels.push(new CheckpointLevel({ checkpoints, first, answerMs }));
    }
    return new Levels(levels, { memory, answerMs, warned });
  };
}
