/** One guard of the core taken out. `find` occurs exactly once in the file, so that a mutant cannot outlive the guard unnoticed. */
export type Mutant = {
  /** What goes wrong, in words. */
  readonly name: string;
  readonly file: 'engine.ts' | 'lane.ts' | 'member.ts' | 'stage.ts' | 'swap.ts' | 'cast.ts' | 'policy/fifo.ts';
  readonly find: string;
  readonly replace: string;
};

/** Mutants of one file of the core. */
export const of =
  (file: Mutant['file']) =>
  (name: string, find: string, replace: string): Mutant => ({ name, file, find, replace });
