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

/** What follows one of these flags (`--flag value`, `--flag=value` or `-flag=value`); the last one counts, as engines read it. */
export function valueOf(args: readonly string[], flags: readonly string[]): string | undefined {
  let value: string | undefined;
  for (const [at, word] of args.entries()) {
    if (flags.includes(word)) value = args[at + 1] ?? value;
    else {
      const flag = flags.find((name) => word.startsWith(`${name}=`));
      if (flag !== undefined) value = word.slice(flag.length + 1);
    }
  }
  return value;
}

/** Whether one of these flags is there: alone, with a value, or with a field of its value (`--flag.field`). */
export function has(args: readonly string[], flags: readonly string[]): boolean {
  return args.some((word) =>
    flags.some((flag) => word === flag || (/^[=.]/.test(word.slice(flag.length)) && word.startsWith(flag))),
  );
}
