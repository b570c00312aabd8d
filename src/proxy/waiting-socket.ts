import type { Duplex } from 'node:stream';
import { CLIENT_HAS_LEFT } from './record.ts';

/** A well-behaved client says nothing before it is answered; this much is kept for the others. */
const MOST_EARLY_BYTES = 65_536;

/** The socket of a client that waits to be connected. It is read all the while, since only reading tells that the client has left. */
export class WaitingSocket {
  readonly #socket: Duplex;
  readonly #leaving = new AbortController();
  readonly #early: Buffer[];
  #bytes: number;

  /** `head` is what came in one packet with the request. */
  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    this.#early = [head];
    this.#bytes = head.length;
    socket.on('data', this.#take).once('end', this.#leave).once('close', this.#leave);
  }

  /** Aborted when the client has left, or says too much too soon. */
  get signal(): AbortSignal {
    return this.#leaving.signal;
  }

  /** Hands it over as if nothing had been read. */
  release(): void {
    this.#socket.off('data', this.#take).off('end', this.#leave).off('close', this.#leave).pause();
    this.#socket.unshift(Buffer.concat(this.#early));
  }

  /** Aborts the signal for another reason, and leaves the socket as it is. */
  leave(why: Error): void {
    this.#leaving.abort(why);
  }

  readonly #take = (chunk: Buffer): void => {
    this.#early.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > MOST_EARLY_BYTES) this.#leave();
  };

  readonly #leave = (): void => {
    this.#socket.destroy();
    this.#leaving.abort(CLIENT_HAS_LEFT);
  };
}
