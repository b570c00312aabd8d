import { RequestList, REQUESTS_PATH, type RequestRow } from '../api/admin/contract.ts';
import { show, type ShowTerms } from './status.ts';
import { table, type Cell } from './table.ts';
import type { Terminal } from './terminal.ts';
import { duration, plain } from './words.ts';

type RequestsOptions = {
  readonly config: readonly string[];
  readonly url: string | undefined;
  readonly json: boolean;
  readonly model: string | undefined;
  readonly phase: string | undefined;
  readonly limit: number;
};

/** Lists the requests that are open. */
export function requests({ model, phase, limit, ...where }: RequestsOptions, terminal: Terminal): Promise<number> {
  const query = new URLSearchParams({
    limit: String(limit),
    ...(model !== undefined && { model }),
    ...(phase !== undefined && { phase }),
  });
  return show(where, `${REQUESTS_PATH}?${query.toString()}`, RequestList, requestsText, terminal);
}

const HEADER: readonly Cell[] = ['ID', 'MODEL', 'PHASE', 'SINCE', 'WAITED', 'PRIORITY', 'KEY', 'OUT', 'PATH'].map(
  (text) => ({ text, style: 'bold' }),
);

export function requestsText(
  { requests: shown, total, next }: RequestList,
  { colour }: Pick<ShowTerms, 'colour'>,
): string {
  if (total === 0) return 'No request is open.\n';
  const more = next === null ? '' : `\n${shown.length} of ${total} are shown; --limit shows more.\n`;
  return table([HEADER, ...shown.map(row)], colour) + more;
}

const STYLE = {
  arriving: 'dim',
  waiting: 'yellow',
  entering: 'yellow',
  granted: 'green',
  streaming: 'green',
  suspended: 'yellow',
} as const satisfies Record<RequestRow['phase'], Cell['style']>;

function row({
  id,
  model,
  phase,
  since_secs,
  waited_secs,
  priority,
  key,
  bytes_out,
  path,
}: RequestRow): readonly Cell[] {
  return [
    { text: id },
    { text: model ?? '-' },
    { text: phase, style: STYLE[phase] },
    { text: duration(since_secs) },
    { text: duration(waited_secs) },
    { text: priority },
    { text: key ?? '-' },
    { text: bytes(bytes_out) },
    { text: plain(path) },
  ];
}

function bytes(count: number): string {
  if (count === 0) return '-';
  if (count < 1_024) return `${count} B`;
  return count < 1_048_576 ? `${(count / 1_024).toFixed(1)} KiB` : `${(count / 1_048_576).toFixed(1)} MiB`;
}
