// `npm run bench:policies`: plays the workloads under each discipline and writes the table of docs/scheduling.md. The same code gives the same numbers.
// `npm run bench:policies -- --scale`: how long an event takes with ten to a thousand models, up to a million requests.
import { readFileSync, writeFileSync } from 'node:fs';
import { FOREVER } from '../../src/core/kinds.ts';
import { compare, DISCIPLINES } from '../../src/simulate/compare.ts';
import { GENERATORS, manyModels } from '../../src/simulate/generators.ts';
import type { Outcome } from '../../src/simulate/tally.ts';
import type { Workload } from '../../src/simulate/workload.ts';

const PAGE = new URL('../../docs/scheduling.md', import.meta.url);
const [BEGIN, END] = ['<!-- begin: npm run bench:policies -->', '<!-- end -->'];
const SEEDS = [1, 2, 3, 4, 5];
const HOUR_MS = 3_600_000;
const SWAP = { comeMs: 2_000, goMs: 2_000 };

function play(workload: () => Workload, disciplines: readonly string[]): ReadonlyMap<string, Outcome> {
  return compare({
    workload,
    disciplines,
    stage: { capacity: 1, drains: true, drainMs: 600_000, minActiveMs: 0, priorityStepMs: 30_000 },
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
      targetInflight: 16,
      maxWaiting: 10_000_000,
      patienceMs: FOREVER,
      sleepLevel: 1,
    }),
    times: () => SWAP,
  });
}

const secs = (ms: number): string => (ms < 99_950 ? (ms / 1_000).toFixed(1) : String(Math.round(ms / 1_000)));
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function table(): string {
  const lines = [
    '| Workload | Policy | Mean | p95 | p99 | Longest | Swaps | Swapping | Draining |',
    '|---|---|---|---|---|---|---|---|---|',
  ];
  for (const [workload, make] of Object.entries(GENERATORS)) {
    const runs = SEEDS.map((seed) => play(() => make({ seed, spanMs: HOUR_MS }), DISCIPLINES));
    for (const name of DISCIPLINES) {
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
      lines.push(`| ${[workload, `\`${name}\``, ...cells, ...counts].join(' | ')} |`);
    }
  }
  return lines.join('\n');
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

if (process.argv.includes('--scale')) scale();
else {
  const page = readFileSync(PAGE, 'utf8');
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`docs/scheduling.md has no ${BEGIN}`);
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${table()}\n\n${END}${after}`);
}
