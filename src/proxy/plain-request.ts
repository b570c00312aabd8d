import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

/** About the upgrade alone; `host`, framing and everything else stay. */
const ABOUT_UPGRADE = new Set(['connection', 'http2-settings', 'upgrade']);

/**
 * Reads a request anew as one that asks for no upgrade. A Node before 24.9 stops reading at every `Upgrade`,
 * and many Java clients ask for HTTP/2 that way with each request.
 */
export function readAsPlain(server: EventEmitter, req: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${req.method} ${req.url} HTTP/${req.httpVersion}`];
  for (let i = 0; i + 1 < req.rawHeaders.length; i += 2) {
    const name = req.rawHeaders[i] ?? '';
    if (!ABOUT_UPGRADE.has(name.toLowerCase())) lines.push(`${name}: ${req.rawHeaders[i + 1]}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit(socket instanceof TLSSocket ? 'secureConnection' : 'connection', socket);
}
