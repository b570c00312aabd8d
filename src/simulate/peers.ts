import { isBusy } from '../core/cast.ts';
import { makeRoom } from '../core/leavers.ts';
import { stay, type Policy } from '../core/policy/policy.ts';

/** How other servers choose, as far as their waits depend on it: for comparison only, no config can name these. */
export const PEERS = {
  /** llmux 2.4: whoever asks for another model has the one that is on drained at once. */
  'llmux fifo': (sight) => {
    const [first] = sight.candidates;
    const leavers = first && makeRoom(sight, first);
    if (first === undefined || leavers === undefined) return stay;
    return { kind: 'swap', to: first.model, evict: leavers.map(({ model }) => model), batch: 'none' };
  },
  /** llama-swap: requests for the model that is on always pass; it goes when it has nothing to do, for the one that has waited longest. */
  'llama-swap': (sight) => {
    const [first] = sight.candidates;
    const leavers = first && makeRoom(sight, first);
    if (first === undefined || leavers === undefined || leavers.some(isBusy)) return stay;
    return { kind: 'swap', to: first.model, evict: leavers.map(({ model }) => model), batch: 'none' };
  },
} as const satisfies Record<string, Policy>;
