import { MEASURES, type Sample } from './workloads.ts';

/** All samples of one workload, by contender, in the order of the rounds. */
export type Samples = ReadonlyMap<string, readonly Sample[]>;

/** The contenders that the first one is held against. */
const RIVALS = ['catnap before', 'llama-swap', 'llmux', 'haproxy'];
const OURS = 'catnap';

/** One workload as a table: a row for each contender and measure, and how we stand to the others. */
export function tableOf(name: string, samples: Samples): string {
  const rows = MEASURES.flatMap((measure) => rowOf(measure, samples) ?? []);
  if (rows.length === 0) return '';
  const names = [...samples.keys()];
  const rivals = RIVALS.filter((rival) => samples.has(rival) && samples.has(OURS));
  const head = ['', ...names, ...rivals.map((rival) => `catnap : ${rival}`)];
  return [`**${name}**`, '', line(head), line(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows, ''].join('\n');
}

function rowOf(measure: string, samples: Samples): string | undefined {
  const columns = [...samples.values()].map((list) => valuesOf(list, measure));
  if (columns.every((values) => values.length === 0)) return undefined;
  const cells = columns.map((values) => (values.length === 0 ? '' : spread(values)));
  const ours = samples.get(OURS);
  const ratios = RIVALS.filter((rival) => samples.has(rival) && ours !== undefined).map((rival) =>
    ratio(ours ?? [], samples.get(rival) ?? [], measure),
  );
  return line([measure, ...cells, ...ratios]);
}

const valuesOf = (list: readonly Sample[], measure: string): number[] =>
  list.map((sample) => sample[measure]).filter((value) => value !== undefined);

/** Ratios are taken within each round, since what else the machine did then hit both. */
function ratio(ours: readonly Sample[], theirs: readonly Sample[], measure: string): string {
  const ratios: number[] = [];
  for (const [round, sample] of ours.entries()) {
    const [a, b] = [sample[measure], theirs[round]?.[measure]];
    if (a !== undefined && b !== undefined && b > 0) ratios.push(a / b);
  }
  return ratios.length === 0 ? '' : `**${spread(ratios, 2)}**`;
}

function spread(values: readonly number[], digits?: number): string {
  const text = (value: number): string => (digits === undefined ? rounded(value) : value.toFixed(digits));
  return `${text(median(values))} (${text(Math.min(...values))}-${text(Math.max(...values))})`;
}

function rounded(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (low === undefined || high === undefined) throw new Error('there are no samples');
  return (low + high) / 2;
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
