import { describe, test } from 'vitest';
import type { EnginePhase } from '../../../src/core/engine.ts';
import { engineId, millis, modelId, ticketId, type ModelId } from '../../../src/core/kinds.ts';
import { Member } from '../../../src/core/member.ts';
import type { Part } from '../../../src/core/part.ts';
import { Forecast } from '../../../src/runtime/forecast.ts';

const NOW = millis(100_000);
const known = (ms: number) => ({ ms, spreadMs: 0, samples: 3 });
const on: Part = { kind: 'on', since: millis(0), from: 0, served: 1, idleSince: millis(0) };

type Case = { readonly comeMs?: number; readonly part?: Part; readonly waitsSince?: number; readonly cost?: number };

/** Goes in 100 ms; a busy one drains in 1 s. */
function member(name: string, { comeMs, part, waitsSince, cost = 1 }: Case): Member {
  const made = new Member({
    model: modelId(name),
    engines: [engineId(modelId(name), 0)],
    replicas: 1,
    cost,
    targetInflight: 4,
    maxWaiting: 10,
    patienceMs: 60_000,
    sleepLevel: 5,
    costs: { ...(comeMs !== undefined && { 'come:5': known(comeMs) }), 'go:5': known(100), drain: known(1_000) },
  });
  if (part !== undefined) made.part = part;
  const phase: EnginePhase = part?.kind === 'on' ? { kind: 'awake', since: millis(0) } : { kind: 'off' };
  made.engineIn(engineId(made.model, 0), phase, undefined);
  if (waitsSince !== undefined) {
    const ticket = { ticket: ticketId(waitsSince), kind: 'request', rank: millis(0), seq: waitsSince } as const;
    made.lane.push({ ...ticket, since: millis(0), patienceMs: 60_000 }, NOW);
  }
  return made;
}

function forecast(cases: Readonly<Record<string, Case>>, capacity = 1): (name: string) => number {
  const members = new Map<ModelId, Member>();
  for (const [name, one] of Object.entries(cases)) members.set(modelId(name), member(name, one));
  const made = new Forecast({ members, capacity }, NOW);
  return (name) => made.readyInMs(modelId(name));
}

describe('a model is ready', () => {
  test('at once when it is awake, and when it has come otherwise', ({ expect }) => {
    const ready = forecast({ a: { part: on, comeMs: 2_000 }, b: { comeMs: 3_000 } });
    expect([ready('a'), ready('b')]).toEqual([0, 3_100]);
  });

  test('without anybody going where there is room beside the others', ({ expect }) => {
    const ready = forecast({ a: { part: on }, b: { comeMs: 3_000 }, c: { comeMs: 2_000, cost: 2 } }, 2);
    expect([ready('b'), ready('c')]).toEqual([3_000, 2_100]);
  });

  test('after those who wait for their turns since before', ({ expect }) => {
    const ready = forecast({
      a: { part: on },
      b: { comeMs: 3_000, waitsSince: 2 },
      c: { comeMs: 2_000, waitsSince: 1 },
      d: { comeMs: 500 },
    });
    // a goes in 100 ms. The turn of c takes 2 s and its work 1 s, that of b 3 s and 1 s.
    expect([ready('c'), ready('b'), ready('d')]).toEqual([2_100, 6_100, 7_600]);
  });

  test('at some time when nothing is known of it yet', ({ expect }) => {
    expect(forecast({ a: {} })('a')).toBe(5_000);
  });

  test('when no engine of it needs room, whoever is there', ({ expect }) => {
    expect(forecast({ a: { part: on }, r: { cost: 0, comeMs: 10 } })('r')).toBe(10);
  });
});

test('a thousand models are asked about with one look at each of them', ({ expect }) => {
  let looks = 0;
  const members = new Map<ModelId, Member>();
  for (let n = 0; n < 1_000; n++) {
    const one = member(`m${n}`, { comeMs: 1_000, waitsSince: n + 1 });
    const { lane } = one;
    Object.defineProperty(one, 'lane', { get: () => (looks++, lane) });
    members.set(one.model, one);
  }
  const made = new Forecast({ members, capacity: 1 }, NOW);
  const last = [...members.keys()].map((model) => made.readyInMs(model)).at(-1);
  expect(last).toBe(1_000 + 999 * 2_000);
  expect(looks).toBeLessThan(5_000);
});
