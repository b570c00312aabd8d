import type { z } from 'zod';
import { ModelList, MODELS_PATH } from '../api/admin/contract.ts';
import { findAddress } from './address.ts';
import { askAdmin } from './admin-client.ts';
import { EXIT } from '../app/exit.ts';
import { statusText } from './status-text.ts';
import type { Terminal } from './terminal.ts';
import { plain } from './words.ts';

export type ShowTerms = { readonly url: string; readonly now: Date; readonly colour: boolean };

type StatusOptions = {
  readonly config: readonly string[];
  readonly url: string | undefined;
  readonly json: boolean;
};

/** Shows what a running catnap is doing. */
export function status(options: StatusOptions, terminal: Terminal): Promise<number> {
  return show(options, MODELS_PATH, ModelList, statusText, terminal);
}

/** Asks a running catnap for what a command shows, and shows it. */
export async function show<T>(
  { config, url, json }: StatusOptions,
  path: string,
  schema: z.ZodType<T>,
  text: (answer: T, terms: ShowTerms) => string,
  terminal: Terminal,
): Promise<number> {
  const fail = (code: number, why: string): number => {
    if (json) terminal.out(`${JSON.stringify({ error: why.trimEnd() }, undefined, 2)}\n`);
    else terminal.err(why);
    return code;
  };
  const found = findAddress({ config, url }, terminal);
  if (found.kind === 'unknown') return fail(EXIT.usage, found.why);
  const asked = await askAdmin(found, path, schema);
  if (asked.kind === 'failed') return fail(EXIT.failed, `catnap: ${plain(asked.why)}\n`);
  terminal.out(
    json
      ? `${JSON.stringify(asked.raw, undefined, 2)}\n`
      : text(asked.value, { url: found.url, now: new Date(), colour: terminal.colour }),
  );
  return EXIT.ok;
}
