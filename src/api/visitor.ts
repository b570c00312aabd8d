import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import { Visitor } from '../access/visitor.ts';
import { refuse } from './refusal.ts';

/** What the handlers of the control planes know besides the request. */
export type Visited = { Bindings: HttpBindings };

const visitors = new WeakMap<IncomingMessage, Visitor>();
const NOBODY = new Visitor('nobody', () => ({ code: 'forbidden', message: 'Nobody is known to have asked this.' }));

/** Keeps who has made a request, for those who answer it. */
export function remember(req: IncomingMessage, visitor: Visitor): void {
  visitors.set(req, visitor);
}

/** Who has made the request, as the door has found. */
export const visitorOf = (c: Context<Visited>): Visitor => visitors.get(c.env.incoming) ?? NOBODY;

/** What only operators may use. The door has asked before; this holds whatever path led here. */
export const operatorsOnly: MiddlewareHandler<Visited> = async (c, next) => {
  const denial = visitorOf(c).maySteer();
  return denial === undefined ? next() : refuse(c, denial.code, denial.message);
};
