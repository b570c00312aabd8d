import type { TrialLevel } from '../ports/verdicts.ts';
import { levelOf } from './judge.ts';

/** Every level that can be tried, in the order in which it is. */
const TRIAL_LEVELS: readonly TrialLevel[] = [1, 2, 3, 'hybrid', 4, '4full', 5];
/** Those that are tried only when somebody names them. */
const NAMED_LEVELS: readonly TrialLevel[] = ['3f', '4f'];

/** What stands in the way of trying a level, before anything is started; undefined: nothing. */
export type Subject = {
  readonly backend: string;
  /** What this version carries out for the backend. */
  readonly works: readonly TrialLevel[];
  /** Levels the model's own settings leave in. */
  readonly allowed: readonly TrialLevel[];
  /** Whether the engine has a level 2 that can go before level 4. */
  readonly sleepsItself: boolean;
};

export type Asked = { readonly level: TrialLevel; readonly named: boolean };

/** The levels named, or all of them. */
export const asked = (named: readonly TrialLevel[] | undefined): readonly Asked[] =>
  (named ?? TRIAL_LEVELS).map((level) => ({ level, named: named !== undefined }));

/** Why a level is not even tried. A level that the settings leave out is tried when somebody names it. */
export function notTried({ level, named }: Asked, subject: Subject): string | undefined {
  const plain = levelOf(level);
  if (!subject.works.includes(plain)) return `this version cannot do level ${plain} for ${subject.backend}`;
  if (level === '4full' && !subject.sleepsItself && !named)
    return 'it is level 4 here: the engine has no sleep of its own that could go first';
  if (!named && !subject.allowed.includes(plain)) return 'levels_allowed leaves it out';
  return undefined;
}

/** Reads what a person wrote: `1,2,4full`. The text comes back where it means nothing. */
export function levelsIn(text: string): readonly TrialLevel[] | { readonly unknown: string } {
  const levels: TrialLevel[] = [];
  for (const word of text.split(',').map((part) =>
    part
      .trim()
      .toLowerCase()
      .replace(/^l(?=\d)/, ''),
  )) {
    const level = [...TRIAL_LEVELS, ...NAMED_LEVELS].find((known) => String(known) === word);
    if (level === undefined) return { unknown: word };
    if (!levels.includes(level)) levels.push(level);
  }
  return levels;
}
