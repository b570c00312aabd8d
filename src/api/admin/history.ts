import { Hono, type Context } from 'hono';
import type { Fact } from '../../core/facts.ts';
import { LEGS, type SwapRecord } from '../../core/swap.ts';
import { eventStream } from '../event-stream.ts';
import type { ControlDeps } from '../deps.ts';
import { factFor, hisOf } from '../narrow.ts';
import { refuse } from '../refusal.ts';
import { visitorOf, type Visited } from '../visitor.ts';
import { ADMIN, type SwapRow, type SwapList } from './contract.ts';
import { unknown } from './models.ts';
import { countOf, readFlag, wholeOf } from './query.ts';

/** What has happened, with its place in the order of events. */
export type Entry = { readonly seq: number; readonly at: Date; readonly fact: Fact };

export interface History {
  /** Whose numbers these are, without a dot. */
  readonly run: string;
  readonly last: number;
  /** The oldest ones first, at most so many. */
  since(seq: number, most?: number): { readonly entries: readonly Entry[]; readonly missed: number };
  /** The ends of the last swaps, the oldest ones first. */
  readonly swaps: readonly Entry[];
  /** Calls back after everything new, until the returned function is called. */
  watch(listener: () => void): () => void;
}

/** What engines have printed, and what they print from now on. */
export interface Output {
  tail(model: string, lines: number): readonly string[];
  watch(model: string, listener: (line: string) => void): () => void;
}

const MOST_SWAPS = 1_000;
const USUAL_SWAPS = 50;
const MOST_LINES = 10_000;
const USUAL_LINES = 200;
/** So many past events are sent before the reader has read some: all that are kept may be more than may wait for one who is slow. */
const PORTION = 500;

/** What happened, as it happens: facts, swaps, and what engines print. */
export function history(deps: ControlDeps): Hono<Visited> {
  const { journal, output, find } = deps;
  const app = new Hono<Visited>();

  app.get(`${ADMIN}/events`, (c) => {
    const given = c.req.header('last-event-id') ?? c.req.query('after');
    const asked = given === undefined ? { from: journal.last, isOurs: true } : place(given, journal);
    if (asked === undefined) {
      return refuse(c, 'invalid_request', 'Last-Event-ID must be the id of an event, or 0 for all that are kept.');
    }
    const isHis = hisOf(deps, visitorOf(c).mayUse);
    return eventStream(c, deps, (push) => {
      let seen = asked.from;
      if (!asked.isOurs) push('event: missed\ndata: {"missed":null}\n\n');
      let isLive = false;
      const tell = (most?: number): void => {
        const { entries, missed } = journal.since(seen, most);
        seen = entries.at(-1)?.seq ?? journal.last;
        if (missed > 0) push(`event: missed\ndata: ${JSON.stringify({ missed })}\n\n`);
        for (const { seq, at, fact: whole } of entries) {
          const fact = isHis === undefined ? whole : factFor(whole, isHis);
          if (fact === undefined) continue;
          push(
            `id: ${journal.run}.${seq}\nevent: ${fact.kind}\ndata: ${JSON.stringify({ at: at.toISOString(), ...fact })}\n\n`,
          );
        }
      };
      const more = (): void => {
        if (isLive) return;
        tell(PORTION);
        isLive = seen === journal.last;
      };
      more();
      const stop = journal.watch(() => {
        if (isLive) tell();
      });
      return { stop, more };
    });
  });

  app.get(`${ADMIN}/swaps`, (c) => {
    const limit = countOf(c.req.query('limit'), USUAL_SWAPS, MOST_SWAPS);
    if (limit === undefined) return refuse(c, 'invalid_request', `limit must be from 1 to ${MOST_SWAPS}.`, 'limit');
    const isHis = hisOf(deps, visitorOf(c).mayUse);
    const swaps = journal.swaps
      .flatMap(({ at, fact: whole }) => {
        const fact = isHis === undefined ? whole : factFor(whole, isHis);
        return fact?.kind === 'swap-finished' ? [swapRow(at, fact.record)] : [];
      })
      .toReversed()
      .slice(0, limit);
    return c.json({ swaps } satisfies SwapList);
  });

  app.get(`${ADMIN}/logs/:name{.+}`, (c) => {
    const name = c.req.param('name');
    const model = find(name, visitorOf(c).mayUse);
    if (model === undefined) return refuse(c, 'unknown_model', unknown(name), 'model');
    const lines = countOf(c.req.query('lines'), USUAL_LINES, MOST_LINES);
    if (lines === undefined) return refuse(c, 'invalid_request', `lines must be from 1 to ${MOST_LINES}.`, 'lines');
    const text = output.tail(model, lines).map((line) => `${line}\n`);
    const follows = readFlag(c.req.query('follow'));
    if (follows === 'bad') return refuse(c, 'invalid_request', 'follow must be true or false.', 'follow');
    if (follows !== true) return c.text(text.join(''));
    return follow(c, deps, text, (listener) => output.watch(model, listener));
  });

  return app;
}

/** Where a reader goes on. An id of another catnap says nothing about our numbers, so he gets all there is. */
function place(given: string, { run, last }: History): { readonly from: number; readonly isOurs: boolean } | undefined {
  const dot = given.indexOf('.');
  const seq = wholeOf(given.slice(dot + 1));
  if (Number.isNaN(seq) || dot === 0) return undefined;
  const isOurs = dot < 0 ? seq <= last : given.slice(0, dot) === run;
  return { from: isOurs ? Math.min(seq, last) : 0, isOurs };
}

function follow(
  c: Context,
  deps: ControlDeps,
  before: readonly string[],
  watch: (listener: (line: string) => void) => () => void,
) {
  return eventStream(
    c,
    deps,
    (push) => {
      if (before.length > 0) push(before.join(''));
      return { stop: watch((line) => push(`${line}\n`)) };
    },
    { type: 'text/plain; charset=utf-8', ping: undefined },
  );
}

function swapRow(at: Date, { id, to, from, totalMs, overheadMs, legs, level, result }: SwapRecord): SwapRow {
  const taken = LEGS.flatMap((leg) => (legs[leg] === undefined ? [] : [[leg, legs[leg] / 1_000] as const]));
  return {
    id,
    to,
    from: [...from],
    finished_at: at.toISOString(),
    total_secs: totalMs / 1_000,
    legs_secs: Object.fromEntries(taken),
    overhead_secs: overheadMs / 1_000,
    woken_from_level: level,
    result,
  };
}
