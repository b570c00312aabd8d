import type { SleepLevel } from '../../core/kinds.ts';

const LEVELS: ReadonlyMap<string, SleepLevel> = new Map<string, SleepLevel>([
  ['1', 1],
  ['2', 2],
  ['3', 3],
  ['4', 4],
  ['5', 5],
  ['hybrid', 'hybrid'],
]);

/** A sleep level as it is written in a query or a body. */
export function readLevel(text: string | undefined): SleepLevel | undefined | 'bad' {
  return text === undefined ? undefined : (LEVELS.get(text) ?? 'bad');
}

/** `?hold`, `?hold=true`, `?hold=0`. Anything else is told: what was meant as a no must not be a yes. */
export function readFlag(text: string | undefined): boolean | undefined | 'bad' {
  if (text === undefined) return undefined;
  if (text === '' || text === 'true' || text === '1') return true;
  return text === 'false' || text === '0' ? false : 'bad';
}

/** A number as people write it. */
export const wholeOf = (text: string): number => (/^\d{1,15}$/.test(text) ? Number(text) : Number.NaN);

/** How long somebody would wait, in milliseconds. */
export type Limit = number | undefined | 'bad';

export function readTimeout(text: string | undefined): Limit {
  if (text === undefined) return undefined;
  const secs = Number(text);
  return text.trim() !== '' && secs > 0 && secs <= 86_400 ? secs * 1_000 : 'bad';
}

/** A count in a query; undefined when it is none. */
export function countOf(text: string | undefined, usual: number, most: number): number | undefined {
  if (text === undefined) return usual;
  const count = wholeOf(text);
  return count >= 1 && count <= most ? count : undefined;
}
