import { ModelList, MODELS_PATH } from '../api/admin/contract.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { askAdmin } from './admin-client.ts';
import { complain } from './config.ts';
import { EXIT } from './exit.ts';
import { statusText } from './status-text.ts';
import type { Terminal } from './terminal.ts';

type StatusOptions = {
  readonly config: readonly string[];
  readonly url: string | undefined;
  readonly json: boolean;
};

/** Shows what a running catnap is doing. */
export async function status({ config, url, json }: StatusOptions, terminal: Terminal): Promise<number> {
  const found = url === undefined ? addressFromConfig(config, terminal) : addressFromUrl(url);
  if (found.kind === 'unknown') {
    terminal.err(found.why);
    return EXIT.usage;
  }
  const asked = await askAdmin(found.url, MODELS_PATH, ModelList);
  if (asked.kind === 'failed') {
    terminal.err(`catnap: ${asked.why}\n`);
    return EXIT.failed;
  }
  terminal.out(
    json
      ? `${JSON.stringify(asked.raw, undefined, 2)}\n`
      : statusText(asked.value, { url: found.url, now: new Date(), colour: terminal.colour }),
  );
  return EXIT.ok;
}

type Address = { readonly kind: 'known'; readonly url: string } | { readonly kind: 'unknown'; readonly why: string };

function addressFromUrl(text: string): Address {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return { kind: 'unknown', why: `catnap: "${text}" is no address. Write --url http://127.0.0.1:3000.\n` };
  }
  return { kind: 'known', url: url.origin + url.pathname.replace(/\/+$/, '') };
}

/** Where a catnap with this config listens; without any config, where it does by default. */
function addressFromConfig(files: readonly string[], terminal: Terminal): Address {
  const loaded = loadConfig(files, {}, terminal.env);
  if (loaded.kind === 'absent') return { kind: 'known', url: 'http://127.0.0.1:3000' };
  if (loaded.kind === 'bad') {
    return { kind: 'unknown', why: `${complain(loaded.problems)}With --url it need not be read.\n` };
  }
  if (loaded.config.port === 0) {
    return { kind: 'unknown', why: 'catnap: the config leaves the port open. Name the address with --url.\n' };
  }
  return { kind: 'known', url: addressOf(loaded.config) };
}

function addressOf({ host, port }: Config): string {
  const reachable = host === '0.0.0.0' || host === '' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
