import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ConfigInput, ModelInput } from '../../src/config/schema.ts';
import { LEGS } from '../../src/core/swap.ts';
import { requireCriu } from '../../test/helpers/criu.ts';
import { Lab } from '../../test/helpers/lab.ts';
import { requireLlama } from '../../test/helpers/llama.ts';
import { randomModel } from '../../test/helpers/models.ts';
import { table } from '../pages/markdown.ts';
import { BareEngine, type Recipe } from './bare-engine.ts';
import { CriuByHand } from './by-hand-criu.ts';
import { LabByHand, startsIn, type LabLevel, type ToolStarts } from './by-hand-lab.ts';
import { Catnap, type CatnapSwap } from './catnap.ts';
import { quickTools, USUAL_TOOLS, type QuickTools } from './quick-tools.ts';
import { median, medianInterval, quantile } from './statistics.ts';
import { GOAL_MS } from './swap-report.ts';

export const LEVELS = ['1', '2', '3', 'hybrid', '4', '5'] as const;
export type BenchLevel = (typeof LEVELS)[number];

/** Two models that are swapped without catnap, each time with as little as it can be done with. */
type ByHand = {
  start(recipes: ReadonlyMap<string, Recipe>, signal: AbortSignal): Promise<void>;
  swapTo(model: string, signal: AbortSignal): Promise<number>;
  stop(): Promise<void>;
  readonly starts?: ToolStarts;
};

type Field = {
  readonly engine: string;
  readonly config: ConfigInput;
  readonly byHand: (folder: string) => ByHand;
  readonly env: Readonly<Record<string, string>>;
  /** What was started for catnap, where the tools are the lab's. */
  readonly starts?: () => ToolStarts;
};

/** In all measured rounds. */
type Starts = { readonly catnap: ToolStarts; readonly byHand: ToolStarts };

type Round = {
  readonly catnap: CatnapSwap;
  readonly bare: number;
  readonly again: number;
  /** Through another catnap. */
  readonly before?: CatnapSwap;
};
export type Measured = {
  readonly level: BenchLevel;
  readonly engine: string;
  readonly rounds: readonly Round[];
  readonly starts?: Starts;
};
export type Terms = {
  readonly rounds: number;
  readonly warmUp: number;
  readonly limit: () => AbortSignal;
  /** Another checkout, built, that is measured beside this one. */
  readonly before: string | undefined;
  /** Whether the lab's tools start at once. */
  readonly quickTools: boolean;
};

const MODELS = ['alpha', 'beta'] as const;
/** Every order of the three, so that none of them always has the same one before it. */
export const ORDERS = [
  ['catnap', 'bare', 'again'],
  ['again', 'catnap', 'bare'],
  ['bare', 'again', 'catnap'],
  ['bare', 'catnap', 'again'],
  ['catnap', 'again', 'bare'],
  ['again', 'bare', 'catnap'],
] as const;

/** What a swap leaves behind it, as a look in the background, is over in this time and does not slow the next one. */
const SETTLED_MS = 150;

