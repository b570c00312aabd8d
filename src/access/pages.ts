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

  /** Why a page may not ask models. What only reads is left to the browser, which does not show it to the page. */
  mayInfer(req: IncomingMessage, { onlyReads, withKey }: { readonly onlyReads: boolean; readonly withKey: boolean }) {
    const { origin, host } = req.headers;
    if (origin === undefined) return onlyReads ? undefined : embedded(req);
    if (onlyReads && isRead(req)) return undefined;
    if (this.#origins.has(ANY) || this.#origins.has(origin)) return undefined;
    if (!sameHost(origin, host)) {
      return forbidden(`Web pages of ${shown(origin)} may not ask models. \`cors_origins\` says which may.`);
    }
    // It is its own origin by name; without a key nothing else tells whose page it is.
    return withKey || host === undefined || this.#hosts.has(host) ? undefined : forbidden(unknownHost(host));
  }
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
