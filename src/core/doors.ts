import { failureOf } from './engine.ts';
import type { RefusalCode } from './errors.ts';
import type { Member } from './member.ts';
import type { Mode } from './steering.ts';
import { wordForClients } from './trouble.ts';

/** Why a request may not get in line. */
export type Shut = { readonly code: RefusalCode; readonly reason: string };

/**
 * Whether a request may get in line for a model, or why not.
 * 1. A model that is on serves whoever asks.
 * 2. One that only operators bring in is waited for by nobody else.
 * 3. In manual mode only those are waited for that are pinned, on their way, or need no room; in automatic mode all are.
 */
export function doorOf(member: Member, mode: Mode): Shut | undefined {
  const { model } = member;
  if (member.part.kind === 'on') return undefined; // 1
  if (onlyOperatorsBring(member)) return shut(member); // 2
  if (mode.kind === 'auto' || mode.pinned === model || member.terms.cost === 0) return undefined; // 3
  if (isComing(member)) return undefined; // 3
  // The pinned model stays unnamed: whoever asks may not even know it.
  return { code: 'manual_mode', reason: `${model} is not awake; swaps are in manual mode` };
}

/** Whether no request ever brings it in, nor back. */
export const onlyOperatorsBring = ({ terms, held }: Member): boolean => terms.shut !== undefined || held;

/** Whether the next request would bring it back if it went now. */
export const comesBack = (member: Member, mode: Mode): boolean =>
  !onlyOperatorsBring(member) && (mode.kind === 'auto' || mode.pinned === member.model || member.terms.cost === 0);

function shut(member: Member): Shut {
  const { model, part, terms } = member;
  if (isComing(member)) return { code: 'model_loading', reason: `${model} is being loaded` };
  for (const phase of member.phases.values()) {
    const failure = failureOf(phase);
    if (failure !== undefined)
      return { code: 'model_failed', reason: `${model} has failed: ${wordForClients(failure)}` };
  }
  if (part.kind !== 'out') return { code: 'model_unloading', reason: `${model} is being put away` };
  return terms.shut === 'model_disabled'
    ? { code: 'model_disabled', reason: `${model} is disabled in the config, and only an operator loads it` }
    : { code: 'model_not_loaded', reason: `${model} is not loaded, and requests do not load it` };
}

/** Whether it is on its way in, or an operator waits for it to be. */
const isComing = ({ part, lane }: Member): boolean =>
  part.kind === 'summoned' || part.kind === 'entering' || lane.hasLoad;
