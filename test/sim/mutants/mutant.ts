import type { WorldOptions } from '../world-options.ts';

/** The worlds in which it shows. */
type Where = Omit<WorldOptions, 'core' | 'say'>;

/** One guard of the core taken out. `find` occurs exactly once in the file, so that a mutant cannot outlive the guard unnoticed. */
export type Mutant = {
  /** What goes wrong, in words. */
  readonly name: string;
  readonly file:
    | 'candidates.ts'
    | 'cast.ts'
    | 'closing.ts'
    | 'commons.ts'
    | 'demotion.ts'
    | 'doors.ts'
    | 'engine.ts'
    | 'entrance.ts'
    | 'giving.ts'
    | 'handover.ts'
    | 'holdings.ts'
    | 'homing.ts'
    | 'lane.ts'
    | 'leavers.ts'
    | 'member.ts'
    | 'moves.ts'
    | 'more-room.ts'
    | 'orders.ts'
    | 'overlap.ts'
    | 'patience.ts'
    | 'place.ts'
    | 'replies.ts'
    | 'revision.ts'
    | 'restart.ts'
    | 'stage.ts'
    | 'steering.ts'
    | 'swap.ts'
    | 'turns.ts'
    | `policy/${string}.ts`;
  readonly find: string;
  readonly replace: string;
} & Where;

/** Mutants of one file of the core. */
export const of =
  (file: Mutant['file'], where: Where = {}) =>
  (name: string, find: string, replace: string): Mutant => ({ name, file, find, replace, ...where });
