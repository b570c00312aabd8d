import { MODELS_PATH, ModelList, RESTART_PATH, Restarted } from '../api/admin/contract.ts';
import { EXIT } from '../app/exit.ts';
import { findAddress } from './address.ts';
import { askAdmin } from './admin-client.ts';
import { order, type Where } from './steer.ts';
import type { Terminal } from './terminal.ts';

/** Has a running catnap leave everything to a fresh one, and waits until that answers. */
export async function restart(where: Where, terminal: Terminal): Promise<number> {
  const code = await order(where, RESTART_PATH, undefined, Restarted, sayRestarted, terminal);
  if (code !== EXIT.ok) return code;
  const found = findAddress(where, terminal);
  if (found.kind === 'unknown') return EXIT.usage;
  const asked = await askAdmin(found, MODELS_PATH, ModelList);
  if (asked.kind === 'answered') return EXIT.ok;
  terminal.err(`catnap: the new catnap, whose config may have another address, does not answer there: ${asked.why}\n`);
  return EXIT.failed;
}

function sayRestarted({ version, engines, requests, gap_ms: gap }: Restarted): string {
  const lines = engines.map(({ engine, model, level }) => {
    const isOne = engines.filter((other) => other.model === model).length === 1;
    const depth = level === null ? 'awake' : `level ${level}`;
    return `${depth.padEnd(12)}${isOne ? model : engine}`;
  });
  const open =
    requests === 0 ? '' : ` ${requests} ${requests === 1 ? 'request is' : 'requests are'} served to the end.`;
  const what = engines.length === 0 ? 'There was no engine to hand over.' : 'Handed over:';
  return `catnap ${version} serves now; nobody was let in for ${gap} ms.${open}\n${[what, ...lines].join('\n')}\n`;
}
