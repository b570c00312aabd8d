import { ModelList, MODELS_PATH } from '../api/admin/contract.ts';
import { findAddress } from './address.ts';
import { askAdmin } from './admin-client.ts';
import { EXIT } from '../app/exit.ts';
import { statusText } from './status-text.ts';
import type { Terminal } from './terminal.ts';

type StatusOptions = {
  readonly config: readonly string[];
  readonly url: string | undefined;
  readonly json: boolean;
};

/** Shows what a running catnap is doing. */
export async function status({ config, url, json }: StatusOptions, terminal: Terminal): Promise<number> {
  const fail = (code: number, why: string): number => {
    if (json) terminal.out(`${JSON.stringify({ error: why.trimEnd() }, undefined, 2)}\n`);
    else terminal.err(why);
    return code;
  };
  const found = findAddress({ config, url }, terminal);
  if (found.kind === 'unknown') return fail(EXIT.usage, found.why);
  const asked = await askAdmin(found, MODELS_PATH, ModelList);
  if (asked.kind === 'failed') return fail(EXIT.failed, `catnap: ${asked.why}\n`);
  terminal.out(
    json
      ? `${JSON.stringify(asked.raw, undefined, 2)}\n`
      : statusText(asked.value, { url: found.url, now: new Date(), colour: terminal.colour }),
  );
  return EXIT.ok;
}
