import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { Config } from '../config/schema.ts';
import { costFile } from '../adapters/cost-file.ts';
import { stagesOf } from '../config/stages.ts';
import { Costs } from '../core/costs.ts';
import { millis, type ModelId } from '../core/kinds.ts';
import { compare, DISCIPLINES } from '../simulate/compare.ts';
import { GENERATORS } from '../simulate/generators.ts';
import type { SwapTimes } from '../simulate/replay.ts';
import type { Outcome } from '../simulate/tally.ts';
import { fromZero, readTrace } from '../simulate/traces.ts';
import type { Arrival, Workload } from '../simulate/workload.ts';
import { ms } from './times.ts';
import { policyTermsOf, roomOf, roomsOf, type Rooms } from './stage-plan.ts';
import { planned, unsurveyed } from './stages.ts';

export type SimulateOptions = {
  readonly config: Config;
  /** Files, or the name of a generator. */
  readonly traces: readonly string[];
  readonly workload: string | undefined;
  readonly policy: string;
  readonly hours: number;
  readonly seed: number;
  /** How many times faster than it was the trace is played. */
  readonly speedUp: number;
  /** What every swap takes; where it is not said, what was learned of the model, or a guess. */
  readonly comeMs: number | undefined;
  readonly goMs: number | undefined;
};

export type Simulated =
  | {
      readonly kind: 'played';
      readonly workload: string;
      readonly outcomes: ReadonlyMap<string, Outcome>;
      readonly notes: readonly string[];
    }
  | { readonly kind: 'bad'; readonly problem: string };

const HOUR_MS = 3_600_000;
/** More lines than that are no trace somebody wants to wait for. */
const MOST_BYTES = 4 * 1_024 ** 3;

/** Plays a trace or a generated workload on the production stage, without engines or a clock. */
export async function simulate(options: SimulateOptions): Promise<Simulated> {
  const disciplines = options.policy === 'all' ? DISCIPLINES : DISCIPLINES.filter((name) => name === options.policy);
  if (disciplines.length === 0)
    return { kind: 'bad', problem: `--policy takes all or one of: ${DISCIPLINES.join(', ')}` };
  const source = options.traces.length > 0 ? traced(options) : generated(options);
  if ('problem' in source) return { kind: 'bad', problem: source.problem };
  const { config, comeMs, goMs } = options;
  const { policy } = config;
  const notes = [...source.notes, ...unmeasured(config)];
  const known = await costFile(config.state_dir, (problem) => notes.push(problem)).read();
  const timesOf = (model: ModelId): SwapTimes => {
    const costs = new Costs(known.get(model));
    const level = config.models[model]?.sleep_level ?? policy.sleep_level;
    return { comeMs: comeMs ?? costs.comeMs(level), goMs: goMs ?? costs.goMs(level) };
  };
  const plans = planned(config, unsurveyed(config), () => undefined);
  const boards = plans.map((plan) => ({ models: plan.models, rooms: roomsOf(config, plan) }));
  const [first] = boards;
  const outcomes = compare({
    workload: source.workload,
    disciplines,
    boards: boards.map(({ models, rooms }) => ({ models, capacity: rooms.capacity })),
    stage: {
      capacity: first?.rooms.capacity ?? 1,
      drains: policy.drain_before_switch,
      drainMs: ms(policy.drain_timeout_secs),
      minActiveMs: ms(policy.min_active_secs),
      priorityStepMs: ms(policy.priority_step_secs),
    },
    terms: policyTermsOf(config),
    model: (name) => ({
      ...roomTaken(name, config, boards),
      replicas: config.models[name]?.replicas ?? 1,
      targetInflight: config.models[name]?.target_inflight ?? policy.target_inflight,
      maxWaiting: policy.max_waiting,
      patienceMs: ms(policy.request_timeout_secs),
      sleepLevel: config.models[name]?.sleep_level ?? policy.sleep_level,
    }),
    times: timesOf,
  });
  return { kind: 'played', workload: source.workload().name, outcomes, notes };
}

