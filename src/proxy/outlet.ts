import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Piece } from './answer-reader.ts';
import { atTurnEnd } from './turn.ts';

/** Whole answers up to this size leave as one string with their head. */
const ONE_PIECE = 16_384;

/**
 * The body of an answer on its way out. What came in whole chunks and leaves in chunks goes to the socket as it stands, past the
 * response object, which would take each apart and put it together again; the end of the body stays the response's to write.
 */
export class Outlet {
  readonly #res: ServerResponse;
  #begun = false;
  #corked = false;
  /** The whole body, where it came in one piece. */
  #all: Buffer | undefined;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  /** False: the client is slower than this; `onDrain` tells when it has caught up. */
  write(piece: Piece): boolean {
    const first = !this.#begun;
    this.#begun = true;
    if (first && isWhole(piece) && !this.#res.chunkedEncoding) {
      this.#all = piece.payload[0];
      return true;
    }
    const socket = piece.framed === undefined || !this.#res.chunkedEncoding ? null : this.#res.socket;
    return socket === null || piece.framed === undefined
      ? this.#writePayload(piece.payload)
      : this.#splice(socket, piece.framed, first);
  }

  end(): void {
    const [res, all] = [this.#res, this.#all];
    // The response joins a string to its head, and a Buffer it would write beside it.
    atTurnEnd(() => (all === undefined ? res.end() : res.end(all.toString('latin1'), 'latin1')));
  }

  /** Calls `run` once, when more may be written. Returns how to call that off. */
  onDrain(run: () => void): () => void {
    // Either is told, depending on which of them the last bytes were given to.
    const { socket } = this.#res;
    const sources: readonly (ServerResponse | Socket)[] = socket === null ? [this.#res] : [this.#res, socket];
    const off = (): void => {
      for (const source of sources) source.off('drain', once);
    };
    const once = (): void => {
      off();
      run();
    };
    for (const source of sources) source.on('drain', once);
    return off;
  }

  #splice(socket: Socket, framed: Buffer, first: boolean): boolean {
    if (!this.#corked) {
      this.#corked = true;
      socket.cork();
      atTurnEnd(() => {
        this.#corked = false;
        socket.uncork();
      });
    }
    // The head may not have left yet.
    if (first) this.#res.flushHeaders();
    return socket.write(framed);
  }

  #writePayload(payload: readonly Buffer[]): boolean {
    let more = true;
    for (const part of payload) more = this.#res.write(part);
    return more;
  }
}

const isWhole = ({ last, payload }: Piece): boolean =>
  last && payload.length === 1 && (payload[0]?.length ?? 0) <= ONE_PIECE;
