import type { SleepLevel } from './kinds.ts';

/** From the lightest to the deepest. */
export const DEPTH: readonly SleepLevel[] = [1, 2, 3, 'hybrid', 4, 5];

export const isDeeper = (a: SleepLevel, b: SleepLevel): boolean => DEPTH.indexOf(a) > DEPTH.indexOf(b);

export const lighterOf = (a: SleepLevel, b: SleepLevel): SleepLevel => (isDeeper(a, b) ? b : a);

/** Whether one that may be put to these levels besides 5, or to any where none are named, may be put to this one. */
export const mayGoTo = (level: SleepLevel, naps: readonly SleepLevel[] | undefined): boolean =>
  level === 5 || naps?.includes(level) !== false;
