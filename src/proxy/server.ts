import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, Server as SecureServer, type ServerOptions } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Door, Entry } from '../access/door.ts';
import type { Visitor } from '../access/visitor.ts';
import { after } from '../core/kinds.ts';
import { answerClientError } from './client-error.ts';
import type { Call } from './ask.ts';
import { Cors } from './cors.ts';
import { renderRefusal } from './envelope.ts';
import type { Arrival, Gate } from './gate.ts';
import { IdleConnections, type Taker } from './idle-connections.ts';
import { infer } from './infer.ts';
import { readAsPlain } from './plain-request.ts';
import { Pools } from './pools.ts';
import { CLIENT_HAS_LEFT, CLIENT_LEFT, tellAct, Unreadable } from './record.ts';
import { refuse } from './refuse.ts';
import { isRead } from './route.ts';
import { requestId } from './request-id.ts';
import { isWebSocket, upgrade } from './upgrade.ts';

/** Everything on this port that is not inference: answers the request if its path is one of its own, and says whether it was. */
export type ControlPlane = (req: IncomingMessage, res: ServerResponse, visitor: Visitor) => boolean;

export type ListenerOptions = {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** What another process has listened on before: clients may queue at it. It is listened on in place of the port. */
  readonly socket?: object | undefined;
  /** The key of the config that sets it, or the option of the command line. */
  readonly key?: string;
  /** A certificate and its key in PEM: then it speaks HTTPS, and HTTP/1.1 alone. */
  readonly tls?: Tls | undefined;
  readonly gate: Gate;
  readonly control: ControlPlane;
  /** Who may use what of it. */
  readonly door: Door;
};

type Tls = { readonly cert: string; readonly key: string };
const SECURITY = { minVersion: 'TLSv1.2' } as const;

/** An answer that is under way, and what to call when its connection closes. */
type Open = { readonly req: IncomingMessage; readonly res: ServerResponse; readonly leave: (why?: Error) => void };

/** The port clients talk to. */
export class Listener {
  #gate: Gate;
  #control: ControlPlane;
  #door: Door;
  readonly #pools: Pools;
  #cors: Cors;
  readonly #server: Server | SecureServer;
  /** The connections below TLS, those in the middle of a handshake included. */
  readonly #secured = new Set<Duplex>();
  /** The answers that are under way on each client connection. */
  readonly #open = new Map<Duplex, Open[]>();
  readonly #upgraded = new Set<Duplex>();
  /** The requests that have not been told of yet. */
  readonly #running = new Set<Promise<void>>();
  readonly #closed = Promise.withResolvers<void>();
  readonly #idle = new IdleConnections();
  #closing = false;
  #listens = true;

