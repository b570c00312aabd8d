// `npm run bench:swap -- [--rounds 200] [--raw FILE] [--profile FOLDER]`: what catnap adds to a swap between two tiny models, measured
// against the same llama-server driven by hand in the same run. Prints Markdown.
// `npm run bench:swap -- --level 1,2,3,hybrid,4,5 [--rounds 60] [--quick]`: the same at each sleep level; `--level all` for all of them. `--quick` sees whether
// everything runs, and not how fast it is. `--before FOLDER`: another checkout of catnap, built, in the same rounds.
// `--quick-tools`: with stand-ins for nvidia-smi and cuda-checkpoint that take next to nothing to start.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import type { ConfigInput, ModelInput } from '../../src/config/schema.ts';
import { requireLlama } from '../../test/helpers/llama.ts';
import { randomModel } from '../../test/helpers/models.ts';
import { BareEngine, type Recipe } from './bare-engine.ts';
import { Catnap } from './catnap.ts';
import { levelReport, LEVELS, measureLevel, ORDERS, type Measured } from './swap-levels.ts';
import { report, type Round } from './swap-report.ts';

type Subjects = { readonly catnap: Catnap; readonly bare: BareEngine; readonly again: BareEngine };

/** A swap takes about a tenth of a second; one that takes so long hangs. */
const SWAP_LIMIT_MS = 20_000;
/** Rounds before the measured ones, in which caches fill and code is compiled. */
const WARM_UP = 12;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    level: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    /** Gets every round as JSON. */
    raw: { type: 'string' },
    /** Tools of the lab that start at once. */
    'quick-tools': { type: 'boolean', default: false },
    /** Another checkout of catnap, built, to be measured beside this one. */
    before: { type: 'string' },
    /** Gets a CPU profile of catnap. */
    profile: { type: 'string' },
  },
});
const wanted = values.level === 'all' ? [...LEVELS] : values.level.split(',').filter((text) => text !== '');
const levels = LEVELS.filter((level) => wanted.includes(level));
if (levels.length < wanted.length) throw new Error(`--level takes some of ${LEVELS.join(', ')}, or all`);
const rounds = Number(values.rounds ?? (values.quick ? 10 : levels.length > 0 ? 60 : 200));
const warmUp = values.quick ? 2 : WARM_UP;
if (!Number.isSafeInteger(rounds) || rounds < 10 || rounds > 5_000) throw new Error('--rounds takes 10 to 5000');
if (process.platform !== 'linux')
  throw new Error('the bench reads how an engine was started from /proc: run it on Linux');

const before = values.before === undefined ? undefined : resolve(values.before);

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interrupted.abort(new Error(`${signal}: the bench was called off`)));
}

async function bench(): Promise<string> {
  const server = await requireLlama();
  const models = { alpha: tiny(await randomModel({ seed: 1 })), beta: tiny(await randomModel({ seed: 2 })) };
  const folder = mkdtempSync(join(tmpdir(), 'catnap-bench-'));
  try {
    const loadBefore = load();
    const measured = await measure(folder, { llama_server_command: server, models });
    if (values.raw !== undefined) writeFileSync(values.raw, JSON.stringify(measured));
    return [report(measured), await conditions(server, loadBefore)].join('\n\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function benchLevels(): Promise<string> {
  const server = await requireLlama();
  const loadBefore = load();
  const all: Measured[] = [];
  const failed: string[] = [];
  for (const level of levels) {
    try {
      all.push(await measureLevel(level, { rounds, warmUp, limit, before, quickTools: values['quick-tools'] }));
    } catch (error) {
      failed.push(`Level ${level} was not measured: ${error instanceof Error ? error.message : String(error)}`);
      if (interrupted.signal.aborted) break;
    }
    process.stderr.write(`level ${level} is done, load ${load()}\n`);
  }
  if (values.raw !== undefined) writeFileSync(values.raw, JSON.stringify(all));
  return [levelReport(all), ...failed, await conditions(server, loadBefore)].join('\n\n');
}

/** A second thread makes models of this size slower. */
const tiny = (file: string): ModelInput => ({
  backend: 'llama_server',
  model_path: file,
  llama_server_n_ctx: 2_048,
  extra_args: ['--threads', '1'],
});

async function measure(folder: string, config: ConfigInput): Promise<readonly Round[]> {
  const profile = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(values.profile)}`];
  const recipes = new Map<string, Recipe>();
  const bare = new BareEngine(recipes, join(folder, 'bare.log'));
  const again = new BareEngine(recipes, join(folder, 'again.log'));
  const catnap = await Catnap.start(folder, config, { nodeArgs: profile });
  try {
    for (const model of ['alpha', 'beta']) {
      await catnap.swapTo(model, limit());
      recipes.set(model, await catnap.recipe(model, limit()));
    }
    const measured: Round[] = [];
    for (let round = 0; round < warmUp + rounds; round += 1) {
      const swaps = await swapInTurn({ catnap, bare, again }, round);
      if (round >= warmUp) measured.push(swaps);
    }
    return measured;
  } finally {
    await Promise.all([catnap.stop(), bare.stop(), again.stop()]);
  }
}

/** One after the other, so that they do not take each other's processor time. */
async function swapInTurn({ catnap, bare, again }: Subjects, round: number): Promise<Round> {
  const model = round % 2 === 0 ? 'alpha' : 'beta';
  const swaps: { -readonly [Who in keyof Round]?: Round[Who] } = {};
  for (const who of ORDERS[Math.floor(round / 2) % ORDERS.length] ?? []) {
    if (who === 'catnap') swaps.catnap = await catnap.swapTo(model, limit());
    else if (who === 'bare') swaps.bare = await bare.swapTo(model, limit());
    else swaps.again = await again.swapTo(model, limit());
  }
  if (swaps.catnap === undefined || swaps.bare === undefined || swaps.again === undefined)
    throw new Error('an order lacks one of the three');
  return { catnap: swaps.catnap, bare: swaps.bare, again: swaps.again };
}

const limit = (): AbortSignal => AbortSignal.any([interrupted.signal, AbortSignal.timeout(SWAP_LIMIT_MS)]);

const load = (): string => (loadavg()[0] ?? 0).toFixed(1);

async function conditions(server: string, loadBefore: string): Promise<string> {
  const { all } = await execa(server, ['--version'], { all: true, stdin: 'ignore', timeout: 10_000 });
  const version = /^version: (.+)$/m.exec(all)?.[1] ?? 'of unknown version';
  return (
    `${rounds} rounds after ${warmUp} unmeasured ones; ${availableParallelism()} cores, ${process.platform} ${process.arch}, ` +
    `Node ${process.version}, llama-server ${version}; load average ${loadBefore} before, ${load()} after.`
  );
}

console.log(levels.length > 0 ? await benchLevels() : await bench());
