import { FOREVER, millis } from '../../../src/core/kinds.ts';
import { compare } from '../../../src/simulate/compare.ts';
import type { Outcome } from '../../../src/simulate/tally.ts';
import type { Arrival, Workload } from '../../../src/simulate/workload.ts';

export const SECOND = 1_000;

export type World = {
  readonly workload: Workload;
  readonly maxWaitMs: number;
  readonly servingShare?: number;
  readonly holds?: boolean;
  readonly comeMs: number;
  readonly goMs: number;
  readonly places?: number;
  readonly stepMs?: number;
  readonly minActiveMs?: number;
};

/** Plays one world under one discipline. What its swaps cost is known from the start. */
export function play(discipline: string, world: World): Outcome {
  const { workload, maxWaitMs, servingShare = 0.8, holds = true, comeMs, goMs, places = 16 } = world;
  const { stepMs = 0, minActiveMs = 0 } = world;
  const outcome = compare({
    workload: () => workload,
    disciplines: [discipline],
    stage: { capacity: 1, drains: true, drainMs: 600 * SECOND, minActiveMs, priorityStepMs: stepMs },
    terms: { maxWaitMs, coalesceMs: 2_000, amortization: 0.5, tickMs: 500, quantumMs: 2_000, servingShare, holds },
    model: () => ({
      cost: 1,
      replicas: 1,
      targetInflight: places,
      maxWaiting: 1_000_000,
      patienceMs: FOREVER,
      sleepLevel: 1,
      costs: { 'come:5': known(comeMs), 'come:1': known(comeMs), 'go:1': known(goMs) },
    }),
    times: () => ({ comeMs, goMs }),
  }).get(discipline);
  if (outcome === undefined) throw new Error(`${discipline} was not played`);
  return outcome;
}

const known = (ms: number) => ({ ms, spreadMs: 0, samples: 9 });

/** Requests for each model at equal distances. */
export function regular(rates: readonly number[], serviceMs: number, spanMs: number): Workload {
  const arrivals: Arrival[] = rates.flatMap((perSec, n) => {
    const gapMs = SECOND / perSec;
    const count = Math.floor(spanMs / gapMs);
    return Array.from({ length: count }, (_, k) => ({ at: millis((k + n / 10) * gapMs), model: `m${n}`, serviceMs }));
  });
  return { name: 'regular', models: rates.map((_, n) => `m${n}`), arrivals: arrivals.toSorted((a, b) => a.at - b.at) };
}

export type Spell = { readonly fromMs: number; readonly toMs: number };

/** The turns of each model. */
export const turnsOf = ({ timeline, byModel }: Outcome): readonly (readonly Spell[])[] =>
  [...byModel.keys()].map((model) => timeline.filter((each) => each.model === model && each.phase === 'awake'));

/** The longest time each model was not awake, between its turns, up to a moment. */
export const absences = (outcome: Outcome, untilMs: number): readonly number[] =>
  turnsOf(outcome).map((turns) => {
    const gaps = turns.slice(1).map(({ fromMs }, n) => (fromMs <= untilMs ? fromMs - (turns[n]?.toMs ?? 0) : 0));
    return Math.max(0, ...gaps);
  });

/** For how long each model was awake up to a moment. */
export const awakeMs = (outcome: Outcome, untilMs: number): readonly number[] =>
  turnsOf(outcome).map((turns) =>
    turns.reduce((sum, { fromMs, toMs }) => sum + Math.max(0, Math.min(toMs, untilMs) - fromMs), 0),
  );

export const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
