import type { ModelConfig } from './schema.ts';

/** How many slots llama-server has when nobody says a number. */
const LLAMA_SLOTS = 4;
const LLAMA_PARALLEL = ['--parallel', '-np', '--n-parallel'];

/** How many requests one engine of a model is given at a time: no more than it works on by itself. */
export function effectiveTarget(model: ModelConfig): number {
  return Math.min(model.target_inflight, capabilityOf(model) ?? Number.POSITIVE_INFINITY);
}

function capabilityOf(model: ModelConfig): number | undefined {
  switch (model.backend) {
    case 'llama_server':
      return numberAfter(model.extra_args, LLAMA_PARALLEL) ?? model.llama_server_parallel ?? LLAMA_SLOTS;
    case 'llama_cpp':
      return numberAfter(model.extra_args, LLAMA_PARALLEL) ?? LLAMA_SLOTS;
    case 'vllm_serve':
      return numberAfter(model.extra_args, ['--max-num-seqs', '--max_num_seqs']);
    case 'sglang':
      return numberAfter(model.extra_args, ['--max-running-requests']);
    case 'exllamav3':
      return numberAfter(model.extra_args, ['--max-batch-size']);
    default:
      return undefined;
  }
}

/** The number behind one of these flags; the last one counts. What is no number of requests says nothing. */
function numberAfter(args: readonly string[], flags: readonly string[]): number | undefined {
  let found: number | undefined;
  for (const [at, word] of args.entries()) {
    const [name = '', value = args[at + 1]] = word.split('=', 2);
    const number = flags.includes(name) ? Number(value) : Number.NaN;
    if (Number.isSafeInteger(number) && number >= 1) found = number;
  }
  return found;
}
