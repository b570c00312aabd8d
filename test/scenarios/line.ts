import type { Demotion } from '../../src/core/demotion.ts';
import type { SleepLevel } from '../../src/core/kinds.ts';

const LEVELS: ReadonlyMap<string, SleepLevel> = new Map<string, SleepLevel>([
  ['1', 1],
  ['2', 2],
  ['3', 3],
  ['4', 4],
  ['hybrid', 'hybrid'],
  ['5', 5],
]);

/** One line of a scenario: a verb, words, `name=value` options, and after a colon whatever a person would say. */
export class Line {
  readonly verb: string;
  /** What comes after the colon. */
  readonly rest: string;
  readonly #words: readonly string[];
  readonly #options: ReadonlyMap<string, string>;

  constructor(text: string) {
    const [, before = '', rest = ''] = /^([^:]*)(?:: *(.*))?$/.exec(text) ?? [];
    const [verb = '', ...words] = before.trim().split(/\s+/);
    this.verb = verb;
    this.rest = rest;
    this.#words = words.filter((word) => !word.includes('='));
    this.#options = new Map(words.filter((word) => word.includes('=')).map((word) => splitOption(word)));
  }

  word(at: number): string {
    const word = this.#words[at];
    if (word === undefined) throw new Error(`${this.verb} needs more words`);
    return word;
  }

  number(at: number): number {
    return wholeNumber(this.word(at));
  }

  /** `3`, or `1-10` for all of them. */
  numbers(at: number): readonly number[] {
    const [first = '', last = first] = this.word(at).split('-');
    const from = wholeNumber(first);
    return Array.from({ length: wholeNumber(last) - from + 1 }, (_, n) => from + n);
  }

  duration(at: number): number {
    return milliseconds(this.word(at));
  }

  option(name: string, otherwise: number): number {
    const value = this.#options.get(name);
    return value === undefined ? otherwise : wholeNumber(value);
  }

  time(name: string, otherwise: number): number {
    const value = this.#options.get(name);
    return value === undefined ? otherwise : milliseconds(value);
  }

  text(name: string, otherwise: string): string {
    return this.#options.get(name) ?? otherwise;
  }

  flag(name: string, otherwise: boolean): boolean {
    const value = this.#options.get(name);
    return value === undefined ? otherwise : value === 'yes';
  }

  /** Level 5 where nothing is said. */
  level(name: string): SleepLevel {
    return levelOf(this.#options.get(name) ?? '5');
  }

  /** `10s/1,60s/5`: after so long to that level. */
  steps(name: string): readonly Demotion[] {
    const steps = (this.#options.get(name) ?? '').split(',').filter((step) => step !== '');
    return steps.map((step) => {
      const [time = '', level = ''] = step.split('/');
      return { afterMs: milliseconds(time), level: levelOf(level) };
    });
  }

  /** `1,2,4`. */
  levels(name: string): readonly SleepLevel[] {
    return (this.#options.get(name) ?? '').split(',').flatMap((value) => (value === '' ? [] : [levelOf(value)]));
  }
}

function levelOf(value: string): SleepLevel {
  const level = LEVELS.get(value);
  if (level === undefined) throw new Error(`there is no level ${value}`);
  return level;
}

function splitOption(word: string): [string, string] {
  const at = word.indexOf('=');
  return [word.slice(0, at), word.slice(at + 1)];
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (text === '' || !Number.isSafeInteger(value)) throw new Error(`"${text}" is not a whole number`);
  return value;
}

function milliseconds(text: string): number {
  const [, value = '', unit] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text) ?? [];
  if (unit === undefined) throw new Error(`"${text}" is not a time; write 5s or 250ms`);
  return Number(value) * (unit === 's' ? 1_000 : 1);
}
