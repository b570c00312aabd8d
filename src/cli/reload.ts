import { RELOAD_PATH, Reloaded } from '../api/admin/contract.ts';
import { order, type Where } from './steer.ts';
import type { Terminal } from './terminal.ts';

/** Has a running catnap read its config again, and says what is different from now on. */
export function reload({ now, ...where }: Where & { readonly now: boolean }, terminal: Terminal): Promise<number> {
  return order(where, `${RELOAD_PATH}${now ? '?now=true' : ''}`, undefined, Reloaded, sayReloaded, terminal);
}

const WHEN: Readonly<Record<string, string>> = {
  at_once: 'at once',
  next_turn: 'when it comes the next time',
  next_start: 'when an engine starts the next time',
  restart: 'with the next request, for which it starts anew',
  next_catnap: 'when catnap starts the next time',
};

function sayReloaded({ added, removed, changed, settings, unchanged, restarting }: Reloaded): string {
  const lines = [
    ...added.map((model) => `added    ${model}`),
    ...removed.map((model) => `removed  ${model}`),
    ...changed.flatMap(({ model, keys }) =>
      keys.map(({ key, holds }) => {
        const when = holds === 'restart' && restarting.includes(model) ? 'now: it starts anew' : WHEN[holds];
        return `changed  ${model}: ${key} (${when ?? holds})`;
      }),
    ),
    ...settings.map(({ key, holds }) => `set      ${key} (${WHEN[holds] ?? holds})`),
  ];
  if (lines.length === 0) return 'Nothing has changed.\n';
  const rest = unchanged === 0 ? '' : `${unchanged} ${unchanged === 1 ? 'model stays' : 'models stay'} as before.\n`;
  return `${lines.join('\n')}\n${rest}`;
}