  /** Rejects with a message that says what to change when the address cannot be had. */
  static async open(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options);
    await listener.#listen(options);
    return listener;
  }

  private constructor({ gate, control, door, tls }: ListenerOptions) {
    const { maxHeaderBytes, headerMs, connectMs } = gate.limits;
    this.#gate = gate;
    this.#control = control;
    this.#door = door;
    this.#pools = new Pools(connectMs);
    this.#cors = new Cors(gate.corsOrigins);
    const options: ServerOptions = {
      noDelay: true,
      maxHeaderSize: maxHeaderBytes,
      connectionsCheckingInterval: Math.min(1_000, Math.ceil(headerMs / 4)),
      shouldUpgradeCallback: isWebSocket,
    };
    if (tls === undefined) this.#server = createServer(options).on('connection', (socket) => this.#idle.came(socket));
    else {
      const handshakeTimeout = Math.ceil(headerMs);
      this.#server = createSecureServer({
        ...options,
        ...tls,
        ...SECURITY,
        ALPNProtocols: ['http/1.1'],
        handshakeTimeout,
      });
      this.#server
        .on('connection', (socket: Duplex) => this.#follow(socket))
        .on('tlsClientError', (error: Error) => this.#clientWrong(`no TLS connection: ${error.message}`));
    }
    this.#bound(gate.limits);
    this.#server
      .on('request', (req, res) => this.#request(req, res, false))
      .on('checkContinue', (req: IncomingMessage, res: ServerResponse) => this.#request(req, res, true))
      .on('upgrade', (req, socket, head) => this.#upgrade(req, socket, head))
      .on('clientError', (error, socket) => this.#clientError(error, socket))
      .on('drop', () => {
        const { maxConnections } = this.#gate.limits;
        this.#clientWrong(`refused a connection: ${maxConnections} are open (max_connections)`);
      });
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  get server(): Server {
    return this.#server;
  }

  /**
   * Takes no more connections, lets what runs finish within the time, and ends the rest. Resolves when every request has been told of.
   * Asked again, it can only become more urgent.
   */
  async close(withinMs: number): Promise<void> {
    if (!this.#closing) {
      this.#closing = true;
      if (this.#listens) this.#server.close(() => this.#closed.resolve());
      this.#server.closeIdleConnections();
    }
    await this.#end(withinMs);
  }

  async #end(withinMs: number): Promise<void> {
    const { clock } = this.#gate;
    const cancel = clock.at(after(clock.now(), withinMs), () => {
      this.#server.closeAllConnections();
      for (const socket of this.#secured) socket.destroy();
      for (const socket of this.#upgraded) socket.destroy();
    });
    await this.#closed.promise;
    cancel();
    await Promise.all(this.#running);
    this.#pools.destroy();
  }

  /**
   * Another process listens in its place: it takes no more connections. Those that it has stay until `leave` or `close`, as it cannot be known here
   * whether a client is just asking over one.
   */
  stopListening(): void {
    this.#listens = false;
    // oxlint-disable-next-line typescript/unbound-method -- that of the HTTP server would close idle connections
    Reflect.apply(NetServer.prototype.close, this.#server, [() => this.#closed.resolve()]);
  }

  /**
   * Gives away connections that are idle, now and as they come to be, lets what runs finish within the time, and ends the rest. Those that cannot be
   * given are closed.
   */
  async leave(withinMs: number, taker: Taker): Promise<void> {
    if (this.#listens) this.stopListening();
    await this.#idle.giveTo(taker);
    this.#server.closeIdleConnections();
    await this.#end(withinMs);
  }

  /** A connection that another process had. */
  accept(socket: Socket): void {
    this.#server.emit('connection', socket);
  }

  /** Another config: requests that come from now on meet this, and those that are here keep what they met. */
  receive({ gate, control, door }: Pick<ListenerOptions, 'gate' | 'control' | 'door'>): void {
    this.#gate = gate;
    this.#control = control;
    this.#door = door;
    this.#cors = new Cors(gate.corsOrigins);
    this.#pools.connectWithin(gate.limits.connectMs);
    this.#bound(gate.limits);
    door.open();
  }

  #bound({ headerMs, bodyMs, keepAliveMs, maxConnections }: Gate['limits']): void {
    const server = this.#server;
    server.keepAliveTimeout = Math.ceil(keepAliveMs);
    server.headersTimeout = Math.ceil(headerMs);
    // Bodies have a clock of their own, which can explain itself; this one is for bodies that nobody reads.
    server.requestTimeout = Math.ceil(headerMs + 2 * bodyMs);
    server.maxConnections = maxConnections;
  }

  /** From now on new connections see this certificate; open ones stay as they are. */
  renew(tls: Tls): void {
    if (this.#server instanceof SecureServer) this.#server.setSecureContext({ ...tls, ...SECURITY });
  }

  #follow(socket: Duplex): void {
    this.#secured.add(socket);
    socket.once('close', () => this.#secured.delete(socket));
  }

  #listen({ host, port, socket, key = 'port' }: ListenerOptions): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', (error) => reject(new Error(cannotListen(error, host, port, key), { cause: error })));
    this.#server.listen(socket ?? { port, host }, () => {
      this.#server.removeAllListeners('error');
      this.#server.on('error', (error) => this.#clientWrong(error.message));
      resolve();
    });
    return promise;
  }

  #request(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void {
    const arrival = this.#arrive(req, res);
    const preflight = this.#cors.preflight(req);
    if (preflight !== undefined) {
      refuse(
        req,
        res,
        { ...preflight, headers: { ...preflight.headers, 'x-request-id': arrival.id } },
        this.#gate.clock,
      );
      return;
    }
    this.#cors.allow(req, res);
    this.#letIn(req, (entry) => this.#serve({ req, res, arrival, expectsContinue, entry }));
  }

  /** The door is asked first. Most answers come at once. */
  #letIn(req: IncomingMessage, then: (entry: Entry) => void): void {
    const entry = this.#door.enter(req);
    if (entry instanceof Promise) this.#run(entry.then(then).catch(this.#gate.bug));
    else then(entry);
  }

  #serve(call: Call): void {
    const { req, res, arrival, expectsContinue, entry } = call;
    const { denial, visitor, row, twisted } = entry;
    if (row?.access === 'admin' && row.use === 'answered' && !isRead(req.method ?? '')) {
      res.once('close', () => tellAct(this.#gate, call, res.headersSent ? res.statusCode : CLIENT_LEFT));
    }
    if (denial !== undefined && row?.use === 'answered') {
      refuse(req, res, renderRefusal(denial, 'openai', arrival.id), this.#gate.clock);
      return;
    }
    if (denial !== undefined || twisted || !this.#control(req, res, visitor)) {
      this.#run(infer(this.#gate, this.#pools, call));
      return;
    }
    if (!res.headersSent) res.setHeader('x-request-id', arrival.id);
    if (expectsContinue) res.writeContinue();
  }

  #arrive(req: IncomingMessage, res: ServerResponse): Arrival {
    const leaving = new AbortController();
    const leave = (why = CLIENT_HAS_LEFT): void => {
      if (!res.writableFinished) leaving.abort(why);
    };
    const answer = { req, res, leave };
    const open = this.#answersOn(req.socket);
    this.#idle.asked(req, open.length);
    open.push(answer);
    res.shouldKeepAlive &&= !this.#closing && this.#listens;
    // Writing to a client that has just left is no failure of anybody; its leaving is told by the signal.
    res.on('error', () => leave());
    res.once('close', () => {
      leave();
      open.splice(open.indexOf(answer), 1);
      this.#idle.answered(answer, open.length);
      if (this.#closing) this.#server.closeIdleConnections();
    });
    return { id: requestId(req.headers['x-request-id']), at: this.#gate.clock.now(), signal: leaving.signal, leave };
  }

  /** Not every Node tells a pipelined answer that waits for its turn that its connection has closed, so the connection is watched for all. */
  #answersOn(socket: Duplex): Open[] {
    const known = this.#open.get(socket);
    if (known !== undefined) return known;
    const open: Open[] = [];
    this.#open.set(socket, open);
    socket.once('close', () => {
      this.#open.delete(socket);
      for (const { leave } of [...open]) leave();
    });
    return open;
  }

  #upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!isWebSocket(req)) {
      readAsPlain(this.#server, req, socket, head);
      return;
    }
    this.#upgraded.add(socket);
    socket.once('close', () => this.#upgraded.delete(socket));
    // It may end while the door looks at it.
    socket.on('error', () => {});
    const id = requestId(req.headers['x-request-id']);
    const at = this.#gate.clock.now();
    this.#letIn(req, (entry) => this.#run(upgrade(this.#gate, { req, socket, head, id, at, entry })));
  }

  #run(request: Promise<void>): void {
    this.#running.add(request);
    void request.finally(() => this.#running.delete(request));
  }

  #clientError(error: Error, socket: Duplex): void {
    this.#clientWrong(error.message);
    const open = [...(this.#open.get(socket) ?? [])];
    // In the middle of an answer there is no room for another, unless it is the one to the body that cannot be read.
    if (!open.every(({ req, res }) => open.length === 1 && !req.complete && !res.headersSent)) {
      socket.destroy();
      return;
    }
    const status = answerClientError(error, socket);
    if (status !== undefined) open[0]?.leave(new Unreadable(status));
  }

  #clientWrong(reason: string): void {
    this.#gate.reporter.report({ kind: 'client-error', reason });
  }
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number, key: string): string {
  const where = `cannot listen on ${host}:${port}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return `${where}: another program uses it; ${set(key, 'a free one')}`;
    case 'EACCES':
      return `${where}: no permission; ${set(key, '1024 or more')}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${where}: this machine has no such address; set \`host\` to one it has`;
    default:
      return `${where}: ${error.message}`;
  }
}

const set = (key: string, value: string): string =>
  key.startsWith('-') ? `choose ${value} with \`${key}\`` : `set \`${key}\` to ${value}`;
