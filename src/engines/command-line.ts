import { maskedWords } from '../core/masked.ts';

/** A program and its arguments. */
export type Argv = readonly [string, ...string[]];

/** Puts values in place of `${NAME}` in every word; a name that is not known stays as it is. */
export function fill(argv: Argv, values: Readonly<Record<string, string | number>>): Argv {
  const put = (word: string): string =>
    word.replaceAll(/\$\{([A-Z_]+)\}/g, (whole, name: string) => (name in values ? String(values[name]) : whole));
  const [program, ...rest] = argv;
  return [put(program), ...rest.map(put)];
}

/** A command line as a person would type it, for logs: quoted where a shell needs it, keys masked. */
export function shown(argv: Argv): string {
  return maskedWords(argv)
    .map((word) =>
      /^[\w./:=,@%+-]*(\*{3})?$/.test(word) && word !== '' ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`,
    )
    .join(' ');
}