/** Swaps two models at one level, in each round once through catnap and twice by hand, one after the other in changing order. */
export async function measureLevel(level: BenchLevel, terms: Terms): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'catnap-bench-'));
  const own = (name: string): string => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };
  const tools = terms.quickTools ? await quickTools() : USUAL_TOOLS;
  const field = await fieldOf(level, own('catnap'), tools);
  const hands = [field.byHand(own('bare')), field.byHand(own('again'))] as const;
  const catnap = await Catnap.start(join(folder, 'catnap'), field.config, { env: field.env });
  const before =
    terms.before === undefined
      ? undefined
      : await started(await fieldOf(level, own('before'), tools), join(folder, 'before'), terms.before);
  try {
    const recipes = new Map<string, Recipe>();
    for (const model of MODELS) {
      await before?.swapTo(model, terms.limit());
      await catnap.swapTo(model, terms.limit());
      recipes.set(model, await catnap.recipe(model, terms.limit()));
    }
    for (const hand of hands) await hand.start(recipes, terms.limit());
    const rounds: Round[] = [];
    const startsSoFar = (): Starts | undefined => {
      const [mine, theirs] = [field.starts?.(), hands[0].starts];
      return mine && theirs && { catnap: mine, byHand: theirs };
    };
    let from: Starts | undefined;
    for (let round = 0; round < terms.warmUp + terms.rounds; round += 1) {
      if (round === terms.warmUp) from = startsSoFar();
      const swaps = await inTurn(MODELS[round % 2] ?? 'alpha', round, { catnap, before, hands }, terms.limit);
      if (round >= terms.warmUp) rounds.push(swaps);
    }
    const to = startsSoFar();
    const starts = from && to && { catnap: gain(from.catnap, to.catnap), byHand: gain(from.byHand, to.byHand) };
    return { level, engine: field.engine, rounds, ...(starts !== undefined && { starts }) };
  } finally {
    await Promise.all([catnap.stop(), before?.stop(), ...hands.map((hand) => hand.stop())]);
    tools.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const gain = (from: ToolStarts, to: ToolStarts): ToolStarts => ({
  'nvidia-smi': to['nvidia-smi'] - from['nvidia-smi'],
  'cuda-checkpoint': to['cuda-checkpoint'] - from['cuda-checkpoint'],
});

const started = ({ config, env }: Field, folder: string, checkout: string): Promise<Catnap> =>
  Catnap.start(folder, config, { env, checkout });

type Subjects = {
  readonly catnap: Catnap;
  readonly before: Catnap | undefined;
  readonly hands: readonly [ByHand, ByHand];
};

async function inTurn(
  model: string,
  round: number,
  { catnap, before, hands: [bare, again] }: Subjects,
  limit: () => AbortSignal,
): Promise<Round> {
  const took: { catnap?: CatnapSwap; before?: CatnapSwap; bare?: number; again?: number } = {};
  const settled = async <Swap>(swap: Promise<Swap>): Promise<Swap> => {
    const done = await swap;
    await pause(SETTLED_MS);
    return done;
  };
  const turn = Math.floor(round / 2);
  for (const who of ORDERS[turn % ORDERS.length] ?? []) {
    if (who === 'catnap') {
      const each = [['catnap', catnap] as const, ...(before === undefined ? [] : [['before', before] as const])];
      for (const [name, subject] of turn % 2 === 0 ? each : each.toReversed())
        took[name] = await settled(subject.swapTo(model, limit()));
    } else took[who] = await settled((who === 'bare' ? bare : again).swapTo(model, limit()));
  }
  const { catnap: swap, bare: first, again: second, before: other } = took;
  if (swap === undefined || first === undefined || second === undefined)
    throw new Error('an order lacks one of the three');
  return { catnap: swap, bare: first, again: second, ...(other !== undefined && { before: other }) };
}

function fieldOf(level: BenchLevel, folder: string, tools: QuickTools): Promise<Field> {
  if (level === '4' || level === '5') return llamaField(level, folder);
  return Promise.resolve(
    labField(level === 'hybrid' ? level : level === '1' ? 1 : level === '2' ? 2 : 3, folder, tools),
  );
}

/** A second thread makes models of this size slower. */
const tiny = (file: string, level: 4 | 5): ModelInput => ({
  backend: 'llama_server',
  model_path: file,
  sleep_level: level,
  llama_server_n_ctx: 2_048,
  extra_args: ['--threads', '1'],
});

async function llamaField(level: '4' | '5', folder: string): Promise<Field> {
  const server = await requireLlama();
  const [alpha, beta] = await Promise.all([randomModel({ seed: 1 }), randomModel({ seed: 2 })]);
  const sleep_level = level === '4' ? 4 : 5;
  const models = { alpha: tiny(alpha, sleep_level), beta: tiny(beta, sleep_level) };
  const config: ConfigInput = { llama_server_command: server, models };
  const none = { env: {} };
  if (level === '5') return { engine: 'llama-server', config, byHand: (own) => new Restarting(own), ...none };
  const criu = await requireCriu({
    skip: (reason = 'no criu') => {
      throw new Error(reason);
    },
  });
  return {
    engine: 'llama-server, criu',
    config: { ...config, checkpoint: { criu_path: criu, images_dir: join(folder, 'images') } },
    byHand: (own) => new CriuByHand(criu, own),
    ...none,
  };
}

function labField(level: LabLevel, folder: string, tools: QuickTools): Field {
  const gpus = level === 'hybrid' ? [24_000, 24_000] : [24_000];
  const lab = tools.into(new Lab(folder, gpus));
  const more =
    level === 'hybrid'
      ? { extra_args: ['--tensor-parallel-size', '2', '--enforce-eager', '--disable-custom-all-reduce'] }
      : {};
  const settings = level === 'hybrid' ? ({ communicatorCalls: 'checkpoint_prepare' } as const) : {};
  const model = (path: string): ModelInput => lab.vllm(settings, { ...more, model_path: path, sleep_level: level });
  return {
    engine: level === 'hybrid' ? 'stand-in for vLLM on two GPUs' : 'stand-in for vLLM',
    config: { ...lab.root, models: { alpha: model('lab/alpha'), beta: model('lab/beta') } },
    byHand: (own) => new LabByHand(tools.into(new Lab(own, gpus)), level, own),
    env: lab.env,
    starts: () => startsIn(lab),
  };
}

/** Level 5: the other one is ended, this one is started. */
class Restarting implements ByHand {
  readonly #recipes = new Map<string, Recipe>();
  readonly #engine: BareEngine;

  constructor(folder: string) {
    this.#engine = new BareEngine(this.#recipes, join(folder, 'by-hand.log'));
  }

  async start(recipes: ReadonlyMap<string, Recipe>): Promise<void> {
    for (const [model, recipe] of recipes) this.#recipes.set(model, recipe);
  }

  async swapTo(model: string, signal: AbortSignal): Promise<number> {
    return (await this.#engine.swapTo(model, signal)).totalMs;
  }

  stop(): Promise<void> {
    return this.#engine.stop();
  }
}

/** One row for each level, and where the time of catnap's swaps went. */
export function levelReport(all: readonly Measured[]): string {
  const rows = all.map(({ level, engine, rounds }) => {
    const share = rounds.map(({ catnap, bare }) => catnap.totalMs - bare);
    const noise = rounds.map(({ bare, again }) => bare - again);
    const found = median(share);
    return [
      level,
      engine,
      spread(rounds.map(({ catnap }) => catnap.totalMs)),
      spread(rounds.map(({ bare }) => bare)),
      `**${ms(found)}** (${medianInterval(share).map(ms).join(' to ')})`,
      ms(quantile(share, 0.95)),
      spread(noise),
      found <= GOAL_MS ? 'met' : 'MISSED',
    ];
  });
  const parts = all.map(({ level, rounds }) => [
    level,
    ...LEGS.map((leg) => ms(median(rounds.map(({ catnap }) => catnap.legs[leg] ?? 0)))),
    ms(median(rounds.map(({ catnap }) => catnap.answerMs))),
    ms(median(rounds.map(({ catnap }) => restOf(catnap)))),
  ]);
  const starts = all.flatMap(({ level, rounds, starts: found }) => {
    if (found === undefined) return [];
    const each = (tool: keyof ToolStarts): string[] =>
      [found.catnap, found.byHand].map((who) => (who[tool] / rounds.length).toFixed(1));
    return [[level, ...each('nvidia-smi'), ...each('cuda-checkpoint')]];
  });
  const heads = [
    'Level',
    'Engine',
    'through catnap',
    'by hand',
    "catnap's share",
    'its p95',
    'noise floor',
    `${GOAL_MS} ms`,
  ];
  return [
    'Request to first byte across a swap, ms: medians, with the middle half, and for the share what the median is 95 % sure to lie in.',
    table(heads, rows),
    ...besideBefore(all),
    "Where catnap's time goes, medians, ms:",
    table(['Level', ...LEGS, 'answer', 'the rest'], parts),
    ...(starts.length === 0
      ? []
      : ['Programs started for one swap, each a process of its own:', table(STARTS, starts)]),
  ].join('\n\n');
}

/** The other checkout, each of its swaps against the one of this checkout in the same round. */
function besideBefore(all: readonly Measured[]): readonly string[] {
  const rows = all.flatMap(({ level, rounds }) => {
    const both = rounds.flatMap(({ catnap, before, bare }) =>
      before === undefined ? [] : [{ less: before.totalMs - catnap.totalMs, share: before.totalMs - bare }],
    );
    if (both.length === 0) return [];
    const [less, share] = [both.map((each) => each.less), both.map((each) => each.share)];
    const sure = (of: readonly number[]): string => `${ms(median(of))} (${medianInterval(of).map(ms).join(' to ')})`;
    return [[level, sure(share), sure(less)]];
  });
  if (rows.length === 0) return [];
  return ['The checkout before, ms:', table(['Level', 'its share', 'what this one saves'], rows)];
}

const STARTS = ['Level', 'nvidia-smi by catnap', 'by hand', 'cuda-checkpoint by catnap', 'by hand'];

const restOf = ({ totalMs, answerMs, legs }: CatnapSwap): number =>
  totalMs - answerMs - Object.values(legs).reduce((sum, part) => sum + part, 0);

const spread = (samples: readonly number[]): string =>
  `${ms(median(samples))} (${ms(quantile(samples, 0.25))} to ${ms(quantile(samples, 0.75))})`;

const ms = (value: number): string => value.toFixed(1);
