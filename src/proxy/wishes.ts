import type { IncomingHttpHeaders } from 'node:http';
import { AS_ALL_DO, type Waiting } from '../access/key.ts';
import { PRIORITIES, type Priority } from '../core/place.ts';
import type { TicketTerms } from '../core/stage-events.ts';
import type { Refusal } from './envelope.ts';

const PRIORITY = 'x-catnap-priority';
const SWAP = 'x-catnap-swap';
const DEADLINE = 'x-catnap-deadline-secs';
const NEXT = 'x-catnap-next';

/** Headers in which a client says how its request is to wait. They are for catnap and not for engines. */
export const WISHES: readonly string[] = [PRIORITY, SWAP, DEADLINE, NEXT];

/** The model that the client says it asks for next; undefined where it says nothing. */
export function nextOf({ [NEXT]: next }: IncomingHttpHeaders): string | undefined {
  return typeof next === 'string' && next !== '' ? next : undefined;
}

/** How a request is to wait for its turn, as far as its client may say, and as its key has it. */
export function wishesOf(
  headers: IncomingHttpHeaders,
  most: Priority,
  { maySwap, priority: own }: Waiting = AS_ALL_DO,
): TicketTerms | Refusal {
  const { [PRIORITY]: priority, [SWAP]: swap, [DEADLINE]: deadline } = headers;
  if (priority === undefined && swap === undefined && deadline === undefined) {
    return maySwap && own === undefined ? {} : { priority: own ?? 'normal', bound: !maySwap };
  }
  const asked = PRIORITIES.find((other) => other === (priority ?? own ?? 'normal'));
  const highest = own ?? most;
  if (asked === undefined) return wrong(PRIORITY, PRIORITIES.join(', '));
  if (swap !== undefined && swap !== 'never' && swap !== 'allowed') return wrong(SWAP, 'never, allowed');
  const withinMs = deadline === undefined ? undefined : Number(deadline) * 1_000;
  if (withinMs !== undefined && !(withinMs > 0)) return wrong(DEADLINE, 'a number of seconds above 0');
  return {
    priority: PRIORITIES.indexOf(asked) > PRIORITIES.indexOf(highest) ? highest : asked,
    bound: swap === 'never' || !maySwap,
    withinMs,
  };
}

const wrong = (header: string, values: string): Refusal => ({
  code: 'invalid_request',
  message: `The header ${header} takes one of: ${values}.`,
  param: header,
});
