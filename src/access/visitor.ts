import type { IncomingMessage } from 'node:http';
import type { Denial } from './denial.ts';
import { AS_ALL_DO, type Key, type MayUse, type Waiting } from './key.ts';

/** Who the door has found behind a request. */
export type Identity = Key | 'nobody' | 'stranger' | 'busy';

/** One request's maker, for everybody who asks what he may do. */
export class Visitor {
  readonly #identity: Identity;
  readonly #maySteer: () => Denial | undefined;

  constructor(identity: Identity, maySteer: () => Denial | undefined) {
    this.#identity = identity;
    this.#maySteer = maySteer;
  }

  /** The name of the key, for logs. */
  get name(): string | undefined {
    return this.#key?.name;
  }

  /** Undefined: every model. */
  get mayUse(): MayUse | undefined {
    return this.#key?.mayUse;
  }

  /** How his requests wait. */
  get waiting(): Waiting {
    return this.#key?.waiting ?? AS_ALL_DO;
  }

  /** Why he may not steer catnap; undefined when he may. */
  maySteer(): Denial | undefined {
    return this.#maySteer();
  }

  /** Counts one more request until the function it gives is called; or says why there are enough. */
  begin(): (() => void) | Denial {
    return this.#key?.allowance.take() ?? FREE;
  }

  /** What the answer tells of his limits. */
  limits(): Readonly<Record<string, string>> {
    return this.#key?.allowance.headers() ?? NONE;
  }

  get #key(): Key | undefined {
    return typeof this.#identity === 'string' ? undefined : this.#identity;
  }
}

const FREE = (): void => {};
const NONE: Readonly<Record<string, string>> = {};

/** 401 where a browser asks for a page is a question it can put to the person before it. */
export function challenge({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  const page = headers['sec-fetch-mode'] === 'navigate' || (headers.accept ?? '').startsWith('text/html');
  return { 'www-authenticate': page ? 'Basic realm="catnap", charset="UTF-8"' : 'Bearer realm="catnap"' };
}
