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
