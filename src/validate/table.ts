import type { TrialLevel } from '../ports/verdicts.ts';
import { yardstickOf } from './judge.ts';
import type { Cycle, Held, Result } from './observed.ts';

const COLUMNS = ['Level', 'Sleep (s)', 'Wake (s)', 'GPU Before', 'GPU After', 'GPU Wake', 'Response', 'Pass'] as const;
const WIDTHS = [8, 11, 11, 15, 15, 15, 11, 7] as const;
const MIB = 1_048_576;

/** The table, what is to be known of it, the time of each leg, and what it comes to. */
export function tableText(results: readonly Result[]): string {
  const lines = [line(COLUMNS), '-'.repeat(WIDTHS.reduce((sum, width) => sum + width, 0)), ...results.map(row)];
  const stars = results.some((result) => measure(result) === 'processes');
  if (stars) lines.push('', '* No GPU memory of the engine is seen: this is the main memory of its own processes.');
  const said = results.flatMap(({ level, outcome, reasons, notes }) => [
    ...reasons.map((reason) => `${label(level)} ${outcome}: ${reason}`),
    ...notes.map((note) => `${label(level)}: ${note}`),
  ]);
  if (said.length > 0) lines.push('', ...said);
  const legs = results.flatMap(legsOf);
  if (legs.length > 0) lines.push('', 'Legs:', ...legs.map((leg) => `  ${leg}`));
  const limits = results.flatMap(limitsOf);
  if (limits.length > 0) lines.push('', 'Beside what the machine can do:', ...limits.map((limit) => `  ${limit}`));
  return `${[...lines, '', verdict(results)].join('\n')}\n`;
}

function verdict(results: readonly Result[]): string {
  const failed = results.filter(({ outcome }) => outcome === 'failed').map(({ level }) => label(level));
  if (failed.length > 0) return `Result: FAILED (${failed.join(', ')})`;
  if (!results.some(({ outcome }) => outcome === 'passed')) return 'Result: NOTHING COULD BE TRIED';
  const skipped = results.filter(({ outcome }) => outcome === 'skipped').map(({ level }) => label(level));
  return `Result: ALL PASSED${skipped.length > 0 ? ` (skipped: ${skipped.join(', ')})` : ''}`;
}

const label = (level: TrialLevel): string => (level === 'hybrid' ? level : `L${level}`);

const WORDS = { passed: 'OK', failed: 'FAIL', skipped: 'SKIP' } as const;

/** The first cycle, or the one that went wrong. */
function row(result: Result): string {
  const cycle = result.observed?.cycles.find(isBad) ?? result.observed?.cycles[0];
  return line([
    label(result.level),
    secs(cycle?.sleep),
    secs(cycle?.wake),
    ...[cycle?.before, cycle?.asleep, cycle?.awake].map((held) => memory(held, measure(result))),
    response(cycle),
    WORDS[result.outcome],
  ]);
}

const isBad = ({ broken, answer }: Cycle): boolean =>
  broken !== undefined || (answer !== undefined && answer.kind !== 'match' && answer.kind !== 'near');

function response(cycle: Cycle | undefined): string {
  if (cycle?.broken?.during === 'answer') return 'none';
  const kind = cycle?.answer?.kind;
  return kind === undefined ? '-' : kind === 'differs' ? 'MISMATCH' : kind === 'empty' ? 'EMPTY' : kind;
}

/** What the memory columns show of a level. */
export function measure({ level, observed }: Result): 'gpu' | 'processes' | undefined {
  const before = observed?.cycles[0]?.before;
  const yardstick = before === undefined ? undefined : yardstickOf(level, before);
  return yardstick === 'gpu' || yardstick === 'processes' ? yardstick : undefined;
}

function memory(held: Held | undefined, by: 'gpu' | 'processes' | undefined): string {
  if (held === undefined || by === undefined) return '-';
  if (by === 'gpu') return held.gpu.kind === 'unseen' ? '?' : `${held.gpu.mib} MiB`;
  const { bytes } = held.processes;
  return bytes === undefined ? '?' : `${Math.round(bytes / MIB)} MiB*`;
}

function legsOf({ level, observed }: Result): string[] {
  if (observed === undefined) return [];
  return observed.cycles.map(({ sleep, wake, answerMs }, at) => {
    const legs = [
      at === 0 ? `start ${inSecs(observed.startMs)}` : undefined,
      sleep && `sleep ${inSecs(sleep.actMs)}, clear ${inSecs(sleep.proofMs)}`,
      wake && `wake ${inSecs(wake.actMs)}, ready ${inSecs(wake.proofMs)}`,
      answerMs !== undefined && `first answer ${inSecs(answerMs)}`,
    ].filter((leg) => typeof leg === 'string');
    return `${label(level)} cycle ${at + 1}: ${legs.join(', ')}`;
  });
}

/** What each leg of the last cycle is to what its link can do; the first cycle has much to do for the first time. */
function limitsOf({ level, observed }: Result): string[] {
  const { limits } = observed?.cycles.at(-1) ?? {};
  return (['sleep', 'wake'] as const).flatMap((leg) => {
    const limit = limits?.[leg];
    if (limit === undefined) return [];
    const { ratio, link, mib, gpus } = limit;
    const by = gpus === undefined ? link : `${link} of ${gpus} GPUs side by side`;
    return `${label(level)} ${leg}: ${ratio.toPrecision(2)} times what ${Math.round(mib)} MiB take by ${by} alone`;
  });
}

const secs = (done: Cycle['sleep']): string =>
  done === undefined ? '-' : ((done.actMs + done.proofMs) / 1_000).toFixed(1);

const inSecs = (ms: number): string => `${(ms / 1_000).toFixed(ms < 9_995 ? 2 : 1)} s`;

/** The first column to the left, the others to the right, as numbers are read. */
const line = (cells: readonly string[]): string =>
  cells
    .map((cell, at) => (at === 0 ? cell.padEnd(WIDTHS[at] ?? 0) : cell.padStart(WIDTHS[at] ?? 0)))
    .join('')
    .trimEnd();
