import { z } from 'zod';
import type { BareSocket } from '../../adapters/ipc.ts';
import { ticketId } from '../../core/kinds.ts';
import { PORTS } from '../listeners.ts';

/** The number of this language. A catnap that speaks another one does not take over. */
export const PROTOCOL = 2;

const ticket = z.int().transform(ticketId);

const Port = z.enum(PORTS);

/** Where a port was asked to be, which may be any free one, and where it is. */
const Place = z.object({ port: Port, host: z.string(), number: z.int(), at: z.int() });

/** What two catnaps say to each other, of which one follows the other. */
export const Said = z.discriminatedUnion('kind', [
  // The one that comes.
  z.object({ kind: z.literal('ready'), protocol: z.int(), version: z.string() }),
  z.object({ kind: z.literal('refused'), why: z.array(z.string()) }),
  z.object({ kind: z.literal('taken') }),
  z.object({
    kind: z.literal('cut'),
    tickets: z.array(ticket),
    code: z.enum(['engine_died', 'drained', 'shutting_down', 'restarting']),
    reason: z.string(),
    mayReturn: z.boolean(),
  }),
  // The one that goes.
  z.object({ kind: z.literal('take'), handover: z.unknown(), places: z.array(Place) }),
  z.object({ kind: z.literal('socket'), port: Port }),
  z.object({ kind: z.literal('settled'), ticket }),
  z.object({ kind: z.literal('connection'), port: Port }),
  // It was told to stop as it ceased to serve.
  z.object({ kind: z.literal('stop'), by: z.string() }),
  // Whoever made both: one of them has ended.
  z.object({ kind: z.literal('gone'), why: z.string() }),
]);
export type Said = z.infer<typeof Said>;
export type Word<Kind extends Said['kind']> = Extract<Said, { readonly kind: Kind }>;

/** Whom one of them has on either side. */
export const Side = z.enum(['before', 'after']);
export type Side = z.infer<typeof Side>;

export type Hear = (from: Side, said: Said, socket: BareSocket | undefined) => void;

/** The line of catnaps that follow each other, as one of them sees it. */
export interface Line {
  /** Makes a fresh catnap, of which is heard as of the one after. */
  begin(): void;
  /** Ends the one after, which has not taken over. It is heard of once it is gone. */
  callOff(): void;
  send(to: Side, said: Said, socket?: BareSocket): Promise<void>;
  /** Calls this in place of what was called before. */
  hear(listener: Hear): void;
}
