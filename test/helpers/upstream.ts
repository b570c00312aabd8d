import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createRawServer, type Server as RawServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A server in the engine's place. */
export type Upstream = {
  readonly origin: string;
  /** How many connections it was ever given. */
  readonly connections: () => number;
  /** How many are open now. */
  readonly open: () => number;
  readonly close: () => Promise<void>;
};

/** What an engine was asked, read to its end. */
export type Seen = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
};

/** Speaks HTTP properly unless the listener takes the socket and does otherwise. */
export function httpUpstream(listener: RequestListener): Promise<Upstream> {
  return started(createServer({ keepAliveTimeout: 60_000 }, listener));
}

/** Says whatever it likes. */
export function rawUpstream(onSocket: (socket: Socket) => void): Promise<Upstream> {
  return started(
    createRawServer((socket) => {
      socket.on('error', () => {});
      onSocket(socket);
    }),
  );
}

export async function seen(req: IncomingMessage): Promise<Seen> {
  const body = await buffer(req);
  return { method: req.method ?? '', url: req.url ?? '', headers: req.headers, rawHeaders: req.rawHeaders, body };
}

async function started(server: Server | RawServer): Promise<Upstream> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    origin: `http://127.0.0.1:${port}`,
    connections: () => connections,
    open: () => sockets.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
