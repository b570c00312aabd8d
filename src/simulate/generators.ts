import { after, millis, type Millis } from '../core/kinds.ts';
import { Random } from './random.ts';
import type { Arrival, Workload } from './workload.ts';

const SECOND = 1_000;
const SERVICE_MS = 3 * SECOND;
const LONGEST_SERVICE_MS = 120 * SECOND;

type Terms = { readonly seed: number; readonly spanMs: number };

const serviceOf = (random: Random): number => Math.min(LONGEST_SERVICE_MS, random.lognormal(SERVICE_MS));

/** The workloads that policies are compared on, by name. */
export const GENERATORS = {
  /** One request in ten seconds. */
  light: (terms) => poisson('light', { a: 0.05, b: 0.05 }, terms),
  /** One a second for two models: an engine with room for 16 has a fifth of it to do. */
  moderate: (terms) => poisson('moderate', { a: 0.5, b: 0.5 }, terms),
  /** Twenty for one model to each for the other. */
  skew: (terms) => poisson('skew', { a: 2, b: 0.1 }, terms),
  /** Three quarters of what the hardware could serve without any swap. */
  heavy: (terms) => poisson('heavy', { a: 2, b: 2 }, terms),
  /** Five models, asked for in bursts, the first five times as often as the last. */
  zipf: (terms) => bursty('zipf', { a: 0.5, b: 0.25, c: 0.17, d: 0.12, e: 0.1 }, terms),
  /** Three agents that ask two models in turn and wait for each answer. */
  agents: (terms) => agents(3, terms),
  /** Four who chat with one model, and one who chats with another. */
  chat: (terms) => chat(terms),
  /** One that always asks for the model that was put away last. */
  adversary: (terms) => adversary(terms),
  /** Like moderate, but half of the clients leave after some seconds and ask again. */
  abandoned: (terms) => abandoned(terms),
} as const satisfies Record<string, (terms: Terms) => Workload>;

type Rates = Readonly<Record<string, number>>;

/** Arrivals at random, so many a second for each model. */
function poisson(name: string, rates: Rates, { seed, spanMs }: Terms): Workload {
  const random = new Random(seed);
  const arrivals = Object.entries(rates).flatMap(([model, rate]) => {
    const list: Arrival[] = [];
    for (let at = random.around(SECOND / rate); at < spanMs; at += random.around(SECOND / rate))
      list.push({ at: millis(at), model, serviceMs: serviceOf(random) });
    return list;
  });
  return { name, models: Object.keys(rates), arrivals: inOrder(arrivals) };
}

const BURST_MS = 20 * SECOND;
const PAUSE_MS = 100 * SECOND;

function bursty(name: string, rates: Rates, { seed, spanMs }: Terms): Workload {
  const random = new Random(seed);
  const arrivals: Arrival[] = [];
  for (const [model, rate] of Object.entries(rates)) {
    const gapMs = (SECOND / rate) * (BURST_MS / (BURST_MS + PAUSE_MS));
    for (let at = random.around(PAUSE_MS); at < spanMs; at += random.around(PAUSE_MS)) {
      const end = Math.min(spanMs, at + random.around(BURST_MS));
      for (at += random.around(gapMs); at < end; at += random.around(gapMs))
        arrivals.push({ at: millis(at), model, serviceMs: serviceOf(random) });
    }
  }
  return { name, models: Object.keys(rates), arrivals: inOrder(arrivals) };
}

function agents(count: number, { seed, spanMs }: Terms): Workload {
  const random = new Random(seed);
  const first = Array.from({ length: count }, (_, session) => ({
    at: millis(session * SECOND),
    model: 'a',
    serviceMs: serviceOf(random),
    session,
  }));
  const followUp = ({ model, session = 0 }: Arrival, now: Millis): Arrival | undefined =>
    now >= spanMs
      ? undefined
      : { at: after(now, 200), model: model === 'a' ? 'b' : 'a', serviceMs: serviceOf(random), session };
  return { name: 'agents', models: ['a', 'b'], arrivals: first, followUp };
}

function chat({ seed, spanMs }: Terms): Workload {
  const random = new Random(seed);
  const first = ['a', 'a', 'a', 'a', 'b'].map((model, session) => ({
    at: millis(session * 500),
    model,
    serviceMs: serviceOf(random),
    session,
  }));
  const followUp = ({ model, session = 0 }: Arrival, now: Millis): Arrival | undefined =>
    now >= spanMs
      ? undefined
      : { at: after(now, random.around(2 * SECOND)), model, serviceMs: serviceOf(random), session };
  return { name: 'chat', models: ['a', 'b'], arrivals: first, followUp };
}

/** Three models: whenever one is served, the next request is for the one that was left two turns ago. */
function adversary({ seed, spanMs }: Terms): Workload {
  const random = new Random(seed);
  const models = ['a', 'b', 'c'];
  const first = { at: millis(0), model: 'a', serviceMs: 500 };
  const followUp = ({ model }: Arrival, now: Millis): Arrival | undefined =>
    now >= spanMs
      ? undefined
      : {
          at: after(now, random.between(1, 50)),
          model: models[(models.indexOf(model) + 1) % 3] ?? 'a',
          serviceMs: 500,
        };
  return { name: 'adversary', models, arrivals: [first], followUp };
}

function abandoned(terms: Terms): Workload {
  const { models, arrivals } = poisson('abandoned', { a: 0.5, b: 0.5 }, terms);
  const random = new Random(terms.seed ^ 0x51ed270b);
  const leaving = [...arrivals].map((arrival) =>
    random.chance(0.5) ? { ...arrival, leavesAfterMs: random.around(5 * SECOND) } : arrival,
  );
  return { name: 'abandoned', models, arrivals: leaving };
}

/** Many models, each asked for less often than the one before it, so many requests in all. */
export function manyModels(count: number, requests: number, ratePerSec: number, seed: number): Workload {
  const random = new Random(seed);
  const models = Array.from({ length: count }, (_, n) => `m${n}`);
  const heights: number[] = [];
  let total = 0;
  for (let n = 0; n < count; n++) heights.push((total += 1 / (n + 1)));
  const arrivals = function* (): Generator<Arrival> {
    let at = 0;
    for (let n = 0; n < requests; n++) {
      at += random.around(SECOND / ratePerSec);
      const height = random.next() * total;
      yield { at: millis(at), model: models[placeOf(heights, height)] ?? 'm0', serviceMs: serviceOf(random) };
    }
  };
  return { name: `${count} models`, models, arrivals: { [Symbol.iterator]: arrivals } };
}

/** The first place whose height is above. */
function placeOf(heights: readonly number[], height: number): number {
  let [low, high] = [0, heights.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((heights[middle] ?? 0) > height) high = middle;
    else low = middle + 1;
  }
  return low;
}

const inOrder = (arrivals: readonly Arrival[]): readonly Arrival[] => arrivals.toSorted((a, b) => a.at - b.at);
