import { complaint } from '../config/diagnostics.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import type { Terminal } from './terminal.ts';

/** Where a running catnap is steered, and with what key. */
export type Address = {
  readonly url: string;
  readonly key: string | undefined;
  /** The file with the certificate it must show; undefined: whatever an authority vouches for. */
  readonly certificate?: string | undefined;
};

export type Found =
  | ({ readonly kind: 'known' } & Address)
  /** `why` is for a person, and ends its line. */
  | { readonly kind: 'unknown'; readonly why: string };

/** The variable that holds the key of an operator. An option would show it to everybody who lists processes. */
const KEY_VARIABLE = 'CATNAP_KEY';

type Where = { readonly config: readonly string[]; readonly url: string | undefined };

export function findAddress({ config, url }: Where, terminal: Terminal): Found {
  return url === undefined ? fromConfig(config, terminal) : fromUrl(url, terminal);
}

function fromUrl(text: string, { env }: Terminal): Found {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return { kind: 'unknown', why: `catnap: "${text}" is no address. Write --url http://127.0.0.1:3000.\n` };
  }
  return { kind: 'known', url: url.origin + url.pathname.replace(/\/+$/, ''), key: env[KEY_VARIABLE] };
}

/** Where a catnap with this config listens; without any config, where it does by default. */
function fromConfig(files: readonly string[], terminal: Terminal): Found {
  const loaded = loadConfig(files, {}, terminal.env);
  const key = terminal.env[KEY_VARIABLE];
  if (loaded.kind === 'absent') return { kind: 'known', url: 'http://127.0.0.1:3000', key };
  if (loaded.kind === 'bad') {
    return { kind: 'unknown', why: `${complaint(loaded.problems)}With --url it need not be read.\n` };
  }
  const { host, admin_port, port } = loaded.config;
  const steered = admin_port ?? port;
  if (steered === 0) {
    return { kind: 'unknown', why: 'catnap: the config leaves the port open. Name the address with --url.\n' };
  }
  const { tls } = loaded.config;
  const url = `${tls === undefined ? 'http' : 'https'}://${hostIn(host)}:${steered}`;
  return { kind: 'known', url, key: key ?? keyIn(loaded.config), certificate: tls?.cert };
}

/** A key that the config only refers to is there for whoever can read what it refers to. */
const keyIn = ({ keys }: Config): string | undefined =>
  keys.find(({ admin, secret }) => admin && secret.kind === 'plain')?.secret.value.reveal();

function hostIn(host: string): string {
  const reachable = host === '0.0.0.0' || host === '' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return reachable.includes(':') ? `[${reachable}]` : reachable;
}
