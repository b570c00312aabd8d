import type { ConfigInput } from '../../src/config/schema.ts';
import type { SleepLevel } from '../../src/core/kinds.ts';
import type { Fault } from '../fixtures/lab/ledger.ts';
import type { Catnap } from './catnap.ts';
import type { Lab } from './lab.ts';

/** Five models of all kinds on one GPU that holds one of them and the rests of the others. */
export function stormConfig(lab: Lab, levels: readonly SleepLevel[] = LEVELS): ConfigInput {
  const models: ConfigInput['models'] = {};
  for (const [at, sleep_level] of levels.entries()) {
    const name = `m${at}`;
    const settings = { version: VERSIONS[at] ?? '', tokens: 4 };
    models[name] = lab.vllm(settings, { model_path: `lab/${name}`, sleep_level });
  }
  const root = {
    ...lab.root,
    startup_timeout_secs: 30,
    sleep_timeout_secs: 4,
    wake_timeout_secs: 4,
    stop_grace_secs: 2,
  };
  return { ...root, policy: { request_timeout_secs: 600 }, models };
}

const LEVELS: readonly SleepLevel[] = [1, 2, 3, 5, 1];
/** One that dies of a request in its sleep, one that dies of a request half awake, and one whose sleep frees nothing. */
const VERSIONS = ['0.13.0', '0.22.0', '0.29.0', '0.29.0', '0.15.1'];

/** What goes wrong in it. None of it is a reason not to answer a request. */
const FAULTS: readonly Fault[] = [
  { point: 'vllm.sleep', kind: 'fail' },
  { point: 'vllm.sleep', kind: 'not-freed' },
  { point: 'vllm.sleep', kind: 'die' },
  { point: 'vllm.sleep', kind: 'hang' },
  { point: 'vllm.wake', kind: 'oom' },
  { point: 'vllm.wake', kind: 'die' },
  { point: 'vllm.wake', kind: 'hang' },
  { point: 'vllm.wake', kind: 'garbage' },
  { point: 'vllm.reload', kind: 'fail' },
  { point: 'vllm.reload', kind: 'hang' },
  { point: 'vllm.end', kind: 'orphan' },
  { point: 'cuda.lock', kind: 'fail' },
  { point: 'cuda.checkpoint', kind: 'fail' },
  { point: 'cuda.checkpoint', kind: 'hang' },
  { point: 'cuda.restore', kind: 'fail' },
  { point: 'cuda.restore', kind: 'hang' },
  { point: 'cuda.unlock', kind: 'fail' },
];

export type StormEnd = {
  readonly swaps: number;
  readonly faults: number;
  readonly answered: number;
  /** Requests that were not answered as they should have been, and what came in place of it. */
  readonly wrong: readonly string[];
  /** Times when more memory was wanted than there was. */
  readonly refused: readonly string[];
};

/**
 * Asks models at random, a few at a time, while things go wrong, until there have been so many swaps. What goes wrong is planned
 * for the model that is asked next; what has not happened by the end is called off.
 */
export async function swapStorm(catnap: Catnap, lab: Lab, swaps: number, random: () => number): Promise<StormEnd> {
  const pick = <T>(of: readonly T[]): T | undefined => of[Math.floor(random() * of.length)];
  const done = (): number => catnap.facts('swap-finished', { result: 'done' }).length;
  const wrong: string[] = [];
  let answered = 0;
  const client = async (): Promise<void> => {
    while (done() < swaps && wrong.length === 0) {
      const model = `m${Math.floor(random() * LEVELS.length)}`;
      const fault = random() < 0.25 ? pick(FAULTS) : undefined;
      if (fault !== undefined) lab.ledger.plan({ ...fault, model });
      const complaint = random() < 0.3 ? await streamed(catnap, model) : await asked(catnap, model);
      if (complaint === undefined) answered += 1;
      else wrong.push(`${model}: ${complaint}`);
    }
  };
  await Promise.all(Array.from({ length: 3 }, client));
  const faults = lab.ledger.events('fault').length;
  lab.ledger.calm();
  const refused = lab.ledger.events('refused').map(({ model, detail }) => `${model}: ${detail}`);
  return { swaps: done(), faults, answered, wrong, refused };
}

async function asked(catnap: Catnap, model: string): Promise<string | undefined> {
  const { status, text } = await catnap.chat(model);
  return status === 200 && /"content":"\w/.test(text) ? undefined : `${status} ${text.slice(0, 300)}`;
}

async function streamed(catnap: Catnap, model: string): Promise<string | undefined> {
  const stream = await catnap.stream(model);
  const end = await stream.closed;
  return end === 'whole' && /\w/.test(stream.said) ? undefined : `${end} ${stream.body.slice(0, 300)}`;
}

/** A sequence that can be had again. */
export function chance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
