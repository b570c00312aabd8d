import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Entry } from '../access/door.ts';
import type { MayUse } from '../access/key.ts';
import { ERRORS } from '../core/errors.ts';
import type { Millis } from '../core/kinds.ts';
import type { Outcome } from '../core/outcome.ts';
import type { RequestSight } from '../ports/open-requests.ts';
import { admit } from './admit.ts';
import { writeRaw } from './client-error.ts';
import { OUR_BUG, renderRefusal, type Refusal } from './envelope.ts';
import type { Gate } from './gate.ts';
import { lookUp } from './meant.ts';
import { CLIENT_LEFT, newTally, pathOf, report, sightOf, type Begun, type End, type Tally } from './record.ts';
import { CANCELLATION, CANCELLED, type OpenRequest } from './request-book.ts';
import { routeUpstream } from './route-upstream.ts';
import { routeUpgrade, type Route } from './route.ts';
import { renameInTarget } from './target.ts';
import { tunnel } from './tunnel.ts';
import { WaitingSocket } from './waiting-socket.ts';
import { wishesOf } from './wishes.ts';

export type UpgradeCall = {
  readonly req: IncomingMessage;
  readonly socket: Duplex;
  /** What came in one packet with the request. */
  readonly head: Buffer;
  readonly id: string;
  readonly at: Millis;
  /** Whose it is, and what the door said to him. */
  readonly entry: Entry;
};

/** Whether a request asks for a WebSocket. Other upgrades are not offered, so such requests are answered as if they had not asked. */
export const isWebSocket = (req: IncomingMessage): boolean => req.headers.upgrade?.trim().toLowerCase() === 'websocket';

/** One WebSocket from its request to its record. It holds a lease as long as it is open. Never rejects. */
export async function upgrade(gate: Gate, call: UpgradeCall): Promise<void> {
  const { req, socket, id, at } = call;
  // What becomes of the socket is told by its `close`.
  socket.on('error', () => {});
  // Taken now, since the request is rewritten for the engine.
  const { denial, visitor } = call.entry;
  const begun = { id, at, method: req.method ?? '', path: pathOf(req.url), key: visitor.name };
  const open = new OpenUpgrade(gate, call, begun);
  const number = gate.requests.add(open);
  const done = denial ?? visitor.begin();
  let end: End;
  try {
    end = typeof done === 'function' ? await live(gate, call, open) : refuse(call, done, 'rejected');
  } catch (error) {
    end = refuse(call, OUR_BUG, 'failed');
    gate.bug(error);
  } finally {
    if (typeof done === 'function') done();
  }
  if (end.code === CANCELLED.code) end = { ...end, outcome: 'cancelled' };
  gate.requests.remove(number);
  report(gate, begun, open.tally, end);
  open.ended.resolve(end.outcome);
}

/** What operators see of it, and how they end it. */
class OpenUpgrade implements OpenRequest {
  readonly tally: Tally = newTally();
  readonly ended = Promise.withResolvers<Outcome>();
  waiting: WaitingSocket | undefined;
  readonly #gate: Gate;
  readonly #call: UpgradeCall;
  readonly #begun: Begun;

  constructor(gate: Gate, call: UpgradeCall, begun: Begun) {
    this.#gate = gate;
    this.#call = call;
    this.#begun = begun;
  }

  sight(number: number): RequestSight {
    return { number, ...sightOf(this.#gate, this.#call, this.#begun, this.tally) };
  }

  cancel(): Promise<Outcome> {
    this.waiting?.leave(CANCELLATION);
    return this.ended.promise;
  }
}

async function live(gate: Gate, call: UpgradeCall, open: OpenUpgrade): Promise<End> {
  const { req, id, socket, head } = call;
  const { tally } = open;
  const { mayUse } = call.entry.visitor;
  const route = routeOf(gate, req, mayUse);
  if (route.kind === 'refused') return refuse(call, route.refusal, 'rejected');
  const name = route.named.in === 'path' ? route.named.name : (route.named.query ?? '');
  const target = lookUp(gate, name, mayUse);
  if ('code' in target) return refuse(call, target, 'rejected');
  tally.model = target.model;

  const waiting = new WaitingSocket(socket, head);
  open.waiting = waiting;
  const waitedFrom = gate.clock.now();
  tally.leg = 'waiting';
  tally.waitsFrom = waitedFrom;
  const wishes = wishesOf(req.headers, gate.limits.maxPriority, call.entry.visitor.waiting);
  const admitted = await admit(gate, target.model, { signal: waiting.signal, wishes, mayUse });
  tally.queuedMs = gate.clock.now() - waitedFrom;
  tally.leg = 'granted';
  if (waiting.signal.reason === CANCELLATION && admitted.kind === 'left') return refuse(call, CANCELLED, 'cancelled');
  if (admitted.kind === 'left') return { outcome: 'abandoned', status: CLIENT_LEFT };
  if (admitted.kind === 'refused') return refuse(call, admitted.refusal, admitted.outcome);

  const { lease } = admitted;
  let outcome: Outcome = 'failed';
  try {
    const end = await tunnel({
      id,
      req,
      socket,
      waiting,
      path: route.named.in === 'path' ? route.target : renameInTarget(route.target, lease.backend.servedName ?? name),
      lease,
      clock: gate.clock,
      connectMs: gate.limits.connectMs,
      responseMs: target.responseMs,
      totalMs: target.totalMs,
      tally,
      retryAfterMs: gate.retryAfterMs(lease.model),
      refuse: (refusal) => refuse(call, refusal, 'failed'),
    });
    outcome = end.outcome;
    return end;
  } finally {
    lease.settle(outcome);
  }
}

type UpgradeRoute = Exclude<Route, { readonly kind: 'moved' }>;

function routeOf(
  gate: Gate,
  { method = '', url = '', headers }: IncomingMessage,
  mayUse: MayUse | undefined,
): UpgradeRoute {
  const head = { method, url, headers };
  const { assets } = gate;
  const route =
    routeUpstream(head, { assets, isModel: (name) => gate.find(name, mayUse) !== undefined }) ?? routeUpgrade(head);
  if (route.kind !== 'moved') return route;
  const message = `There is no WebSocket at ${url}. Add the path on the model's server.`;
  return { kind: 'refused', dialect: 'openai', refusal: { code: 'not_found', message } };
}

function refuse({ socket, id }: UpgradeCall, refusal: Refusal, outcome: Outcome): End {
  const rendered = renderRefusal(refusal, 'openai', id);
  // RFC 9110, 15.5.22: it must say what would be spoken instead.
  const instead = refusal.code === 'websocket_unsupported' ? { connection: 'close, upgrade', upgrade: 'HTTP/1.1' } : {};
  writeRaw(socket, { ...rendered, headers: { ...rendered.headers, ...instead } });
  return { outcome, status: ERRORS[refusal.code].status, code: refusal.code };
}
