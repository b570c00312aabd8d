import type { IncomingMessage } from 'node:http';
import type { KeyConfig } from '../config/schema.ts';
import type { Clock } from '../ports/clock.ts';
import { tokensOf } from './credentials.ts';
import type { Denial } from './denial.ts';
import { Hosts, namesTwoHosts } from './hosts.ts';
import { Keyring, type Found } from './keyring.ts';
import { Pages } from './pages.ts';
import { readPath, type Reading } from './path.ts';
import { isFromHere } from './peer.ts';
import { challenge, Visitor, type Identity } from './visitor.ts';

export type DoorTerms = {
  readonly keys: readonly KeyConfig[];
  /** Names beside addresses and local names under which catnap is known. */
  readonly hosts: readonly string[];
  /** The origins of web pages that may ask models, or `*`. */
  readonly corsOrigins: readonly string[];
  /** Whom the port is for, when operators have one of their own. */
  readonly serves?: Side;
  readonly clock: Clock;
  /** The door of an earlier config: what is open and used up of its keys counts on. */
  readonly before?: Door | undefined;
};

/** One of two ports, and where the other is. */
export type Side = { readonly whom: 'clients' | 'operators'; readonly others: number };

/** What the door says to one request. */
export type Entry = Reading & { readonly visitor: Visitor; readonly denial: Denial | undefined };

/** Checking an unknown key takes a moment when keys have slow hashes; so many at once are an attack. */
const BUSY_RETRY_MS = 1_000;

/** Who may use what, decided once for each request before anybody else sees it. */
export class Door {
  readonly #ring: Keyring;
  readonly #pages: Pages;
  readonly #asksToInfer: boolean;
  readonly #asksToSteer: boolean;
  readonly #serves: Side | undefined;

  constructor({ keys, hosts, corsOrigins, serves, clock, before }: DoorTerms) {
    this.#serves = serves;
    this.#ring = new Keyring(keys, clock, before === undefined ? [] : before.#ring.keys);
    this.#asksToInfer = keys.some(({ infer }) => infer);
    this.#asksToSteer = keys.some(({ admin }) => admin);
    this.#pages = new Pages(new Hosts(hosts), corsOrigins);
  }

  /** It takes the place of the one before: from now on limits are as its keys say. */
  open(): void {
    this.#ring.open();
  }

  /** At once, unless a key that a person chose was never seen before. */
  enter(req: IncomingMessage): Entry | Promise<Entry> {
    const reading = readPath(req.method ?? 'GET', req.url ?? '/');
    if (this.#ring.keys.length === 0) return this.#judge(req, reading, 'nobody');
    const identity = this.#identify(tokensOf(req.headers));
    if (!(identity instanceof Promise)) return this.#judge(req, reading, identity);
    return identity.then((found) => this.#judge(req, reading, found));
  }

  /** The first of the tokens that is a key counts. */
  #identify(tokens: readonly string[]): Identity | Promise<Identity> {
    const [token, ...others] = tokens;
    if (token === undefined) return 'nobody';
    const then = (found: Found): Identity | Promise<Identity> =>
      found === undefined && others.length > 0 ? this.#identify(others) : (found ?? 'stranger');
    const found = this.#ring.find(token);
    return found instanceof Promise ? found.then(then) : then(found);
  }

  #judge(req: IncomingMessage, reading: Reading, identity: Identity): Entry {
    const visitor = new Visitor(identity, () => this.#maySteer(req, identity));
    const { row, twisted } = reading;
    return { row, twisted, visitor, denial: this.#denial(req, reading, identity, visitor) };
  }

  #denial(req: IncomingMessage, { row }: Reading, identity: Identity, visitor: Visitor): Denial | undefined {
    if (namesTwoHosts(req)) return { code: 'invalid_request', message: 'The request names two hosts. Name one.' };
    // Probes say nothing but that catnap is there.
    if (row?.access === 'open') return row.path === '/metrics' ? this.mayRead(req) : undefined;
    // What is refused to everybody is refused in the words of the data plane, to those who may ask it.
    if (row?.access === 'admin' && row.use !== 'refused') return visitor.maySteer();
    const infers = this.#mayInfer(req, row?.use === 'answered', identity);
    if (this.#serves?.whom !== 'operators') return infers;
    // Operators reach engines by their own paths, which is the only thing of an engine that is steering.
    return row?.path === UPSTREAM ? (visitor.maySteer() ?? infers) : elsewhere('Models are asked', this.#serves);
  }

  /** Whether whoever asks may read what is told to everybody. */
  mayRead(req: IncomingMessage): Denial | undefined {
    return this.#pages.mayRead(req);
  }

  #mayInfer(req: IncomingMessage, onlyReads: boolean, identity: Identity): Denial | undefined {
    return (
      this.#pages.mayInfer(req, { onlyReads, withKey: this.#asksToInfer }) ??
      (this.#asksToInfer ? needs(req, identity, 'infer') : undefined)
    );
  }

  #maySteer(req: IncomingMessage, identity: Identity): Denial | undefined {
    if (this.#serves?.whom === 'clients') return elsewhere('catnap is steered', this.#serves);
    const page = this.#pages.maySteer(req);
    if (page !== undefined) return page;
    if (this.#asksToSteer) return needs(req, identity, 'admin');
    return isFromHere(req) ? undefined : { code: 'forbidden', message: ONLY_HERE };
  }
}

const UPSTREAM = '/upstream/*';

const elsewhere = (what: string, { others }: Side): Denial => ({
  code: 'not_found',
  message: `${what} on another port of this catnap${others === 0 ? '' : `: ${others}`}.`,
});

const ONLY_HERE =
  'Without a key that has `admin`, this path answers only requests made on the machine catnap runs on, ' +
  'and not through a proxy. `catnap key` makes one.';

function needs(req: IncomingMessage, identity: Identity, right: 'infer' | 'admin'): Denial | undefined {
  switch (identity) {
    case 'nobody': {
      const message = 'A key is needed. Send it as `Authorization: Bearer KEY` or as `x-api-key: KEY`.';
      return { code: 'key_missing', message, headers: challenge(req) };
    }
    case 'stranger': {
      const message = 'This key is not one of those that catnap knows.';
      return { code: 'invalid_api_key', message, headers: challenge(req) };
    }
    case 'busy': {
      const message = 'Too many unknown keys are being checked. Try again in a moment.';
      return { code: 'rate_limit_exceeded', message, retryAfterMs: BUSY_RETRY_MS };
    }
    default: {
      if (right === 'infer' ? identity.infers : identity.steers) return undefined;
      return { code: 'forbidden', message: `The key ${identity.name} has no right to ${REACHES[right]}.` };
    }
  }
}

const REACHES = { infer: 'ask models (`infer`)', admin: 'steer catnap (`admin`)' };
