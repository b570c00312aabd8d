import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { codeOf } from './system-error.ts';

const LOCALHOST = '127.0.0.1';
/**
 * Systems give the ports above to whoever asks somebody else, at any moment: to others between our look and the engine's, or while an
 * engine that has to have its port again lies on disk.
 */
const [FIRST, BEHIND_LAST] = [20_000, 30_000];
/** A port that was given out is not given out again for so long: whoever asked for it may not listen on it yet. */
const KEPT_FOR_MS = 60_000;
const TRIES = 100;

/** Gives out ports of this machine. */
export class Ports {
  readonly #given = new Map<number, number>();
  /** One that is kept twice is free when both have let go of it. */
  readonly #kept = new Set<{ readonly port: number }>();

  async free(): Promise<number> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const port = randomInt(FIRST, BEHIND_LAST);
      if (this.#isKept(port)) continue;
      this.#given.set(port, performance.now());
      if ((await listenBriefly(port)) !== undefined) return port;
    }
    throw new Error(`no free port was found on ${LOCALHOST} in ${TRIES} tries`);
  }

  /** Gives this one to nobody until it is released, though nobody listens on it. Gives the release. */
  keep(port: number): () => void {
    const kept = { port };
    this.#kept.add(kept);
    return () => void this.#kept.delete(kept);
  }

  /** Whether somebody could listen there now. */
  async isFree(port: number): Promise<boolean> {
    if ((await listenBriefly(port)) === undefined) return false;
    // Linux refuses a port that is taken on all addresses, others let one have it on a single address beside that.
    return process.platform === 'linux' || !(await answers(port));
  }

  #isKept(port: number): boolean {
    const since = performance.now() - KEPT_FOR_MS;
    for (const [given, at] of this.#given) if (at < since) this.#given.delete(given);
    return this.#given.has(port) || [...this.#kept].some((kept) => kept.port === port);
  }
}

/** The port, or undefined when it cannot be had. */
function listenBriefly(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => {
      if (['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes(codeOf(error) ?? '')) resolve(undefined);
      else reject(error);
    });
    server.listen({ port, host: LOCALHOST, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, LOCALHOST);
    const settle = (taken: boolean) => {
      socket.destroy();
      resolve(taken);
    };
    socket.setTimeout(500, () => settle(true));
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}
