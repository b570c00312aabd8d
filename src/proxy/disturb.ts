import type { Visitor } from '../access/visitor.ts';
import type { ModelId } from '../core/kinds.ts';
import type { Refusal } from './envelope.ts';
import type { Gate } from './gate.ts';

/**
 * Why a request is not put in line for the sake of which nobody may be woken; undefined when it may. Asked in the turn in which it
 * joins the line: one that comes while its model is on is served before anybody else has a turn.
 */
export function wouldWake({ isOn }: Gate, { maySwap, name }: Visitor, model: ModelId): Refusal | undefined {
  if (maySwap || isOn(model)) return undefined;
  const message = `${model} is not awake, and the key ${name ?? ''} wakes no model (\`may_swap\`).`;
  return { code: 'model_not_loaded', message, param: 'model' };
}
