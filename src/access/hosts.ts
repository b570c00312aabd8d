import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/** Ends of names that nobody can register, so that no stranger's page can be reached under them. */
const PRIVATE_ENDS = ['.localhost', '.local', '.internal', '.home.arpa', '.svc'];

/** Names that a page on the Internet cannot have: addresses, names without a dot, private ones, and those we were given. */
export class Hosts {
  readonly #own: ReadonlySet<string>;

  constructor(own: readonly string[]) {
    this.#own = new Set(own.map((name) => name.toLowerCase()));
  }

  /** Whether a `Host` is one of ours. A page that points its own name at our address (DNS rebinding) is told apart by it. */
  has(host: string): boolean {
    const name = URL.parse(`http://${host}`)?.hostname.toLowerCase();
    if (name === undefined) return false;
    const bare = name.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    const isPrivate = bare !== '' && (!bare.includes('.') || PRIVATE_ENDS.some((end) => bare.endsWith(end)));
    return isIP(bare) !== 0 || isPrivate || this.#own.has(bare);
  }
}

/** Whether a page of this origin is one of the host it asks. */
export function sameHost(origin: string, host: string | undefined): boolean {
  const theirs = URL.parse(origin);
  const ours = host === undefined ? null : URL.parse(`${theirs?.protocol ?? 'http:'}//${host}`);
  return theirs !== null && ours !== null && theirs.host === ours.host;
}

/** Two of them would be read in two ways (RFC 9112, 3.2). */
export function namesTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let found = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') found += 1;
  }
  return found > 1;
}
