import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { createProxyServer } from 'http-proxy-3';
import type { Clock } from '../ports/clock.ts';
import type { Lease } from '../runtime/admission.ts';
import type { Refusal } from './envelope.ts';
import { Halting } from './halting.ts';
import { forwarded, staysHere } from './headers.ts';
import { CLIENT_LEFT, type End, type Tally } from './record.ts';
import type { WaitingSocket } from './waiting-socket.ts';

export type TunnelTerms = {
  readonly id: string;
  readonly req: IncomingMessage;
  readonly socket: Duplex;
  /** Watches the socket until it is connected. */
  readonly waiting: WaitingSocket;
  /** The path and query for the engine, without its base path. */
  readonly path: string;
  readonly lease: Lease;
  readonly clock: Clock;
  readonly connectMs: number;
  readonly responseMs: number;
  readonly totalMs: number;
  readonly retryAfterMs: number;
  /** What has come of the engine's side. */
  readonly tally: Tally;
  /** Answers in place of the engine. Called at most once, before anything was written. */
  readonly refuse: (refusal: Refusal) => End;
};

/** Connects a client's socket with an engine's, until either is closed or the lease is cut. Settles once, when the client's is closed. */
export function tunnel(terms: TunnelTerms): Promise<End> {
  return new Tunnel(terms).closed;
}

class Tunnel {
  readonly #terms: TunnelTerms;
  readonly #halting: Halting;
  readonly #closed = Promise.withResolvers<End>();
  #upstream: { destroy(): unknown } | undefined;
  #stage: 'asking' | 'refused' | 'answered' | 'open' = 'asking';
  #end: End = { outcome: 'aborted', status: CLIENT_LEFT };

  constructor(terms: TunnelTerms) {
    this.#terms = terms;
    const { socket, lease, clock } = terms;
    const { gone } = lease.backend;
    this.#halting = new Halting(
      { ...terms, idleMs: Number.POSITIVE_INFINITY, signal: terms.waiting.signal },
      clock.now(),
    );
    socket.once('close', () => this.#close());
    if (socket.destroyed) {
      this.#close();
      return;
    }
    this.#halting.signal.addEventListener('abort', this.#halted, { once: true });
    gone.addEventListener('abort', this.#gone, { once: true });
    if (this.#halting.why !== undefined) this.#halted();
    else if (gone.aborted) this.#gone();
    else this.#connect();
  }

  get closed(): Promise<End> {
    return this.#closed.promise;
  }

  #connect(): void {
    const { id, req, socket, lease, connectMs, path } = this.#terms;
    const { origin, headers } = lease.backend;
    const also = Object.fromEntries(forwarded(req));
    for (const name of Object.keys(req.headers)) if (staysHere(name)) delete req.headers[name];
    req.headers.connection = 'Upgrade';
    req.url = path;
    const proxy = createProxyServer();
    proxy.on('proxyReqWs', (request) => this.#asked(request));
    proxy.on('open', (upstream) => this.#opened(upstream));
    proxy.on('error', () => this.#lost());
    proxy.ws(req, socket, Buffer.alloc(0), {
      target: origin,
      changeOrigin: true,
      connectTimeout: connectMs,
      headers: { ...also, ...headers, 'x-request-id': id },
    });
  }

  #asked(request: ClientRequest): void {
    const { id, socket, waiting } = this.#terms;
    this.#upstream = request;
    request.once('upgrade', (answer: IncomingMessage) => {
      answer.headers['x-request-id'] = id;
      waiting.release();
    });
    // The engine does not want a WebSocket: what it says instead is passed on.
    request.once('response', (answer) => {
      this.#stage = 'answered';
      this.#end = { outcome: 'served', status: answer.statusCode ?? 0 };
      this.#halting.begun();
      answer.headers['x-request-id'] = id;
      answer.once('close', () => {
        if (answer.complete) endSoon(socket);
        else this.#lost();
      });
    });
  }

  #opened(upstream: Duplex): void {
    const { lease, socket, tally } = this.#terms;
    this.#stage = 'open';
    tally.leg = 'streaming';
    this.#end = { outcome: 'served', status: 101 };
    this.#upstream = upstream;
    this.#halting.begun();
    lease.heard();
    upstream.on('data', (chunk: Buffer) => {
      lease.heard();
      tally.bytesOut += chunk.length;
      tally.chunksOut++;
    });
    // A client that ends its side has left: nothing it could still be told would be a WebSocket message.
    socket.once('end', () => endSoon(upstream));
    upstream.once('close', () => endSoon(socket));
  }

  readonly #halted = (): void => {
    const { why } = this.#halting;
    if (why !== undefined && why !== 'client-left') this.#stop(why);
  };

  readonly #gone = (): void => {
    const { lease, retryAfterMs } = this.#terms;
    const message = `The engine of ${lease.model} was lost while it served this WebSocket. Try again.`;
    this.#stop({ code: 'engine_died', message, retryAfterMs });
  };

  #lost(): void {
    const { lease, retryAfterMs } = this.#terms;
    if (this.#stage !== 'asking' || lease.backend.gone.aborted) {
      this.#gone();
      return;
    }
    const message = `The engine of ${lease.model} did not accept the WebSocket. Try again.`;
    this.#stop({ code: 'engine_unreachable', message, retryAfterMs });
  }

  /** Ends it: with an answer while there is room for one, else by closing the socket. */
  #stop(refusal: Refusal): void {
    const { socket, refuse } = this.#terms;
    if (this.#stage === 'refused' || socket.destroyed) return;
    const asking = this.#stage === 'asking';
    this.#stage = 'refused';
    this.#end = asking ? refuse(refusal) : { ...this.#end, outcome: 'broken', code: refusal.code };
    this.#upstream?.destroy();
    if (!asking) socket.destroy();
  }

  #close(): void {
    const { lease } = this.#terms;
    this.#halting.done();
    this.#halting.signal.removeEventListener('abort', this.#halted);
    lease.backend.gone.removeEventListener('abort', this.#gone);
    this.#upstream?.destroy();
    this.#closed.resolve(this.#end);
  }
}

/** Lets what was written leave first. */
function endSoon(socket: Duplex): void {
  socket.end(() => socket.destroy());
}
