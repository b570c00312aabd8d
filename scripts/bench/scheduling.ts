// Plays the workloads of docs/scheduling.md for real, through catnap under each policy and through the peers that are on the PATH: `npm run bench:scheduling -- --help`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Ports } from '../../src/adapters/ports.ts';
import { GENERATORS } from '../../src/simulate/generators.ts';
import { waitFor } from '../../test/helpers/wait-for.ts';
import { table } from '../pages/markdown.ts';
import { pathOf, startPinned, stop } from './data-plane/pinned.ts';
import { CONTENDERS, type Contender } from './scheduling/contenders.ts';
import { endEngines, play, type Played } from './scheduling/play.ts';
import { quantile } from './statistics.ts';

const HELP = `Usage: npm run bench:scheduling -- [--quick] [--rounds N] [--secs N] [--speed-up N] [--workloads NAME,...] [--only TEXT,...]
It takes about rounds x workloads x contenders x (secs + 5) seconds: forty minutes with what is given in brackets and all peers.
  --rounds     how often each pair of workload and server is run (3); in each round another server is first, and all meet the same requests
  --secs       how long requests come in a run (20)
  --speed-up   how many times faster than in docs/scheduling.md everything goes (10)
  --quick      five seconds of one workload: whether everything runs
  --workloads  of ${Object.keys(GENERATORS).join(', ')} (light,moderate,skew,heavy,zipf)
  --only       those whose name has one of these texts in it (all that are there)`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    secs: { type: 'string', default: '20' },
    'speed-up': { type: 'string', default: '10' },
    workloads: { type: 'string', default: 'light,moderate,skew,heavy,zipf' },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const listed = (text: string): readonly string[] => text.split(',').filter((part) => part !== '');
const rounds = values.quick ? 1 : wholeNumber('rounds', 50);
const secs = values.quick ? 5 : wholeNumber('secs', 600);
const speedUp = wholeNumber('speed-up', 100);
const names = values.quick ? ['moderate'] : listed(values.workloads);
/** After the last request has come, so much is left for the answers; who has none by then is not served. */
const GRACE_SECS = 20;

function wholeNumber(name: 'rounds' | 'secs' | 'speed-up', most: number): number {
  const number = Number(values[name]);
  if (!Number.isSafeInteger(number) || number < 1 || number > most) throw new Error(`--${name} takes 1 to ${most}`);
  return number;
}

async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'catnap-bench-'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const texts = listed(values.only);
  const wanted = CONTENDERS.filter(({ name }) => texts.length === 0 || texts.some((text) => name.includes(text)));
  const there = wanted.filter(({ program }) => pathOf(program) !== undefined);
  const skipped = wanted.filter((contender) => !there.includes(contender)).map(({ name }) => name);
  const loadBefore = load();
  const runs = new Map<string, Played[]>();
  for (let round = 0; round < rounds; round += 1)
    for (const workload of names)
      for (const contender of inTurn(there, round)) {
        const key = `${workload} ${contender.name}`;
        const own = join(folder, `${round} ${key}`.replaceAll(' ', '-'));
        const played = await run(contender, workload, round, own);
        runs.set(key, [...(runs.get(key) ?? []), played]);
        process.stderr.write(`${key}: mean ${played.meanMs.toFixed(0)} ms, load ${load()}\n`);
      }
  console.log(report(there, runs));
  if (skipped.length > 0) console.log(`\nNot on the PATH: ${skipped.join(', ')}.`);
  console.log(
    `\nThe median of ${rounds} rounds and between what they lie; unserved is the most of a round; ${secs} s of requests each, ${speedUp} times as fast; ${availableParallelism()} cores, Node ${process.version}; load average ${loadBefore} before, ${load()} after.`,
  );
}

/** Each of them is first in another round: what else the machine does hits all alike. */
const inTurn = <T>(list: readonly T[], round: number): readonly T[] => {
  const at = round % Math.max(1, list.length);
  return [...list.slice(at), ...list.slice(0, at)];
};

async function run(
  { name, program, prepare }: Contender,
  workload: string,
  round: number,
  folder: string,
): Promise<Played> {
  const make = Object.entries(GENERATORS).find(([each]) => each === workload)?.[1];
  if (make === undefined) throw new Error(`--workloads ${workload}: there is none of this name`);
  const requests = make({ seed: round + 1, spanMs: secs * 1_000 * speedUp });
  mkdirSync(folder);
  const log = join(folder, 'engines.log');
  writeFileSync(log, '');
  const free = new Ports();
  const ports: number[] = [];
  for (const _ of requests.models) ports.push(await free.free());
  const place = { folder, port: await free.free(), models: requests.models, ports, speedUp, log };
  const child = startPinned('anywhere', prepare(pathOf(program) ?? program, place));
  try {
    await waitFor(`${name} to listen`, () => child.exitCode !== null || listens(place.port));
    if (child.exitCode !== null) throw new Error(`${name} ended at once with ${child.exitCode}`);
    return await play(requests, place.port, { speedUp, limitMs: (secs + GRACE_SECS) * 1_000, log });
  } finally {
    await stop(child);
    endEngines(log);
  }
}

function report(there: readonly Contender[], runs: ReadonlyMap<string, readonly Played[]>): string {
  const heads = [
    'Workload',
    'Through',
    'Mean',
    'p95',
    'p99',
    'Longest',
    'Switches',
    'Switching',
    'Requests',
    'Unserved',
  ];
  const rows = names.flatMap((workload) =>
    there.map(({ name }) => {
      const played = runs.get(`${workload} ${name}`) ?? [];
      const median = (pick: (one: Played) => number): number => quantile(played.map(pick), 0.5);
      return [
        workload,
        `\`${name}\``,
        spread(played.map(({ meanMs }) => meanMs)),
        spread(played.map(({ p95Ms }) => p95Ms)),
        spread(played.map(({ p99Ms }) => p99Ms)),
        spread(played.map(({ maxMs }) => maxMs)),
        median(({ swaps }) => swaps).toFixed(0),
        `${(100 * median(({ swappingShare }) => swappingShare)).toFixed(0)} %`,
        median(({ requests }) => requests).toFixed(0),
        played
          .map(({ unserved }) => unserved)
          .reduce((a, b) => Math.max(a, b), 0)
          .toFixed(0),
      ];
    }),
  );
  return table(heads, rows);
}

/** The median of the rounds, and between what they lie. */
function spread(values: readonly number[]): string {
  const median = secsOf(quantile(values, 0.5));
  return values.length < 2 ? median : `${median} (${secsOf(Math.min(...values))} to ${secsOf(Math.max(...values))})`;
}

const secsOf = (ms: number): string => (ms / 1_000).toFixed(2);
const load = (): string => (loadavg()[0] ?? 0).toFixed(1);

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1', () => resolve(true));
  socket.once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}

if (values.help) console.log(HELP);
else await bench();
