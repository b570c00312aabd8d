import type { Backend } from '../engines/driver.ts';
import type { AnswerHead } from './answer-head.ts';
import { Connection, type Address } from './connection.ts';

/** Idle connections that say nothing about themselves are closed before the usual five seconds of small servers. */
const IDLE_MS = 4_000;
const LONGEST_IDLE_MS = 30_000;
/** So much before the server says it closes, lest a request meets the end on its way. */
const MARGIN_MS = 1_000;
/** What is beyond is closed after its answer. */
const MOST_IDLE = 256;

/** Connections to engines, one set for each backend: a restarted engine never meets a socket of its predecessor. */
export class Pools {
  #connectMs: number;
  readonly #pools = new Map<Backend, Pool>();
  #closed = false;

  constructor(connectMs: number) {
    this.#connectMs = connectMs;
  }

  /** How long an engine may take to accept a connection from now on. */
  connectWithin(ms: number): void {
    this.#connectMs = ms;
  }

  of(backend: Backend): Pool {
    const known = this.#pools.get(backend);
    if (known !== undefined) return known;
    const pool = new Pool(backend.origin, () => this.#connectMs);
    if (backend.gone.aborted || this.#closed) {
      pool.destroy();
      return pool;
    }
    this.#pools.set(backend, pool);
    backend.gone.addEventListener('abort', () => this.#drop(backend, pool), { once: true });
    return pool;
  }

  /** Ends every connection, whatever it carries. */
  destroy(): void {
    this.#closed = true;
    for (const [backend, pool] of this.#pools) this.#drop(backend, pool);
  }

  #drop(backend: Backend, pool: Pool): void {
    this.#pools.delete(backend);
    pool.destroy();
  }
}

/** The connections to one backend. Each carries one request at a time, so that losing it loses one request. */
export class Pool {
  readonly address: Address;
  readonly #connectMs: () => number;
  readonly #idle: Connection[] = [];
  readonly #all = new Set<Connection>();
  #gone = false;

  constructor(origin: string, connectMs: () => number) {
    this.address = addressOf(new URL(origin));
    this.#connectMs = connectMs;
  }

  /** The connection that was used last, which is the least likely to be dead; or a new one. */
  take(want: 'any' | 'fresh'): Connection {
    const idle = want === 'any' ? this.#idle.pop() : undefined;
    if (idle !== undefined) return idle;
    const connection = new Connection(this.address, this.#connectMs(), () => this.#forget(connection));
    if (this.#gone) connection.fail(new Error('the engine is gone'));
    else this.#all.add(connection);
    return connection;
  }

  /** For a connection whose request has been answered in full. */
  giveBack(connection: Connection, keep: AnswerHead['keep']): void {
    const idleMs = keep === undefined ? 0 : idleTime(keep.idleMs);
    if (idleMs <= 0 || !this.#all.has(connection) || this.#idle.length >= MOST_IDLE) return connection.destroy();
    connection.rest(idleMs);
    this.#idle.push(connection);
  }

  /** Who waits for an answer on one of them is told that it is lost. */
  destroy(): void {
    this.#gone = true;
    for (const connection of this.#all) connection.fail(new Error('the engine is gone'));
  }

  #forget(connection: Connection): void {
    if (!this.#all.delete(connection)) return;
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }
}

function idleTime(announced: number | undefined): number {
  return announced === undefined ? IDLE_MS : Math.min(LONGEST_IDLE_MS, announced - MARGIN_MS);
}

function addressOf({ protocol, hostname, port, host }: URL): Address {
  const secure = protocol === 'https:';
  return {
    secure,
    host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port: port === '' ? (secure ? 443 : 80) : Number(port),
    authority: host,
  };
}
