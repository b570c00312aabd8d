import { ADMIN } from '../api/admin/contract.ts';
import { findAddress } from './address.ts';
import { readFromAdmin } from './admin-client.ts';
import { EXIT } from '../app/exit.ts';
import type { Terminal } from './terminal.ts';
import { plain } from './words.ts';

type LogsOptions = {
  readonly config: readonly string[];
  readonly url: string | undefined;
  readonly json: boolean;
  readonly model: string;
  readonly lines: number;
  readonly follow: boolean;
};

/** Shows what the engine of a model has printed, and with `follow` what it prints from now on, until catnap ends. */
export async function logs(
  { config, url, json, model, lines, follow }: LogsOptions,
  terminal: Terminal,
): Promise<number> {
  const found = findAddress({ config, url }, terminal);
  if (found.kind === 'unknown') {
    terminal.err(found.why);
    return EXIT.usage;
  }
  const path = `${ADMIN}/logs/${encodeURIComponent(model)}?lines=${lines}${follow ? '&follow=true' : ''}`;
  const show = (line: string): void => terminal.out(json ? `${JSON.stringify({ model, line })}\n` : `${plain(line)}\n`);
  const why = await readFromAdmin(found, path, show);
  if (why === undefined) return EXIT.ok;
  terminal.err(`catnap: ${why}\n`);
  return EXIT.failed;
}
