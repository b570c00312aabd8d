import { z } from 'zod';
import { Secret } from './secret.ts';
import { splitCommand } from './split-command.ts';

/** What the schema says about a key besides its description. */
type Notes = {
  readonly examples?: readonly unknown[];
  /** The key this one takes its value from when it is absent. */
  readonly inherits?: string;
  /** How the default reads in the docs when it is not a plain value. */
  readonly default_text?: string;
};

/**
 * A key with its sentence; docs/config.md and the JSON Schema are rendered from both.
 * Examples are kept as `samples`: zod drops `examples` of keys whose value is transformed.
 */
export function key<T extends z.ZodType>(schema: T, description: string, { examples, ...notes }: Notes = {}): T {
  return schema.meta({ description, ...notes, ...(examples === undefined ? {} : { samples: examples }) });
}

const DAY_SECS = 86_400;

/** Fractions allowed. */
export const seconds = (min: number, max = DAY_SECS) => z.number().min(min).max(max);

export const milliseconds = (min = 0) => z.number().min(min).max(600_000);

export const count = (min: number, max: number) => z.int().min(min).max(max);

export const port = () => z.int().min(1).max(65_535);

/** A port that may be 0, which means something of its own there. */
export const portOrZero = () => z.int().min(0).max(65_535);

const noNul = (value: string): boolean => !value.includes('\0');
const NUL = 'must not contain a NUL character';

export const text = () => z.string().min(1).refine(noNul, NUL);

/** A file, a folder or a program. */
export const path = () =>
  text().refine((value) => !value.startsWith('~/'), 'must be written out: nothing expands the ~ here');

/** A regular expression, as JavaScript reads it. */
export const pattern = () => text().refine(isPattern, 'must be a regular expression');

function isPattern(source: string): boolean {
  try {
    return new RegExp(source) instanceof RegExp;
  } catch {
    return false;
  }
}

export const secret = () =>
  text()
    .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without blanks, since it is sent in a header')
    .transform((value) => new Secret(value));

/** The value of an environment variable: often a key, so it prints as `***`; it may be empty. */
export const envValue = () =>
  z
    .string()
    .refine(noNul, NUL)
    .transform((value) => new Secret(value));

export type Argv = readonly [string, ...string[]];

const argv = () => z.tuple([path()], z.string().refine(noNul, NUL));

/** A program: its path, or a list when it needs arguments of its own (`["uv", "run", "vllm"]`). A string is never split. */
export const program = () =>
  z
    .union([path(), argv()], { error: 'must be the path of a program, or a list: the program and its first arguments' })
    .transform((value): Argv => (typeof value === 'string' ? [value] : value));

/** A whole command line: a list, or one string that is split as a shell would. No shell runs it. */
export const commandLine = () =>
  z
    .union([path(), argv()], { error: 'must be a command line: a list of arguments, or one string' })
    .transform((value, context): Argv => {
      if (typeof value !== 'string') return value;
      const split = splitCommand(value);
      if (split.kind === 'split') return split.argv;
      context.addIssue({ code: 'custom', message: split.problem });
      return z.NEVER;
    });

/** How deep a model is put away. */
export const sleepLevel = () =>
  z.union([z.literal([1, 2, 3, 4, 5]), z.literal('hybrid')], { error: 'must be 1, 2, 3, 4, 5 or "hybrid"' });

/** Another name for models, or the form of many: `*` stands for any text. */
export const aliasName = () =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9_*][A-Za-z0-9_.:/@+*-]{0,199}$/,
      'must be 1 to 200 of A-Z a-z 0-9 _ . : / @ + - and *, and begin with a letter, a digit, _ or *',
    );

/** Model names are used in URLs, headers and metric labels, and some clients split lists of them at commas. */
export const modelName = () =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9_][A-Za-z0-9_.:/@+-]{0,199}$/,
      'must be 1 to 200 of A-Z a-z 0-9 _ . : / @ + - and begin with a letter, a digit or _',
    );
