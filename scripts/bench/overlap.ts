// `npm run bench:overlap -- [--rounds 12]`: how long a swap takes with `policy.overlap` and without it, on the lab's vLLM: a GPU that is not there, of which memory is
// given back little by little, and engines that take as long as they are told to. Both catnaps run the same rounds, one after the other in changing order.
// Prints Markdown.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { ConfigInput } from '../../src/config/schema.ts';
import { LEGS, type Leg } from '../../src/core/swap.ts';
import type { Settings } from '../../test/fixtures/lab/settings.ts';
import { Lab } from '../../test/helpers/lab.ts';
import { table } from '../pages/markdown.ts';
import { Catnap, type CatnapSwap } from './catnap.ts';
import { median, quantile } from './statistics.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '12' } } });
const rounds = Number(values.rounds);
if (!(rounds >= 2 && rounds <= 200)) throw new Error('--rounds takes 2 to 200');

const LIMIT_MS = 60_000;
const limit = (): AbortSignal => AbortSignal.timeout(LIMIT_MS);
const FOOTPRINT_MIB = 14_700;
const CAPACITY_MIB = 24_000;

type Field = { readonly name: string; readonly level: 1 | 5; readonly settings: Partial<Settings> };

/** About what 14 GB take: over a PCIe link of the fourth generation, and for a server in Python to end. */
const FIELDS: readonly Field[] = [
  {
    name: 'level 1: 1.5 s to give back in 15 steps, 1 s to wake',
    level: 1,
    settings: { sleepMs: 1_500, sleepSteps: 15, wakeMs: 1_000 },
  },
  {
    name: 'level 5: the server ends 1.5 s after its memory is free, 2 s to load',
    level: 5,
    settings: { endMs: 1_500, loadMs: 2_000 },
  },
];

const SIDES = ['without', 'with'] as const;
type Side = (typeof SIDES)[number];

const rows: string[][] = [];
for (const field of FIELDS) {
  const swaps = await measure(field);
  for (const side of SIDES) rows.push([field.name, side, ...numbersOf(swaps[side])]);
}
console.log(table(['Swap', '`policy.overlap`', 'Least', 'Median', 'Most', ...LEGS], rows));
console.log(`\nMilliseconds until the first byte, of ${rounds} rounds each; medians of the legs.`);

async function measure({ level, settings }: Field): Promise<Record<Side, readonly CatnapSwap[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'catnap-overlap-'));
  const own = (name: string): string => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };
  // Each has a GPU of its own.
  const labs = { without: new Lab(own('lab-without')), with: new Lab(own('lab-with')) };
  const start = (side: Side): Promise<Catnap> =>
    Catnap.start(own(side), configOf(labs[side], { level, settings }, side === 'with'), { env: labs[side].env });
  const catnaps = { without: await start('without'), with: await start('with') };
  const swaps: Record<Side, CatnapSwap[]> = { without: [], with: [] };
  try {
    for (const model of ['alpha', 'beta'] as const)
      for (const side of SIDES) await catnaps[side].swapTo(model, limit());
    for (let round = 0; round < rounds; round++) {
      const model = round % 2 === 0 ? 'alpha' : 'beta';
      for (const side of Math.floor(round / 2) % 2 === 0 ? SIDES : SIDES.toReversed())
        swaps[side].push(await catnaps[side].swapTo(model, limit()));
    }
    for (const side of SIDES) {
      const refused = labs[side].ledger.events('refused');
      if (refused.length > 0) throw new Error(`${refused.length} allocations did not fit ${side} it`);
    }
    return swaps;
  } finally {
    await Promise.all([catnaps.without.stop(), catnaps.with.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

function configOf(lab: Lab, { level, settings }: Pick<Field, 'level' | 'settings'>, overlap: boolean): ConfigInput {
  const terms = { sleep_level: level, footprint: { gpu_mib: FOOTPRINT_MIB } };
  const { gpu } = lab.root;
  return {
    ...lab.root,
    gpu: { ...gpu, capacity_mib: CAPACITY_MIB },
    policy: { overlap },
    // What the wait was made of is read from the head of the answer, which leaves with the first comment.
    wait_comment_after_secs: 600,
    models: {
      alpha: lab.vllm(settings, terms),
      beta: lab.vllm(settings, { ...terms, model_path: 'lab/other' }),
    },
  };
}

function numbersOf(swaps: readonly CatnapSwap[]): string[] {
  const totals = swaps.map(({ totalMs }) => totalMs);
  const spread = [quantile(totals, 0), median(totals), quantile(totals, 1)];
  const legs = LEGS.map((leg: Leg) => median(swaps.map((swap) => swap.legs[leg] ?? 0)));
  return [...spread, ...legs].map((ms) => String(Math.round(ms)));
}
