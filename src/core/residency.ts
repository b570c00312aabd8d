import type { EnginePhase } from './engine.ts';
import { unreachable, type NapLevel, type SleepLevel } from './kinds.ts';

/** Where the weights of an engine can be. */
export const RESIDENCIES = {
  gpu: 'where they are computed with, or on the way there or back',
  host: 'in host memory (level 1)',
  dropped: 'given up; the process stands by to load them again (level 2)',
  suspended: 'in host memory with the whole process (level 3, hybrid)',
  disk: 'in a checkpoint on disk (level 4)',
  none: 'there is no process',
} as const;

export type Residency = keyof typeof RESIDENCIES;

/** Where the weights of an engine in this phase are. An engine on the move counts with all it may still hold. */
export function residencyOf(phase: EnginePhase): Residency {
  switch (phase.kind) {
    case 'off':
    case 'failed':
      return 'none';
    case 'asleep':
      return asleepAt(phase.level);
    case 'starting':
    case 'awake':
    case 'falling-asleep':
    case 'waking':
    case 'stopping':
    case 'reaping':
    case 'stuck':
      return 'gpu';
    default:
      return unreachable(phase);
  }
}

function asleepAt(level: NapLevel): Residency {
  switch (level) {
    case 1:
      return 'host';
    case 2:
      return 'dropped';
    case 3:
    case 'hybrid':
      return 'suspended';
    case 4:
      return 'disk';
    default:
      return unreachable(level);
  }
}

/** Whether what was on the GPU is kept in host memory. */
export const holdsHost = (level: SleepLevel): boolean =>
  level !== 5 && ['host', 'suspended'].includes(asleepAt(level) satisfies Residency);
