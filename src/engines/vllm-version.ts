/** What is known of vLLM's versions and of models in them. Whatever is not listed is tried, and measured. */

export type Version = readonly [major: number, minor: number, patch: number];

/** The leading numbers, also of a build from source (`0.20.1rc2.dev3+gabc`); undefined for what has none. */
export function versionOf(text: string): Version | undefined {
  const [, major, minor, patch = '0'] = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text) ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

type Known = {
  /** From this version on. */
  readonly from?: Version;
  /** Up to this one, which is not among them. */
  readonly before?: Version;
  /** Matched against the model's path and names. */
  readonly model?: RegExp;
  /** Only with adapters. */
  readonly lora?: true;
  /** Only with scales of the KV cache among the weights. */
  readonly kvScales?: true;
  readonly levels: readonly (1 | 2)[];
  readonly why: string;
};

const KNOWN_BAD: readonly Known[] = [
  {
    from: [0, 14, 0],
    before: [0, 17, 0],
    levels: [1, 2],
    why: 'its sleep frees no memory; it does before 0.14 and from 0.17 on',
  },
  { before: [0, 17, 0], model: /gpt-oss/i, levels: [2], why: 'it cannot load the weights of gpt-oss again' },
  { kvScales: true, levels: [2], why: 'the scales of its KV cache are not among the weights that are loaded again' },
  { model: /gemma-?4/i, levels: [2], why: 'Gemma 4 answers rubbish once its weights were loaded again' },
  {
    from: [0, 27, 1],
    before: [0, 27, 2],
    model: /nemotron-?h/i,
    lora: true,
    levels: [1],
    why: 'waking damages the adapters of Nemotron-H',
  },
];

type Subject = {
  /** Undefined where it cannot be read: then what is known of some versions alone says nothing. */
  readonly version: Version | undefined;
  readonly names: readonly string[];
  readonly lora: boolean;
  readonly kvScales: boolean;
};

/** Whether it wakes in parts, which takes less memory on the way back from level 2. */
export const wakesInParts = (version: Version | undefined): boolean =>
  version === undefined || !isBefore(version, [0, 8, 3]);

/** Why this level does not work for this model in this version, as far as is known. */
export function knownBad(level: 1 | 2, { version, names, lora, kvScales }: Subject): string | undefined {
  const found = KNOWN_BAD.find(
    ({ from, before, model, lora: onlyLora, kvScales: onlyScaled, levels }) =>
      levels.includes(level) &&
      (from === undefined || (version !== undefined && !isBefore(version, from))) &&
      (before === undefined || (version !== undefined && isBefore(version, before))) &&
      (model === undefined || names.some((name) => model.test(name))) &&
      (onlyLora === undefined || lora) &&
      (onlyScaled === undefined || kvScales),
  );
  return found?.why;
}

/** As their makers name mixtures of experts: `30B-A3B`, `8x7B`, or by a family that has no others. */
const MIXTURE =
  /moe|mixtral|\d+x\d+(\.\d+)?b|[-_]a\d+(\.\d+)?b\b|gpt-oss|deepseek-?(v[23]|r1(?!-distill))|kimi-?k2|llama-?4|minimax-?m/i;

/**
 * What to change where a start with sleep mode ran out of memory. It is no level that does not work: whether a mixture of experts still
 * fits hangs on the room there is, and its version is only known once it runs, or prints it. So it is not refused but told.
 */
export function remedyForLoad(names: readonly string[], printed: readonly string[]): string | undefined {
  const version = versionOf(
    printed.map((line) => /API server version v?(\d+\.\d+\S*)/.exec(line)?.[1] ?? '').find((text) => text !== '') ?? '',
  );
  if (version !== undefined && isBefore(version, [0, 21, 0])) return undefined;
  if (!names.some((name) => MIXTURE.test(name))) return undefined;
  return 'from vLLM 0.21 on sleep mode can make a mixture of experts run out of memory as it loads: "levels_allowed": [3, 5] starts it without';
}

function isBefore(a: Version, b: Version): boolean {
  for (const at of [0, 1, 2] as const) if (a[at] !== b[at]) return a[at] < b[at];
  return false;
}
