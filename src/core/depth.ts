import type { SleepLevel } from './kinds.ts';

/** From the lightest to the deepest. */
export const DEPTH: readonly SleepLevel[] = [1, 2, 3, 'hybrid', 4, 5];

export const isDeeper = (a: SleepLevel, b: SleepLevel): boolean => DEPTH.indexOf(a) > DEPTH.indexOf(b);

export const lighterOf = (a: SleepLevel, b: SleepLevel): SleepLevel => (isDeeper(a, b) ? b : a);
