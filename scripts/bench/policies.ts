// `npm run bench:policies`: plays the workloads under each discipline and writes the table of docs/scheduling.md. The same code gives the same numbers.
// The optimum is computed for workloads whose requests do not depend on what is served (optimum.ts); `--seeds 1` is a quick look that writes nothing.
// `npm run bench:policies -- --scale`: how long an event takes with ten to a thousand models, up to a million requests.
import { readFileSync, writeFileSync } from 'node:fs';
import { FOREVER } from '../../src/core/kinds.ts';
import { compare, DISCIPLINES } from '../../src/simulate/compare.ts';
import { GENERATORS, manyModels } from '../../src/simulate/generators.ts';
import type { Outcome } from '../../src/simulate/tally.ts';
import type { Workload } from '../../src/simulate/workload.ts';
import { offlineOptimum, type Optimum } from './optimum.ts';

const PAGE = new URL('../../docs/scheduling.md', import.meta.url);
const [BEGIN, END] = ['<!-- begin: npm run bench:policies -->', '<!-- end -->'];
const SEEDS = [1, 2, 3, 4, 5];
const FREEZING = 'slack, freezing';
const RATIOS = 'Mean wait to that of the optimum where engines have a place for everybody, so that it is exact:';
const HOUR_MS = 3_600_000;
const SWAP = { comeMs: 2_000, goMs: 2_000 };
const PLACES = 16;
const FOR_EVERYBODY = 1_000_000;

function play(
  workload: () => Workload,
  disciplines: readonly string[],
  { freezes = false, places = PLACES } = {},
): ReadonlyMap<string, Outcome> {
  return compare({
    workload,
    disciplines,
    freezes,
    // Who is frozen need not have finished anything, but each turn lasts a second.
    stage: {
      capacity: 1,
      drains: !freezes,
      drainMs: freezes ? 1_000 : 600_000,
      minActiveMs: 0,
      priorityStepMs: 30_000,
    },
    terms: {
      maxWaitMs: 30_000,
      coalesceMs: 2_000,
      amortization: 0.5,
      tickMs: 500,
      quantumMs: 2_000,
      servingShare: 0.8,
      holds: true,
    },
    model: () => ({
      cost: 1,
      replicas: 1,
      targetInflight: places,
      maxWaiting: 10_000_000,
      patienceMs: FOREVER,
      sleepLevel: 1,
    }),
    times: () => SWAP,
  });
}

/** Undefined where requests depend on those before them, and where it would take too long. */
function optimumOf({ arrivals, followUp }: Workload): Optimum | undefined {
  const list = [...arrivals];
  if (followUp !== undefined || list.some(({ leavesAfterMs }) => leavesAfterMs !== undefined)) return undefined;
  return offlineOptimum(list, SWAP);
}

const secs = (ms: number): string => (ms < 99_950 ? (ms / 1_000).toFixed(1) : String(Math.round(ms / 1_000)));
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** For each workload the optimum of each seed, or nothing. */
function optimaOf(seeds: readonly number[]): ReadonlyMap<string, readonly Optimum[]> {
  const known = new Map<string, readonly Optimum[]>();
  for (const [workload, make] of Object.entries(GENERATORS)) {
    const optima = seeds.flatMap((seed) => optimumOf(make({ seed, spanMs: HOUR_MS })) ?? []);
    if (optima.length === seeds.length) known.set(workload, optima);
  }
  return known;
}

