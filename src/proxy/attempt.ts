import { invariant } from '../core/kinds.ts';
import type { AnswerHead } from './answer-head.ts';
import type { Piece } from './answer-reader.ts';
import type { Asker, Connection } from './connection.ts';
import type { Haltable, Halting } from './halting.ts';
import type { FlatHeaders } from './headers.ts';
import type { Body } from './outflow.ts';
import type { Pool } from './pools.ts';

export type Question = {
  readonly method: string;
  /** With the backend's base path. */
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: Body;
};

/** What happens to an answer as it comes in. */
export type Listener = {
  begin(status: number, reason: string, headers: FlatHeaders): void;
  /** False: no more until `resume` is called. */
  data(piece: Piece, resume: () => void): boolean;
};

export type Lost = {
  readonly kind: 'lost';
  readonly error: Error;
  /** How far it had come. `refused`: nothing accepted the connection. `silent`: not a byte of an answer came. */
  readonly after: 'refused' | 'silent' | 'bytes';
  /** Whether the connection had served before, so that it may have been dead all the time. */
  readonly reused: boolean;
};

export type AttemptEnd = { readonly kind: 'complete' } | { readonly kind: 'halted' } | Lost;

/** Sends one request over one connection, once. Settles once, at the latest when it is halted; whatever comes later is dropped. */
export function attempt(
  pool: Pool,
  want: 'any' | 'fresh',
  question: Question,
  listener: Listener,
  halting: Pick<Halting, 'why' | 'running'>,
): Promise<AttemptEnd> {
  if (halting.why !== undefined) return Promise.resolve({ kind: 'halted' });
  const { promise, resolve } = Promise.withResolvers<AttemptEnd>();
  const { method, body } = question;
  const head = headOf(question, pool.address.authority);
  const connection = pool.take(want);
  const exchange = new Exchange(connection, listener, (end, keep) => {
    halting.running = undefined;
    if (end.kind === 'complete') pool.giveBack(connection, keep);
    else connection.destroy();
    resolve(end);
  });
  halting.running = exchange;
  connection.ask(method, head, body.chunks ?? body.open(), body.bytes, exchange);
  return promise;
}

/** What may not stand in a line of a head, since an engine could read two lines in it. */
const UNSAFE = /[^\t\x20-\x7e\x80-\xff]/;
const UNSAFE_TARGET = /[^\x21-\x7e\x80-\xff]/;

function headOf({ method, path, headers }: Question, authority: string): string {
  invariant(!UNSAFE_TARGET.test(method) && !UNSAFE_TARGET.test(path), 'a request line holds what may not stand there');
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive\r\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const line = `${headers[i]}: ${headers[i + 1]}`;
    invariant(!UNSAFE.test(line), 'a header holds what may not stand in one');
    head += `${line}\r\n`;
  }
  return `${head}\r\n`;
}

/** One request and its answer, told of as the connection reads it. */
class Exchange implements Asker, Haltable {
  readonly #connection: Connection;
  readonly #listener: Listener;
  readonly #ended: (end: AttemptEnd, keep: AnswerHead['keep']) => void;
  readonly #resume = (): void => {
    if (!this.#over) this.#connection.resume();
  };
  #over = false;

  constructor(connection: Connection, listener: Listener, ended: (end: AttemptEnd, keep: AnswerHead['keep']) => void) {
    this.#connection = connection;
    this.#listener = listener;
    this.#ended = ended;
  }

  halted(): void {
    this.#finish({ kind: 'halted' });
  }

  head({ status, reason, headers }: AnswerHead): void {
    if (!this.#over) this.#listener.begin(status, reason, headers);
  }

  piece(piece: Piece): boolean {
    return this.#over || this.#listener.data(piece, this.#resume);
  }

  ended(keep: AnswerHead['keep']): void {
    this.#finish({ kind: 'complete' }, keep);
  }

  lost(error: Error, spoke: boolean): void {
    const { connected, reused } = this.#connection;
    this.#finish({ kind: 'lost', error, after: !connected ? 'refused' : spoke ? 'bytes' : 'silent', reused });
  }

  #finish(end: AttemptEnd, keep?: AnswerHead['keep']): void {
    if (this.#over) return;
    this.#over = true;
    this.#ended(end, keep);
  }
}
