import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { AnswerHead } from './answer-head.ts';
import { AnswerReader, type AnswerSink, type Piece } from './answer-reader.ts';
import type { Outflow } from './outflow.ts';
import { atTurnEnd } from './turn.ts';

/** Where a backend listens. */
export type Address = {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** As it goes into the `host` header. */
  readonly authority: string;
};

/** Who sent the request that is under way. Told of its end once: `ended` or `lost`. */
export interface Asker {
  head(head: AnswerHead): void;
  /** False: no more until the connection is resumed. */
  piece(piece: Piece): boolean;
  /** `keep`: how the connection may be used again; undefined: not at all. */
  ended(keep: AnswerHead['keep']): void;
  lost(error: Error, spoke: boolean): void;
}

/** Smaller bodies leave in one piece with the head. */
const ONE_PIECE = 16_384;
const NOTHING = Buffer.alloc(0);
const NO_KEEP: AnswerHead['keep'] = undefined;

/** One connection to an engine. It carries one request at a time and never connects again: once its socket is gone, so is it. */
export class Connection implements AnswerSink {
  readonly #socket: Socket;
  readonly #secure: boolean;
  readonly #gone: () => void;
  #asker: Asker | undefined;
  #reader: AnswerReader | undefined;
  #connected = false;
  #asked = 0;
  /** Whether a byte of the present answer has come. */
  #spoke = false;
  /** Whether a part of the present question has not been given to the socket. */
  #owes = false;

  constructor(address: Address, connectMs: number, gone: () => void) {
    this.#gone = gone;
    const { secure, host, port } = address;
    this.#secure = secure;
    this.#socket = secure
      ? connectTls({ host, port, servername: servername(host), ALPNProtocols: ['http/1.1'] })
      : connectPlain({ host, port });
    this.#socket
      .setNoDelay(true)
      .setTimeout(connectMs)
      .on(secure ? 'secureConnect' : 'connect', () => this.#open())
      .on('data', (data: Buffer) => this.#read(data))
      .on('end', () => this.#closed())
      .on('error', (error) => this.fail(error))
      .on('close', () => this.fail(new Error('the connection was closed')))
      .on('timeout', () => this.#timeout(connectMs));
  }

  /** Whether something accepted it. If not, the request never went out. */
  get connected(): boolean {
    return this.#connected;
  }

  /** Whether it carried an answer before the present one: if so, its end may have nothing to do with the present request. */
  get reused(): boolean {
    return this.#asked > 1;
  }

  /** Sends a request whose head ends with its empty line, and its body at once or as it comes. */
  ask(method: string, head: string, body: readonly Buffer[] | Outflow, bytes: number, asker: Asker): void {
    this.#asked++;
    this.#asker = asker;
    this.#reader = new AnswerReader(method, this);
    this.#spoke = false;
    if ('next' in body) {
      this.#owes = true;
      void this.#flow(head, body, asker);
      return;
    }
    this.#owes = false;
    atTurnEnd(() => {
      if (this.#asker === asker) this.#write(head, body, bytes);
    });
  }

  /** Keeps it for the next request, for so long. */
  rest(idleMs: number): void {
    // Whatever comes or goes winds it up again, and in the middle of an exchange it means nothing.
    if (idleMs !== this.#socket.timeout) this.#socket.setTimeout(idleMs);
    if (this.#socket.isPaused()) this.#socket.resume();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Ends it; who asked is told why, once. */
  fail(error: Error): void {
    const asker = this.#asker;
    this.destroy();
    asker?.lost(error, this.#spoke);
  }

  /** Ends it without a word to who asked. In the middle of an exchange it is reset: an engine that reads nothing hears only that. */
  destroy(): void {
    const busy = this.#asker !== undefined;
    this.#asker = undefined;
    this.#gone();
    if (busy && this.#connected && !this.#secure) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }

  head(head: AnswerHead): void {
    this.#asker?.head(head);
  }

  piece(piece: Piece): void {
    if (this.#asker?.piece(piece) === false) this.#socket.pause();
  }

  #write(head: string, body: readonly Buffer[], bytes: number): void {
    const socket = this.#socket;
    if (bytes === 0) {
      socket.write(head, 'latin1');
    } else if (bytes <= ONE_PIECE) {
      const all = Buffer.allocUnsafe(head.length + bytes);
      let at = all.write(head, 'latin1');
      for (const chunk of body) at += chunk.copy(all, at);
      socket.write(all);
    } else {
      socket.cork();
      socket.write(head, 'latin1');
      for (const chunk of body) socket.write(chunk);
      socket.uncork();
    }
  }

  /** The body waits for the head to leave, so it is not touched before there is a connection; each piece waits for the one before. */
  async #flow(head: string, body: Outflow, asker: Asker): Promise<void> {
    try {
      await this.#sent([Buffer.from(head, 'latin1')]);
      while (this.#asker === asker) {
        const pieces = await body.next();
        if (pieces === undefined) {
          this.#owes = false;
          return;
        }
        if (this.#asker === asker) await this.#sent(pieces);
      }
    } catch (error) {
      if (this.#asker === asker) this.fail(error instanceof Error ? error : new Error(String(error)));
    } finally {
      body.close();
    }
  }

  /** Settles when all of it has left, or never will: then the socket tells why. */
  #sent(pieces: readonly Buffer[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = this.#socket;
    socket.cork();
    for (const piece of pieces.slice(0, -1)) socket.write(piece);
    socket.write(pieces.at(-1) ?? NOTHING, () => resolve());
    socket.uncork();
    return promise;
  }

  #open(): void {
    this.#connected = true;
    this.#socket.setTimeout(0);
  }

  #read(data: Buffer): void {
    const reader = this.#reader;
    // Nobody asked for this, so nothing that follows can be trusted.
    if (reader === undefined) return this.destroy();
    this.#spoke = true;
    let to: number;
    try {
      to = reader.read(data);
    } catch (error) {
      return this.fail(error instanceof Error ? error : new Error(String(error)));
    }
    const clean = to === data.length && this.#socket.writableLength === 0 && !this.#owes;
    if (reader.ended) this.#end(clean ? reader.head?.keep : NO_KEEP);
  }

  #closed(): void {
    if (this.#reader?.close() === true) this.#end(NO_KEEP);
    else this.fail(new Error('the connection was closed'));
  }

  #end(keep: AnswerHead['keep']): void {
    const asker = this.#asker;
    this.#asker = undefined;
    this.#reader = undefined;
    asker?.ended(keep);
  }

  #timeout(connectMs: number): void {
    if (!this.#connected) this.fail(new Error(`no connection within ${connectMs} ms`));
    else if (this.#asker === undefined) this.destroy();
  }
}

/** Names are told to a TLS server, addresses are not. */
const servername = (host: string): string => (/[:]|^[\d.]+$/.test(host) ? '' : host);
