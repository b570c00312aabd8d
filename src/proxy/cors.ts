import type { IncomingMessage, ServerResponse } from 'node:http';
import { originForm } from '../access/path.ts';
import type { Rendered } from './envelope.ts';

/** Every page of every origin. */
const ANY = '*';
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';
/** What of our own answers a page may read. */
const EXPOSED =
  'retry-after, server-timing, x-catnap-error, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-request-id';
const MAX_AGE_SECS = 600;
/** A list of header names, and nothing that could end a header. */
const NAMES = /^[\w!#$%&'*+.^`|~,\s-]{1,2000}$/;
/** Operators' pages are ours alone. */
const OPERATORS = /^\/(?:v1\/admin|control)(?:[/?#]|$)/;

/** Which web pages may ask models and read the answers. Programs other than browsers are not concerned. */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** What allows the page that asks to read the answer; undefined for one that may not, or where no page asks. */
  allowance({ headers, url = '' }: IncomingMessage): Record<string, string> | undefined {
    const { origin } = headers;
    if (origin === undefined || OPERATORS.test(originForm(url))) return undefined;
    if (this.#origins.has(ANY)) return { 'access-control-allow-origin': ANY };
    return this.#origins.has(origin) ? { 'access-control-allow-origin': origin, vary: 'Origin' } : undefined;
  }

  /** Puts the allowance on an answer, whoever writes it. */
  allow(req: IncomingMessage, res: ServerResponse): void {
    const allowance = this.allowance(req);
    if (allowance === undefined) return;
    for (const [name, value] of Object.entries(allowance)) res.setHeader(name, value);
    res.setHeader('access-control-expose-headers', EXPOSED);
  }

  /** The answer to a browser that asks whether a page may ask; undefined for every other request. */
  preflight(req: IncomingMessage): Rendered | undefined {
    const { method, headers } = req;
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return undefined;
    const allowance = this.allowance(req);
    if (allowance === undefined) return { status: 403, headers: { 'content-length': '0' }, body: '' };
    const asked = headers['access-control-request-headers'];
    return {
      status: 204,
      body: '',
      headers: {
        ...allowance,
        'access-control-allow-methods': METHODS,
        ...(asked !== undefined && NAMES.test(asked) && { 'access-control-allow-headers': asked }),
        ...(headers['access-control-request-private-network'] === 'true' && {
          'access-control-allow-private-network': 'true',
        }),
        'access-control-max-age': String(MAX_AGE_SECS),
      },
    };
  }
}
