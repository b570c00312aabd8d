import { of, type Mutant } from './mutant.ts';

const restart = of('restart.ts');

/** Guards of how soon what failed is tried again. */
export const RESTART: readonly Mutant[] = [
  restart(
    'a wake that failed is given up',
    "const giveUp = during === 'starting' ||",
    "const giveUp = during === 'starting' || during === 'waking' ||",
  ),
  restart(
    'a wake that failed is not tried afresh at once',
    "attempts === 1 && during !== 'starting'",
    "attempts === 1 && during === 'awake'",
  ),
];
