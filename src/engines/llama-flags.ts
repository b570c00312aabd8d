import type { KnownFlags } from './llama-help.ts';

/** A flag that catnap sets. The user's own arguments win over it. */
export type OwnFlag = {
  readonly name: string;
  readonly value?: string;
  /** Left out unless the binary is known to take it like this; one that is not optional is passed on in any case. */
  readonly optional?: boolean;
  /** Left out, too, when the user sets one of these. */
  readonly unless?: readonly string[];
};

export type Nearest = (word: string, words: Iterable<string>) => string | undefined;

/** What a user may not set among the extra arguments, and what to do instead. The config refuses port and host by itself. */
const TAKEN: Readonly<Record<string, string>> = {
  '-m': 'set the key `model_path` of the model instead',
  '--model': 'set the key `model_path` of the model instead',
  '--api-key-file': 'set the key `api_key_file` of the model instead',
  '--api-prefix': 'catnap asks the engine without a prefix',
  '--ssl-key-file': 'catnap talks to its engines without TLS, on 127.0.0.1',
  '--ssl-cert-file': 'catnap talks to its engines without TLS, on 127.0.0.1',
};

/** How flags that came and went are written in other releases; the first one that the binary knows is suggested. */
const RENAMED: Readonly<Record<string, readonly string[]>> = {
  '--no-mmap': ['--load-mode none'],
  '--mmap': ['--load-mode mmap'],
  '--mlock': ['--load-mode mlock'],
  '--direct-io': ['--load-mode dio'],
  '--load-mode': ['--no-mmap', '--mlock'],
  '-lm': ['--no-mmap', '--mlock'],
  '--draft-max': ['--spec-draft-n-max'],
  '--spec-draft-n-max': ['--draft-max'],
  '--draft-min': ['--spec-draft-n-min'],
  '--spec-draft-n-min': ['--draft-min'],
  '--embedding': ['--embeddings'],
  '--embeddings': ['--embedding'],
  '--no-ui': ['--no-webui'],
  '--no-webui': ['--no-ui'],
};

const LOOKS_LIKE_FLAG = /^--?[A-Za-z]/;

/** The binary reads `--ctx_size` as `--ctx-size`. */
const canonical = (word: string): string => word.replace(/^--[^=\s]+/, (flag) => flag.replaceAll('_', '-'));

/** The flags among the arguments, without what belongs to a flag that takes a value. */
function* flagsIn(args: readonly string[], known: KnownFlags | undefined): Generator<{ name: string; next?: string }> {
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    if (!LOOKS_LIKE_FLAG.test(word)) continue;
    const next = args[at + 1];
    const name = canonical(word);
    yield next === undefined ? { name } : { name, next };
    if (known?.find(name)?.takesValue === true && !isFlag(next, known)) at += 1;
  }
}

const isFlag = (word: string | undefined, known: KnownFlags): boolean =>
  word !== undefined && LOOKS_LIKE_FLAG.test(word) && known.find(canonical(word)) !== undefined;

/** Our flags and then the user's, without those of ours that he sets himself or the binary does not take. */
export function combine(own: readonly OwnFlag[], extra: readonly string[], known: KnownFlags | undefined): string[] {
  const set = new Set([...flagsIn(extra, known)].flatMap(({ name }) => known?.find(name)?.names ?? [name]));
  const kept = own.filter((flag) => {
    if (flag.optional === true && known?.find(flag.name)?.takesValue !== (flag.value !== undefined)) return false;
    return ![flag.name, ...(flag.unless ?? [])].some((name) => set.has(name));
  });
  return [...kept.flatMap(({ name, value }) => (value === undefined ? [name] : [name, value])), ...extra];
}

/** Everything that is wrong with the user's arguments, each with what to do; nothing is concluded from a help that could not be read. */
export function faultsIn(extra: readonly string[], known: KnownFlags | undefined, nearest: Nearest): string[] {
  const faults: string[] = [];
  for (const { name, next } of flagsIn(extra, known)) {
    const taken = TAKEN[name];
    if (taken !== undefined) faults.push(`${name} cannot be set here: ${taken}`);
    else if (known !== undefined) {
      const fault = faultOf(name, next, known, nearest);
      if (fault !== undefined) faults.push(fault);
    }
  }
  return faults;
}

function faultOf(name: string, next: string | undefined, known: KnownFlags, nearest: Nearest): string | undefined {
  const flag = known.find(name);
  if (flag === undefined) return `${name} is not known${advice(name, known, nearest)}`;
  if (flag.removed !== undefined) return `${name} was removed${flag.removed === '' ? '' : `: ${flag.removed}`}`;
  if (flag.takesValue && (next === undefined || isFlag(next, known))) return `${name} needs a value`;
  return undefined;
}

function advice(name: string, known: KnownFlags, nearest: Nearest): string {
  const [, flag = name, value] = /^([^=\s]+)[=\s]+(.*)$/s.exec(name) ?? [];
  if (value !== undefined && known.find(flag) !== undefined) return `: write "${flag}", "${value}" as two arguments`;
  const renamed = RENAMED[flag]?.find((other) => known.find(other.split(' ', 1)[0] ?? other) !== undefined);
  const meant = renamed ?? nearest(flag, known.names);
  return meant === undefined ? '' : `: write ${meant}`;
}
