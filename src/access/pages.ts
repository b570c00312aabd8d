import type { IncomingMessage } from 'node:http';
import type { Denial } from './denial.ts';
import { sameHost, type Hosts } from './hosts.ts';
import { hostInTarget } from './path.ts';

/** Every page of every origin. */
const ANY = '*';

/**
 * What web pages may do that somebody happens to look at. A page of another origin is told apart by `Origin` and `Sec-Fetch-Site`;
 * one that has pointed its own name at our address by its name in `Host`. Programs other than browsers are not held up.
 */
export class Pages {
  readonly #hosts: Hosts;
  readonly #origins: ReadonlySet<string>;

  constructor(hosts: Hosts, origins: readonly string[]) {
    this.#hosts = hosts;
    this.#origins = new Set(origins);
  }

  /** Why a page may not steer catnap, whatever key its browser sends along. */
  maySteer({ headers, url = '' }: IncomingMessage): Denial | undefined {
    const { host, origin } = headers;
    for (const name of [host, hostInTarget(url)]) {
      if (name !== undefined && !this.#hosts.has(name)) return forbidden(unknownHost(name));
    }
    const site = headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none') {
      return forbidden('This path does not answer to web pages of another origin.');
    }
    if (origin !== undefined && !sameHost(origin, host)) {
      return forbidden(`This path does not answer to web pages of ${shown(origin)}.`);
    }
    return undefined;
  }

  /** Why a page may not read what is open. The others see nothing of it, as the browser does not show it to them. */
  mayRead(req: IncomingMessage): Denial | undefined {
    return this.#origins.has(ANY) ? undefined : this.#rebound(req);
  }

  /** Why a page may not ask models. What only reads is left to the browser, which does not show it to the page. */
  mayInfer(req: IncomingMessage, { onlyReads, withKey }: { readonly onlyReads: boolean; readonly withKey: boolean }) {
    const { origin, host } = req.headers;
    if (this.#origins.has(ANY) && (origin !== undefined || onlyReads)) return undefined;
    if (origin !== undefined && this.#origins.has(origin)) return undefined;
    // A page is its own origin by name; without a key nothing else tells whose page it is, and to read it names no origin.
    const rebound = withKey ? undefined : this.#rebound(req);
    if (rebound !== undefined) return rebound;
    if (origin === undefined) return onlyReads ? undefined : embedded(req);
    if ((onlyReads && isRead(req)) || sameHost(origin, host)) return undefined;
    return forbidden(`Web pages of ${shown(origin)} may not ask models. \`cors_origins\` says which may.`);
  }

  /** Whether it comes from a page under a name that is not ours. */
  #rebound(req: IncomingMessage): Denial | undefined {
    const { origin, host } = req.headers;
    if (origin === undefined && !isBrowser(req)) return undefined;
    const stranger = [host, hostInTarget(req.url ?? '')].find((name) => name !== undefined && !this.#hosts.has(name));
    return stranger === undefined ? undefined : forbidden(unknownHost(stranger));
  }
}

/**
 * Whether a browser sent it. To HTTPS and to this machine by name they all say `Sec-Fetch-Site`; to another name over plain HTTP nothing
 * but a language, which no page can take away. The `fetch` of Node says a language and `Sec-Fetch-Mode`, and that no browser does alone.
 */
function isBrowser({ headers }: IncomingMessage): boolean {
  if (headers['sec-fetch-site'] !== undefined) return true;
  return headers['accept-language'] !== undefined && headers['sec-fetch-mode'] === undefined;
}

/** A picture or a script of another site's page would wake a model. A link that somebody follows may. */
function embedded({ headers }: IncomingMessage): Denial | undefined {
  const site = headers['sec-fetch-site'];
  if (site !== 'cross-site' && site !== 'same-site') return undefined;
  if (headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document') return undefined;
  return forbidden('Models do not answer to web pages of another origin. `cors_origins` says which may ask.');
}

const isRead = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD';

const forbidden = (message: string): Denial => ({ code: 'forbidden', message });

const unknownHost = (name: string): string =>
  `catnap is not known as ${shown(name)}. Use its IP address or localhost, or add the name to \`allowed_hosts\`.`;

const shown = (text: string): string => text.slice(0, 200);
