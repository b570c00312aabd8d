import { millis } from '../core/kinds.ts';
import type { Arrival } from './workload.ts';

/** How long an engine is taken to work on a request of which only the sizes are known. */
export type Speed = { readonly promptTokensPerSec: number; readonly msPerToken: number };

const DEFAULT_SPEED: Speed = { promptTokensPerSec: 2_000, msPerToken: 20 };

export type Read =
  | { readonly kind: 'read'; readonly arrivals: readonly Arrival[]; readonly skipped: number }
  | { readonly kind: 'unreadable'; readonly problem: string };

/** Stands for a request that was never served: how long it would have taken is as for others. */
const UNKNOWN = -1;

/** What the columns of a format mean. Names are compared in lower case, without blanks and marks. */
type Format = {
  readonly name: string;
  readonly needs: readonly string[];
  readonly arrival: (field: (name: string) => string | undefined, model: string | undefined, speed: Speed) => Arrival;
};

const FORMATS: readonly Format[] = [
  {
    name: 'of catnap: at_secs, model, service_secs',
    needs: ['atsecs', 'model', 'servicesecs'],
    arrival: (field) => {
      const [service, wait] = [field('servicesecs'), field('waitsecs')];
      const left = field('outcome') === 'abandoned' && wait !== undefined;
      return {
        at: millis(Number(field('atsecs')) * 1_000),
        model: field('model') ?? '',
        serviceMs: service === undefined || service === '' ? UNKNOWN : Number(service) * 1_000,
        ...(left ? { leavesAfterMs: Number(wait) * 1_000 } : {}),
      };
    },
  },
  {
    name: 'of BurstGPT: Timestamp, Model, Request tokens, Response tokens',
    needs: ['timestamp', 'model', 'requesttokens', 'responsetokens'],
    arrival: (field, _model, speed) => ({
      at: millis(Number(field('timestamp')) * 1_000),
      model: field('model') ?? '',
      serviceMs: serviceOf(field('requesttokens'), field('responsetokens'), speed),
    }),
  },
  {
    name: 'of Azure: TIMESTAMP, ContextTokens, GeneratedTokens',
    needs: ['timestamp', 'contexttokens', 'generatedtokens'],
    arrival: (field, model, speed) => ({
      at: millis(momentOf(field('timestamp'))),
      model: field('model') ?? model ?? '',
      serviceMs: serviceOf(field('contexttokens'), field('generatedtokens'), speed),
    }),
  },
];

const serviceOf = (prompt: string | undefined, answer: string | undefined, speed: Speed): number =>
  (Number(prompt) / speed.promptTokensPerSec) * 1_000 + Number(answer) * speed.msPerToken;

/** A time of day as it is written there, with more digits than a date takes; or seconds. */
function momentOf(text = ''): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1_000;
  const [, whole = '', fraction = '0', zone = 'Z'] =
    /^([\d-]+[ T][\d:]+)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?$/.exec(text) ?? [];
  return Date.parse(`${whole.replace(' ', 'T')}${zone}`) + Number(`0.${fraction}`) * 1_000;
}

/** Reads a trace, whose first line names its columns. `model` is for those of a format that has no column for it. Times begin at zero. */
export function readTrace(lines: Iterable<string>, model: string | undefined, speed: Speed = DEFAULT_SPEED): Read {
  let columns: ReadonlyMap<string, number> | undefined;
  let format: Format | undefined;
  const arrivals: Arrival[] = [];
  let skipped = 0;
  for (const line of lines) {
    if (line.trim() === '') continue;
    const cells = splitLine(line);
    if (columns === undefined || format === undefined) {
      columns = new Map(cells.map((cell, at) => [cell.toLowerCase().replaceAll(/[^a-z]/g, ''), at]));
      const names = columns;
      format = FORMATS.find(({ needs }) => needs.every((name) => names.has(name)));
      if (format === undefined) return { kind: 'unreadable', problem: unknown(cells) };
      if (format.needs.includes('model') || columns.has('model') || model !== undefined) continue;
      return {
        kind: 'unreadable',
        problem: 'it does not say which model its requests are for; write --trace MODEL=FILE',
      };
    }
    const at = columns;
    const arrival = format.arrival((name) => cells[at.get(name) ?? -1]?.trim(), model, speed);
    if (isSound(arrival)) arrivals.push(arrival);
    else skipped++;
  }
  if (format === undefined) return { kind: 'unreadable', problem: 'it is empty' };
  if (arrivals.length === 0) return { kind: 'unreadable', problem: 'none of its lines can be read as a request' };
  return { kind: 'read', arrivals: fromZero(filled(arrivals)), skipped };
}

const unknown = (cells: readonly string[]): string =>
  `its first line is "${cells.join(',').slice(0, 120)}"; known formats are those ${FORMATS.map(({ name }) => name).join('; ')}`;

const isSound = ({ at, model, serviceMs }: Arrival): boolean =>
  model !== '' && Number.isFinite(at) && Number.isFinite(serviceMs) && (serviceMs >= 0 || serviceMs === UNKNOWN);

/** Who was never served is taken to need what those who were took on average. */
function filled(arrivals: readonly Arrival[]): readonly Arrival[] {
  const known = arrivals.filter(({ serviceMs }) => serviceMs !== UNKNOWN);
  const sum = known.reduce((total, { serviceMs }) => total + serviceMs, 0);
  const mean = known.length === 0 ? 0 : sum / known.length;
  return arrivals.map((arrival) => (arrival.serviceMs === UNKNOWN ? { ...arrival, serviceMs: mean } : arrival));
}

/** Several traces as one, in the order of time. */
export function fromZero(arrivals: readonly Arrival[]): readonly Arrival[] {
  const sorted = arrivals.toSorted((a, b) => a.at - b.at);
  const first = sorted[0]?.at ?? 0;
  return sorted.map((arrival) => ({ ...arrival, at: millis(arrival.at - first) }));
}

/** Cells are separated by commas; one in quotes may hold some. */
function splitLine(line: string): readonly string[] {
  if (!line.includes('"')) return line.split(',');
  return Array.from(line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g), ([, cell = '']) =>
    cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
  );
}
