import type { ErrorCode } from '../core/errors.ts';
import { after, type Millis, type ModelId } from '../core/kinds.ts';
import type { Outcome } from '../core/outcome.ts';
import type { RequestLeg, RequestSight } from '../ports/open-requests.ts';
import { actOf } from '../access/act.ts';
import type { Entry } from '../access/door.ts';
import type { IncomingMessage } from 'node:http';
import type { Call } from './ask.ts';
import type { Gate } from './gate.ts';
import { wishesOf } from './wishes.ts';

/** The status in the record of a client that had left. */
export const CLIENT_LEFT = 499;

/** The reason of the signal of a request whose client has left. */
export const CLIENT_HAS_LEFT = new Error('the client has left');

/** The reason of the signal of a request whose body ceased to be HTTP, and which was answered with this status for it. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable';
  readonly status: number;
  constructor(status: number) {
    super('the request could not be read to its end');
    this.status = status;
  }
}

/** How a request ended. */
export type End = {
  readonly outcome: Outcome;
  readonly status: number;
  readonly code?: ErrorCode;
  readonly firstByteMs?: number;
};

/** What becomes known of a request while it lives. */
export type Tally = {
  model?: ModelId;
  leg: RequestLeg;
  /** Since when it waits for its turn, or has waited. */
  waitsFrom?: Millis;
  queuedMs: number;
  bytesIn: number;
  bytesOut: number;
  chunksOut: number;
};

export const newTally = (): Tally => ({ leg: 'arriving', queuedMs: 0, bytesIn: 0, bytesOut: 0, chunksOut: 0 });

export type Begun = {
  readonly id: string;
  readonly at: Millis;
  readonly method: string;
  readonly path: string;
  /** The name of the key it came with. */
  readonly key: string | undefined;
};

/** What operators see of a request that has not ended yet. */
export function sightOf(
  { clock, limits }: Pick<Gate, 'clock' | 'limits'>,
  { req, entry }: { readonly req: IncomingMessage; readonly entry: Entry },
  begun: Begun,
  tally: Tally,
): Omit<RequestSight, 'number'> {
  const { leg, waitsFrom, queuedMs, model, bytesIn, bytesOut, chunksOut } = tally;
  const wishes = wishesOf(req.headers, limits.maxPriority, entry.visitor.waiting);
  const { priority = 'normal', withinMs } = 'code' in wishes ? {} : wishes;
  return {
    ...begun,
    client: req.socket.remoteAddress,
    model,
    leg,
    waitedMs: leg === 'waiting' && waitsFrom !== undefined ? clock.now() - waitsFrom : queuedMs,
    priority,
    deadline: withinMs === undefined || waitsFrom === undefined ? undefined : after(waitsFrom, withinMs),
    bytesIn,
    bytesOut,
    chunksOut,
  };
}

/** Tells of a request that has ended. Called once for each. */
export function report({ reporter, clock }: Gate, begun: Begun, tally: Tally, end: End): void {
  reporter.report({
    kind: 'request-ended',
    request: {
      id: begun.id,
      method: begun.method,
      path: begun.path,
      key: begun.key,
      model: tally.model,
      outcome: end.outcome,
      status: end.status,
      code: end.code,
      queuedMs: tally.queuedMs,
      firstByteMs: end.firstByteMs,
      totalMs: clock.now() - begun.at,
      bytesIn: tally.bytesIn,
      bytesOut: tally.bytesOut,
    },
  });
}

/** Tells what somebody did who may steer catnap, or tried to without. */
export function tellAct({ reporter }: Pick<Gate, 'reporter'>, { req, arrival, entry }: Acted, status: number): void {
  const action = `${req.method ?? ''} ${pathOf(req.url)}`;
  const peer = req.socket.remoteAddress ?? 'unknown';
  const { model, terms } = actOf(req);
  const act = { request: arrival.id, key: entry.visitor.name, peer, action, model, terms, status };
  reporter.report({ kind: 'admin-acted', ...act });
}

type Acted = Pick<Call, 'req' | 'arrival' | 'entry'>;

/** The path of a target, without its query, which may hold what is not for logs. */
export const pathOf = (url: string | undefined): string => (url ?? '').split('?', 1)[0] ?? '';
