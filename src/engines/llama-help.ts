/** What a llama-server understands, read from its own `--help`. */
type Flag = {
  /** Every spelling of it, its negation included. */
  readonly names: readonly string[];
  readonly takesValue: boolean;
  /** What its help says about it when it is no longer to be used. */
  readonly removed: string | undefined;
};

export class KnownFlags {
  readonly #byName: ReadonlyMap<string, Flag>;

  constructor(flags: readonly Flag[]) {
    this.#byName = new Map(flags.flatMap((flag) => flag.names.map((name) => [name, flag])));
  }

  find(name: string): Flag | undefined {
    return this.#byName.get(name);
  }

  get names(): Iterable<string> {
    return this.#byName.keys();
  }
}

/** Undefined when the text is not the help of a llama-server, so that nothing can be concluded from what it lacks. */
export function parseHelp(text: string): KnownFlags | undefined {
  const flags: Flag[] = [];
  for (const entry of entriesOf(text)) {
    const flag = parseEntry(entry);
    if (flag !== undefined) flags.push(flag);
  }
  const known = new KnownFlags(flags);
  return ESSENTIAL.every((name) => known.find(name) !== undefined) ? known : undefined;
}

const ESSENTIAL = ['--model', '--host', '--port'];

/** An entry begins with a dash in the first column; its description is indented. */
function entriesOf(text: string): readonly string[] {
  return text
    .split(/\r?\n(?=-)/)
    .filter((entry) => entry.startsWith('-'))
    .map((entry) => entry.replace(/\r?\n(?!\s)[^]*$/, ''));
}

/** `-c,    --ctx-size N                     size of the prompt context (default: 0)`: names, what they take, two blanks, words. */
function parseEntry(entry: string): Flag | undefined {
  const head = /^(-{1,2}[A-Za-z][\w.-]*(?:,\s+-{1,2}[A-Za-z][\w.-]*)*)( \S)?/.exec(entry);
  if (head === null) return undefined;
  const [all, names = '', value] = head;
  const description = entry.slice(all.length).replaceAll(/\s+/g, ' ');
  const removed = /the argument has been removed\.?\s*(.*?)\s*(?:\(env: \w+\))?\s*$/.exec(description)?.[1];
  return { names: names.split(/,\s+/), takesValue: value !== undefined, removed };
}
