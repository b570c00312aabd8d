import { test } from 'vitest';
import { millis } from '../../../src/core/kinds.ts';
import { untilReady, type Readiness, type ReadinessRules } from '../../../src/engines/readiness.ts';
import { answersOk } from '../../../src/engines/served.ts';
import type { EngineAnswer } from '../../../src/ports/engine-http.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';
import { answered, HANG, REFUSED, ScriptedChild, ScriptedHttp } from './scripted-ports.ts';

const RULES: ReadinessRules = { deadline: millis(10_000), stallMs: 0, probeMs: 1_000 };

/** One start that is waited for; `reply` is asked at each probe. */
function starting(
  reply: (at: number, child: ScriptedChild) => EngineAnswer | typeof HANG,
  rules: Partial<ReadinessRules> = {},
) {
  const clock = new VirtualClock();
  const child = new ScriptedChild(7);
  const http = new ScriptedHttp(clock);
  const order = new AbortController();
  const probedAt: number[] = [];
  http.reply = () => {
    probedAt.push(clock.now());
    return reply(clock.now(), child);
  };
  const scene: { found: Readiness | undefined; foundAt: number | undefined } = { found: undefined, foundAt: undefined };
  void untilReady(
    child,
    (limitMs, signal) => http.call({ method: 'GET', url: 'http://127.0.0.1:1/health', limitMs, signal }),
    answersOk,
    { ...RULES, ...rules },
    clock,
    order.signal,
  ).then((found) => Object.assign(scene, { found, foundAt: clock.now() }));
  return { clock, child, order, probedAt, scene };
}

test('a server that loads for a while is ready with its first 200, noticed within 10 ms', async ({ expect }) => {
  const { clock, scene, probedAt } = starting((at) => (at < 20 ? REFUSED : answered(at < 95 ? 503 : 200)));
  await clock.advance(200);
  expect(scene.found).toEqual({ kind: 'ready', firstAnswerAt: 20, at: 100 });
  expect(probedAt).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
  expect(clock.pending).toBe(0);
});

test('a long start is probed every 25 ms', async ({ expect }) => {
  const { clock, probedAt } = starting(() => answered(503));
  await clock.advance(6_000);
  const late = probedAt.filter((at) => at > 5_100);
  expect(late.length).toBeGreaterThan(30);
  expect(late.slice(1).every((at, index) => at - (late[index] ?? 0) === 25)).toBe(true);
});

test('a probe that hangs counts as failed after its own limit, and the next one finds the server ready', async ({
  expect,
}) => {
  const { clock, scene } = starting((at) => (at < 500 ? HANG : answered(200)));
  await clock.advance(2_000);
  expect(scene).toMatchObject({ found: { kind: 'ready' }, foundAt: 1_001 });
});

test('a server that accepts and never answers is given up at the deadline, not after it', async ({ expect }) => {
  const { clock, scene } = starting(() => HANG, { deadline: millis(2_500) });
  await clock.advance(60_000);
  expect(scene.found).toEqual({ kind: 'too-late', last: 'it took the connection and did not answer' });
  expect(scene.foundAt).toBeLessThanOrEqual(2_502);
  expect(clock.pending).toBe(0);
});

test('an exit ends the wait at once, in the middle of a hung probe and between two', async ({ expect }) => {
  for (const reply of [HANG, REFUSED] as const) {
    const { clock, child, scene } = starting(() => reply);
    await clock.advance(5);
    child.exit(1);
    await clock.advance(0);
    expect(scene).toEqual({ found: { kind: 'exited' }, foundAt: 5 });
    expect(clock.pending).toBe(0);
  }
});

test('an answer on the port of a process that has just ended does not count as ready', async ({ expect }) => {
  const { clock, scene } = starting((_, child) => {
    child.exit(1);
    return answered(200);
  });
  await clock.advance(50);
  expect(scene.found).toEqual({ kind: 'exited' });
});

test('a withdrawn order ends the wait at once', async ({ expect }) => {
  const { clock, order, scene } = starting(() => HANG);
  await clock.advance(300);
  order.abort();
  await clock.advance(0);
  expect(scene).toEqual({ found: { kind: 'aborted' }, foundAt: 300 });
  expect(clock.pending).toBe(0);
});

test('a start that prints nothing for the stall time has stalled; any output puts it off', async ({ expect }) => {
  const { clock, child, scene } = starting(() => answered(503), { stallMs: 1_000, deadline: millis(60_000) });
  for (let loads = 0; loads < 5; loads += 1) {
    await clock.advance(900);
    child.print(`loading tensor ${loads}`);
  }
  expect(scene.found).toBeUndefined();
  await clock.advance(1_100);
  expect(scene.found).toEqual({ kind: 'stalled', last: 'it last answered 503' });
  expect(scene.foundAt).toBeGreaterThanOrEqual(5_500);
});
