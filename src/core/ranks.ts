import { has, valueOf } from './flags.ts';

type Flags = readonly string[];

/** The flags by which a family of engines is told to work in several processes, each on a GPU of its own. */
type Spelling = {
  /** Parts of one copy of the model. Their numbers multiply. */
  readonly parts: readonly Flags[];
  /** Copies of it. */
  readonly copies: Flags;
  /** How many of the copies this engine has itself, where others are elsewhere. */
  readonly own: Flags;
  /** That this engine is one of the copies. */
  readonly one: Flags;
  /** That copies lie on the GPUs of the parts. */
  readonly folded: Flags;
};

const SPELLINGS = {
  vllm_serve: {
    parts: [
      ['--tensor-parallel-size', '--tensor_parallel_size', '-tp'],
      ['--pipeline-parallel-size', '--pipeline_parallel_size', '-pp'],
    ],
    copies: ['--data-parallel-size', '--data_parallel_size', '-dp'],
    own: ['--data-parallel-size-local', '--data_parallel_size_local', '-dpl'],
    one: ['--data-parallel-rank', '--data_parallel_rank', '-dpn'],
    folded: [],
  },
  sglang: {
    parts: [
      ['--tp-size', '--tensor-parallel-size', '--tp'],
      ['--pp-size', '--pipeline-parallel-size', '--pp'],
    ],
    copies: ['--dp-size', '--data-parallel-size', '--dp'],
    own: [],
    one: [],
    folded: ['--enable-dp-attention'],
  },
} as const satisfies Readonly<Record<string, Spelling>>;

type Family = keyof typeof SPELLINGS;

/** How many processes work together, wherever they are, as far as the arguments tell. */
export function ranksIn(family: Family, args: readonly string[]): number {
  const { parts, copies, folded }: Spelling = SPELLINGS[family];
  return product(args, has(args, folded) ? parts : [...parts, copies]);
}

/** How many GPUs of its own an engine works on. */
export function gpusIn(family: Family, args: readonly string[]): number {
  const { parts, own, one }: Spelling = SPELLINGS[family];
  if (valueOf(args, own) !== undefined) return product(args, [...parts, own]);
  return has(args, one) ? product(args, parts) : ranksIn(family, args);
}

const product = (args: readonly string[], flags: readonly Flags[]): number =>
  flags.reduce((ranks, names) => ranks * times(valueOf(args, names)), 1);

/** What is no number is for the engine to complain of. */
function times(value: string | undefined): number {
  const number = Number(value);
  return Number.isSafeInteger(number) && number > 1 ? number : 1;
}
