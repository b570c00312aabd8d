import { isIP } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import { refuse } from './refusal.ts';

/** Ends of names that nobody can register, so that no stranger's page can be reached under them. */
const PRIVATE_ENDS = ['.localhost', '.local', '.internal', '.home.arpa', '.svc'];

/**
 * Guards what only an operator may use against web pages he happens to look at.
 * A page of another origin is told apart by `Origin` and `Sec-Fetch-Site`; one that has pointed its own name
 * at our address (DNS rebinding) by its name in `Host`. Programs other than browsers are not held up.
 */
export function operatorsOnly(hosts: readonly string[]): MiddlewareHandler {
  const own = new Set(hosts.map((host) => host.toLowerCase()));
  return async (c, next) => {
    const host = c.req.header('host');
    const name = hostName(host);
    if (host !== undefined && (name === undefined || !isOurs(name, own))) {
      return refuse(c, 'forbidden', `catnap is not known as ${host}. Use its IP address, or localhost.`);
    }
    const site = c.req.header('sec-fetch-site');
    if (site !== undefined && site !== 'same-origin' && site !== 'none') {
      return refuse(c, 'forbidden', 'This path does not answer to web pages of another origin.');
    }
    const origin = c.req.header('origin');
    if (origin !== undefined && !sameHost(origin, host)) {
      return refuse(c, 'forbidden', `This path does not answer to web pages of ${origin}.`);
    }
    return next();
  };
}

function hostName(host: string | undefined): string | undefined {
  const url = host === undefined ? null : URL.parse(`http://${host}`);
  return url?.hostname.toLowerCase();
}

/** Names that a page on the Internet cannot have: addresses, names without a dot, private ones, and those we were given. */
function isOurs(name: string, own: ReadonlySet<string>): boolean {
  const bare = name.replace(/^\[|\]$/g, '');
  return isIP(bare) !== 0 || !name.includes('.') || own.has(bare) || PRIVATE_ENDS.some((end) => name.endsWith(end));
}

function sameHost(origin: string, host: string | undefined): boolean {
  const theirs = URL.parse(origin);
  const ours = host === undefined ? null : URL.parse(`${theirs?.protocol ?? 'http:'}//${host}`);
  return theirs !== null && ours !== null && theirs.host === ours.host;
}
