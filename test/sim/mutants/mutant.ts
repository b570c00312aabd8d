import type { PolicyName } from '../../../src/core/policy/index.ts';

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
  /** Where it shows: the policy in use, and whether some requests are more urgent than others or the config has what it may have besides. */
  readonly policy?: PolicyName;
  readonly urgency?: boolean;
  readonly extras?: boolean;
  /** Whether it shows where the config is read again and again. */
  readonly reloads?: boolean;
  /** Whether it shows where models may be put away with requests in flight. */
  readonly freezes?: boolean;
  /** Whether it shows where models may come in while others still leave. */
  readonly overlap?: boolean;
  /** Whether it shows where another catnap takes the engines over. */
  readonly handovers?: boolean;
};

/** Mutants of one file of the core. */
export const of =
  (
    file: Mutant['file'],
    where: Pick<Mutant, 'policy' | 'urgency' | 'extras' | 'reloads' | 'freezes' | 'overlap' | 'handovers'> = {},
  ) =>
  (name: string, find: string, replace: string): Mutant => ({ name, file, find, replace, ...where });
