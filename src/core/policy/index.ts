import { costAware } from './cost-aware.ts';
import { fifo } from './fifo.ts';
import type { Policy, PolicyTerms } from './policy.ts';
import { slack } from './slack.ts';
import { timeSlice } from './time-slice.ts';

/** The policies by their names in the config. */
export const POLICIES = {
  fifo: () => fifo,
  cost_aware: costAware,
  time_slice: timeSlice,
  slack,
} as const satisfies Record<string, (terms: PolicyTerms) => Policy>;

export type PolicyName = keyof typeof POLICIES;

export const POLICY_NAMES = ['fifo', 'cost_aware', 'time_slice', 'slack'] as const satisfies readonly PolicyName[];
