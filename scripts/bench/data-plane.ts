// Measures what passing through catnap costs, beside the peers that are on this machine: `npm run bench:data-plane -- --help`.
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PEER_NAMES, startAll, type Contender } from './data-plane/contenders.ts';
import { canPin, stop } from './data-plane/pinned.ts';
import { tableOf } from './data-plane/table.ts';
import { makeTools, startEngine, type Tools } from './data-plane/tools.ts';
import { WORKLOADS, type Sample, type Workload } from './data-plane/workloads.ts';

const HELP = `Usage: npm run bench:data-plane -- [--quick] [--rounds N] [--secs N] [--only NAME,...] [--workloads TEXT,...] [--before FOLDER]
It takes about (1 + rounds x secs) x workloads x (2 + peers) seconds: eight minutes with what is given in brackets and all peers.
  --rounds     how often each pair of workload and proxy is run (5)
  --secs       how long each run is (2)
  --quick      one round of one second: whether everything runs, not how fast it is
  --only       peers by name, of ${PEER_NAMES.join(', ')} (all that are on the PATH), or none
  --workloads  those whose name has one of these texts in it (all)
  --before     another checkout of catnap, built, to be measured beside this one`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    secs: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
    workloads: { type: 'string', default: '' },
    before: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const only = listed(values.only);
const strange = only.find((name) => name !== 'none' && !PEER_NAMES.includes(name));
if (values.help) console.log(HELP);
else if (strange !== undefined) refuse(`--only ${strange}: it is none of ${PEER_NAMES.join(', ')}, none.`);
else if (values.quick) await bench(1, 1);
else await bench(wholeNumber('rounds'), wholeNumber('secs'));

async function bench(rounds: number, secs: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'catnap-bench-'));
  // Leaving ends every process that was started.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const tools = makeTools(folder);
  const engine = await startEngine(tools);
  const { contenders, skipped } = await startAll(folder, engine.port, new Set(only), values.before);
  const texts = listed(values.workloads);
  const workloads = WORKLOADS.filter(({ name }) => texts.length === 0 || texts.some((text) => name.includes(text)));
  try {
    console.log(await aboutTheRun(tools, rounds, secs, skipped));
    const samples = await sampleAll(tools, contenders, workloads, rounds, secs);
    for (const { name } of workloads) console.log(tableOf(name, samples.get(name) ?? new Map()));
  } finally {
    for (const { child } of contenders) if (child !== undefined) await stop(child);
    await stop(engine.child);
  }
}

/** Every proxy meets every workload in every round, so that what else the machine does hits all of them. */
async function sampleAll(
  tools: Tools,
  contenders: readonly Contender[],
  workloads: readonly Workload[],
  rounds: number,
  secs: number,
): Promise<Map<string, Map<string, Sample[]>>> {
  const all = new Map(
    workloads.map(({ name }) => [name, new Map<string, Sample[]>(contenders.map((c) => [c.name, []]))]),
  );
  // Round 0 warms everything up and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const workload of workloads) {
      for (const contender of contenders) {
        const sample = await runOnce(workload, tools, contender, round === 0 ? 1 : secs);
        if (round > 0) all.get(workload.name)?.get(contender.name)?.push(sample);
      }
    }
    process.stderr.write(`round ${round} of ${rounds}, load ${loadavg()[0]?.toFixed(1)}\n`);
  }
  return all;
}

/** A run that failed leaves a gap in the table and says so; the others go on. */
async function runOnce(workload: Workload, tools: Tools, contender: Contender, secs: number): Promise<Sample> {
  try {
    return await workload.run(tools, contender, secs);
  } catch (error) {
    console.log(`Failed: ${workload.name}: ${String(error)}\n`);
    return {};
  }
}

async function aboutTheRun(tools: Tools, rounds: number, secs: number, skipped: readonly string[]): Promise<string> {
  const [cpu] = cpus();
  return [
    `${cpu?.model.trim() ?? 'unknown CPU'}, ${cpus().length} cores, Node ${process.version}, ${tools.note}.`,
    canPin ? 'The measured proxy is on one core, engine and load on another.' : 'Nothing is pinned to a core.',
    `Medians (least-most) of ${rounds} rounds of ${secs} s; ratios are taken within each round.`,
    ...skipped.map((line) => `Skipped: ${line}.`),
    '',
  ].join('\n');
}

function wholeNumber(name: 'rounds' | 'secs'): number {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < 1 || number > 600) {
    refuse(`--${name} must be a whole number from 1 to 600.`);
  }
  return number;
}

function refuse(why: string): never {
  console.error(why);
  process.exit(2);
}

function listed(text: string): string[] {
  return text.split(',').filter(Boolean);
}