/** Nothing is measured here: what is played may be on another machine. */
const unmeasured = (config: Config): readonly string[] =>
  stagesOf(config)
    .filter(({ capacity }) => capacity === undefined)
    .map(({ name }) => `stages.${name} has no capacity_mib: it is played with one model awake at a time.`);

type BoardRooms = { readonly models: readonly string[]; readonly rooms: Rooms };

/** A model that only the trace knows takes all the room there is. */
function roomTaken(name: string, config: Config, boards: readonly BoardRooms[]): ReturnType<typeof roomOf> {
  const settings = config.models[name];
  const [first] = boards;
  const board = boards.find(({ models }) => models.includes(name)) ?? first;
  if (board === undefined || settings === undefined) return { cost: board?.rooms.shared ?? 1 };
  return roomOf(settings, board.rooms);
}

type Source = { readonly workload: () => Workload; readonly notes: readonly string[] } | { readonly problem: string };

function generated({ workload: name, seed, hours }: SimulateOptions): Source {
  const generators: Readonly<Record<string, (terms: { readonly seed: number; readonly spanMs: number }) => Workload>> =
    GENERATORS;
  const known = Object.keys(GENERATORS).join(', ');
  if (name === undefined) return { problem: `say what to play: --trace FILE, or --workload with one of ${known}` };
  const generator = Object.hasOwn(generators, name) ? generators[name] : undefined;
  if (generator === undefined) return { problem: `--workload takes one of: ${known}` };
  return { workload: () => generator({ seed, spanMs: hours * HOUR_MS }), notes: [] };
}

function traced({ traces, config, speedUp }: SimulateOptions): Source {
  const notes: string[] = [];
  const all: Arrival[] = [];
  for (const trace of traces) {
    const [model, file] = namedModel(trace);
    let read;
    try {
      read = readTrace(linesOf(file), model);
    } catch (error) {
      return { problem: `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}` };
    }
    if (read.kind === 'unreadable') return { problem: `${file} is no trace: ${read.problem}` };
    if (read.skipped > 0) notes.push(`${read.skipped} lines of ${file} are no requests and were left out.`);
    for (const arrival of read.arrivals) all.push(arrival);
  }
  const arrivals = fromZero(all).map((arrival) => ({ ...arrival, at: faster(arrival.at, speedUp) }));
  const models = [...new Set(arrivals.map(({ model }) => model))];
  const strangers = models.filter((model) => !Object.hasOwn(config.models, model));
  if (strangers.length > 0 && strangers.length < models.length)
    notes.push(`Not in the config, and taken as models of their own: ${strangers.join(', ')}.`);
  return { workload: () => ({ name: traces.join(', '), models, arrivals }), notes };
}

const faster = (at: Arrival['at'], speedUp: number): Arrival['at'] => (speedUp === 1 ? at : millis(at / speedUp));

/** `alpha=chat.csv` says whose requests a file has. */
function namedModel(trace: string): readonly [model: string | undefined, file: string] {
  const at = trace.indexOf('=');
  return at <= 0 ? [undefined, trace] : [trace.slice(0, at), trace.slice(at + 1)];
}

/** The lines of a file, without holding all of it. */
function* linesOf(file: string): Generator<string> {
  const handle = openSync(file, 'r');
  try {
    const decoder = new StringDecoder('utf8');
    const buffer = Buffer.alloc(1 << 20);
    let rest = '';
    let total = 0;
    for (let got = readSync(handle, buffer); got > 0; got = readSync(handle, buffer)) {
      total += got;
      if (total > MOST_BYTES) throw new Error('it is larger than 4 GiB');
      const lines = (rest + decoder.write(buffer.subarray(0, got))).split(/\r?\n/);
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') yield rest;
  } finally {
    closeSync(handle);
  }
}
