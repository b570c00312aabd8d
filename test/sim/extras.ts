import { Random } from '../../src/simulate/random.ts';

/** What the config may switch on besides. Worlds have it only where it is asked for, so that the others stay as they are. */
export type Extras = {
  /** How many of those who are cut by the deadline of a drain have had no byte, and come back. */
  readonly returns: number;
};

const NONE: Extras = { returns: 0 };

export function drawExtras(seed: number, wanted: boolean): Extras {
  if (!wanted) return NONE;
  const random = new Random(seed ^ 0x27d4eb2f);
  return { returns: random.pick([0, 0.5, 1]) };
}
