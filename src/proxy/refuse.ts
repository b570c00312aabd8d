import type { IncomingMessage, ServerResponse } from 'node:http';
import { after } from '../core/kinds.ts';
import type { Clock } from '../ports/clock.ts';
import type { Rendered } from './envelope.ts';

/** How long a client that is still sending is listened to after it was refused. */
const LINGER_MS = 2_000;

/** Writes an answer of ours. A client in the middle of its upload gets to read it too. */
export function refuse(req: IncomingMessage, res: ServerResponse, rendered: Rendered, clock: Clock): void {
  if (res.destroyed) return;
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const { status, headers, body } = rendered;
  if (req.complete || !announcesBody(req)) {
    res.writeHead(status, headers).end(body);
    return;
  }
  // A socket that is closed with unread bytes in it takes back what was just written to it. So the answer goes out whole,
  // what still comes is thrown away for a while, and only then the connection is closed.
  res.writeHead(status, { ...headers, connection: 'close' }).write(body);
  const end = (): void => {
    cancel();
    res.end();
  };
  const cancel = clock.at(after(clock.now(), LINGER_MS), end);
  req.once('end', end).once('close', end).resume();
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
