import { fifo } from './fifo.ts';
import type { Policy } from './policy.ts';

/** The policies by their names in the config. */
export const POLICIES = { fifo } as const satisfies Record<string, Policy>;
