import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Takes a connection away. Resolves when it is another process's. */
export type Taker = (connection: Socket) => Promise<void>;

/**
 * Client connections on which nothing is under way, and of which nothing has been read that was not answered: they mean the same to any process. One
 * over which a request came before the last was answered is never among them, since more of it may have been read; and none that is encrypted is.
 */
export class IdleConnections {
  /** Those that may be given. */
  readonly #plain = new WeakSet<Socket>();
  /** With how much had been read of each. */
  readonly #idle = new Map<Socket, number>();
  #taker: Taker | undefined;

  came(connection: Socket): void {
    this.#plain.add(connection);
    this.#idle.set(connection, connection.bytesRead);
    connection.once('close', () => this.#idle.delete(connection));
  }

  /** A request has come, while so many others were open on its connection. */
  asked({ socket }: IncomingMessage, others: number): void {
    this.#idle.delete(socket);
    if (others > 0) this.#plain.delete(socket);
  }

  /** An answer is over. Where connections are taken away, one that cannot be is ended. */
  answered({ req, res }: { readonly req: IncomingMessage; readonly res: ServerResponse }, others: number): void {
    const { socket } = req;
    if (socket.destroyed || others > 0) return;
    if (req.complete && res.shouldKeepAlive && this.#plain.has(socket)) {
      this.#idle.set(socket, socket.bytesRead);
      if (this.#taker !== undefined) void this.#give(this.#taker);
    } else if (this.#taker !== undefined) socket.end();
  }

  /** Has those that are idle taken away, and from now on each that comes to be. */
  giveTo(taker: Taker): Promise<unknown> {
    this.#taker = taker;
    return this.#give(taker);
  }

  #give(taker: Taker): Promise<unknown> {
    const unread = [...this.#idle].filter(([{ destroyed, bytesRead }, read]) => !destroyed && bytesRead === read);
    this.#idle.clear();
    return Promise.all(unread.map(([connection]) => taker(connection)));
  }
}