function table(seeds: readonly number[], known: ReadonlyMap<string, readonly Optimum[]>): string {
  const lines = [
    '| Workload | Policy | Mean | p95 | p99 | Longest | Swaps | Swapping | Draining | To the optimum |',
    '|---|---|---|---|---|---|---|---|---|---|',
  ];
  for (const [workload, make] of Object.entries(GENERATORS)) {
    const runs = seeds.map((seed) => {
      const again = (): Workload => make({ seed, spanMs: HOUR_MS });
      const frozen = play(again, ['slack'], { freezes: true }).get('slack');
      const outcomes = play(again, DISCIPLINES);
      return frozen === undefined ? outcomes : new Map([...outcomes, [FREEZING, frozen]]);
    });
    const optima = known.get(workload);
    const optimum = optima === undefined ? undefined : bestOf(optima);
    for (const name of [...DISCIPLINES, FREEZING]) {
      const outcomes = runs.map((run) => run.get(name)).filter((outcome) => outcome !== undefined);
      const of = (pick: (outcome: Outcome) => number): number => mean(outcomes.map(pick));
      const waits = [of(({ waits }) => waits.meanMs), of(({ waits }) => waits.p95Ms), of(({ waits }) => waits.p99Ms)];
      const longest = Math.max(...outcomes.map(({ waits }) => waits.maxMs));
      const shares = [of(({ swappingShare }) => swappingShare), of(({ drainingShare }) => drainingShare)];
      const cells = [...waits, longest].map(secs);
      const counts = [
        String(Math.round(of(({ swaps }) => swaps))),
        ...shares.map((share) => `${Math.round(share * 100)} %`),
      ];
      const ratio = name === FREEZING ? '' : ratioTo(optimum, waits[0] ?? 0);
      lines.push(`| ${[workload, `\`${name}\``, ...cells, ...counts, ratio].join(' | ')} |`);
    }
    if (optimum !== undefined) {
      const rest = [String(Math.round(optimum.turns)), '', '', optimum.isExact ? '1' : ''];
      const name = optimum.isExact ? 'the optimum' : 'at least';
      lines.push(`| ${[workload, `*${name}*`, secs(optimum.meanMs), '', '', '', ...rest].join(' | ')} |`);
    }
  }
  return lines.join('\n');
}

/** How much longer one waits than at the optimum, on engines that have a place for everybody: there it is known exactly. */
function ratios(seeds: readonly number[], known: ReadonlyMap<string, readonly Optimum[]>): string {
  const lines = [
    `| Workload | Optimum, mean | ${DISCIPLINES.map((name) => `\`${name}\``).join(' | ')} |`,
    `|---|---|${'---|'.repeat(DISCIPLINES.length)}`,
  ];
  for (const [workload, make] of Object.entries(GENERATORS)) {
    const optima = known.get(workload);
    if (optima === undefined) continue;
    const best = bestOf(optima);
    const runs = seeds.map((seed) =>
      play(() => make({ seed, spanMs: HOUR_MS }), DISCIPLINES, { places: FOR_EVERYBODY }),
    );
    const cells = DISCIPLINES.map((name) => mean(runs.map((run) => run.get(name)?.waits.meanMs ?? 0)) / best.meanMs);
    lines.push(`| ${[workload, secs(best.meanMs), ...cells.map((cell) => cell.toFixed(2))].join(' | ')} |`);
  }
  return lines.join('\n');
}

type Best = { readonly meanMs: number; readonly turns: number; readonly isExact: boolean };

function bestOf(optima: readonly Optimum[]): Best {
  return {
    meanMs: mean(optima.map(({ meanMs }) => meanMs)),
    turns: mean(optima.map(({ turns }) => turns)),
    isExact: optima.every(({ mostAtOnce }) => mostAtOnce <= PLACES),
  };
}

function ratioTo(best: Best | undefined, meanMs: number): string {
  if (best === undefined) return '';
  const ratio = meanMs / best.meanMs;
  const text = ratio < 9.995 ? ratio.toFixed(2) : String(Math.round(ratio));
  return best.isExact ? text : `at most ${text}`;
}

function scale(): void {
  for (const [models, requests] of [
    [10, 100_000],
    [100, 100_000],
    [1_000, 100_000],
    [1_000, 1_000_000],
  ] as const) {
    for (const policy of ['fifo', 'slack']) {
      const started = process.cpuUsage();
      const outcome = play(() => manyModels(models, requests, 3, 1), [policy]).get(policy);
      const { user, system } = process.cpuUsage(started);
      const events = outcome?.events ?? 1;
      const cpu = `${((user + system) / 1e6).toFixed(1)} s of CPU, ${((user + system) / events).toFixed(1)} us an event`;
      console.log(`${models} models, ${requests} requests, ${policy}: ${cpu}, ${outcome?.swaps} swaps`);
    }
  }
}

function pages(seeds: readonly number[]): string {
  const known = optimaOf(seeds);
  return `${table(seeds, known)}\n\n${RATIOS}\n\n${ratios(seeds, known)}`;
}

if (process.argv.includes('--scale')) scale();
else if (process.argv.includes('--seeds')) console.log(pages(SEEDS.slice(0, Number(process.argv.at(-1)))));
else {
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`docs/scheduling.md has no ${BEGIN}`);
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${pages(SEEDS)}\n\n${END}${after}`);
}
