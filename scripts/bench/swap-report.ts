import { table } from '../pages/markdown.ts';
import type { BareSwap } from './bare-engine.ts';
import type { CatnapSwap } from './catnap.ts';
import { median, medianInterval, quantile } from './statistics.ts';

/** The same swap three times over: through catnap, and twice by hand. */
export type Round = { readonly catnap: CatnapSwap; readonly bare: BareSwap; readonly again: BareSwap };

/** What catnap may add to a swap of tiny models, at the median. */
export const GOAL_MS = 50;

/** The tables of the bench as Markdown. Differences are taken round by round, since only neighbours had the same machine. */
export function report(rounds: readonly Round[]): string {
  const share = rounds.map(({ catnap, bare }) => catnap.totalMs - bare.totalMs);
  return [totals(rounds, share), verdict(share), legs(rounds)].join('\n\n');
}

function totals(rounds: readonly Round[], share: readonly number[]): string {
  const row = (name: string, samples: readonly number[]): string[] => [
    name,
    ...[0.5, 0.95, 0.99].map((q) => ms(quantile(samples, q))),
    `${ms(quantile(samples, 0.25))} to ${ms(quantile(samples, 0.75))}`,
  ];
  return table(
    ['Request to first byte across a swap, ms', 'median', 'p95', 'p99', 'middle half'],
    [
      row(
        'through catnap',
        column(rounds, ({ catnap }) => catnap.totalMs),
      ),
      row(
        'llama-server by hand',
        column(rounds, ({ bare }) => bare.totalMs),
      ),
      row(
        'llama-server by hand, again',
        column(rounds, ({ again }) => again.totalMs),
      ),
      row("**catnap's share**: catnap - by hand", share),
      row(
        'noise floor: by hand - by hand, again',
        column(rounds, ({ bare, again }) => bare.totalMs - again.totalMs),
      ),
    ],
  );
}

function verdict(share: readonly number[]): string {
  const [low, high] = medianInterval(share);
  const found = median(share);
  return `catnap's share at the median: ${ms(found)} ms (95 % sure: ${ms(low)} to ${ms(high)}); the goal of ${GOAL_MS} ms is ${found <= GOAL_MS ? 'met' : 'MISSED'}.`;
}

function legs(rounds: readonly Round[]): string {
  const row = (name: string, bare: ((swap: BareSwap) => number) | undefined, catnap: (swap: CatnapSwap) => number) => {
    const ours = median(column(rounds, (round) => catnap(round.catnap)));
    if (bare === undefined) return [name, '', ms(ours), ms(ours)];
    const theirs = median(column(rounds, (round) => bare(round.bare)));
    return [name, ms(theirs), ms(ours), ms(ours - theirs)];
  };
  return table(
    ['Where it goes, medians, ms', 'by hand', 'catnap', 'difference'],
    [
      row(
        'sleep: SIGTERM to the end of the process',
        ({ endMs }) => endMs,
        ({ legs: { sleep = 0 } }) => sleep,
      ),
      row('clear: the proof that nothing of it is left', undefined, ({ legs: { clear = 0 } }) => clear),
      row(
        'wake: spawn to first answer',
        ({ listenMs }) => listenMs,
        ({ legs: { wake = 0 } }) => wake,
      ),
      row(
        'ready: first answer to ready',
        ({ readyMs }) => readyMs,
        ({ legs: { ready = 0 } }) => ready,
      ),
      row(
        "answer: forwarded to the engine's first byte",
        ({ answerMs }) => answerMs,
        ({ answerMs }) => answerMs,
      ),
      row('the rest: arrival, decisions, the way back', undefined, restMs),
    ],
  );
}

const restMs = ({ totalMs, answerMs, legs: parts }: CatnapSwap): number =>
  totalMs - answerMs - Object.values(parts).reduce((sum, part) => sum + part, 0);

const column = <Row>(rows: readonly Row[], value: (row: Row) => number): number[] => rows.map(value);

const ms = (value: number): string => value.toFixed(1);
