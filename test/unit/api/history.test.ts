import { test } from 'vitest';
import { systemClock } from '../../../src/adapters/system-clock.ts';
import type { History } from '../../../src/api/admin/history.ts';
import { controlPlane } from '../../../src/api/plane.ts';
import { millis } from '../../../src/core/kinds.ts';
import { Journal } from '../../../src/observe/journal.ts';
import { listen } from './listener.ts';
import { alpha, deps, model, phases, stage } from './scene.ts';

const view = () => stage([model(alpha, phases.awake)]);
const warned = (message: string) => ({ kind: 'warned', message }) as const;

/** A journal that knows how many watch it. */
function watched(journal: Journal) {
  const watchers = new Set<() => void>();
  const history: History = {
    run: journal.run,
    get last() {
      return journal.last;
    },
    since: (seq, most) => journal.since(seq, most),
    get swaps() {
      return journal.swaps;
    },
    watch(listener) {
      const stop = journal.watch(listener);
      watchers.add(stop);
      return () => {
        watchers.delete(stop);
        stop();
      };
    },
  };
  return { history, watchers };
}

test('a stream of which only the head is asked for is never begun', async ({ expect }) => {
  const { history, watchers } = watched(new Journal(100, systemClock()));
  let followers = 0;
  const timers: unknown[] = [];
  const clock = systemClock();
  const given = deps(view, {
    journal: history,
    output: {
      tail: () => ['a line'],
      watch: () => {
        followers++;
        return () => {};
      },
    },
    clock: {
      ...clock,
      now: () => clock.now(),
      wallTime: () => clock.wallTime(),
      at(when, then) {
        timers.push(when);
        return clock.at(when, then);
      },
    },
  });
  await using server = await listen(controlPlane(given.deps));
  for (const [path, type] of [
    ['/v1/admin/events?after=0', 'text/event-stream'],
    ['/v1/admin/logs/alpha?follow=true', 'text/plain; charset=utf-8'],
  ] as const) {
    const { status, headers, body } = await server.ask(path, { method: 'HEAD' });
    expect([path, status, headers['content-type'], body]).toEqual([path, 200, type, '']);
  }
  expect([watchers.size, followers, timers.length, given.bugs]).toEqual([0, 0, 0, []]);
});

test('all that is kept is told, however much it is, and then what is new, once and in order', async ({ expect }) => {
  const kept = 25_000;
  const journal = new Journal(kept, systemClock());
  for (let at = 0; at < kept + 3; at++) journal.report(warned(`${at}`));
  const { history, watchers } = watched(journal);
  await using server = await listen(controlPlane(deps(view, { journal: history }).deps));

  const leave = new AbortController();
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/admin/events?after=0`, { signal: leave.signal });
  const ids: number[] = [];
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    // Told while the past is still on its way.
    if (text === '') journal.report(warned('new'));
    text += decoder.decode(chunk, { stream: true });
    if (text.includes(`.${kept + 4}\n`) && journal.last === kept + 4) journal.report(warned('last'));
    if (text.includes(`.${kept + 5}\n`)) break;
  }
  leave.abort();
  for (const [, id] of text.matchAll(/^id: \w+\.(\d+)$/gm)) ids.push(Number(id));
  const missed = [...text.matchAll(/"missed":(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  expect([ids.length + missed, ids.at(-1)]).toEqual([kept + 5, kept + 5]);
  expect(ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? 0))).toBe(true);
  expect(missed).toBeLessThan(100);
  await expect.poll(() => watchers.size).toBe(0);
});

test('swaps are kept, however much happens between them', async ({ expect }) => {
  const journal = new Journal(3, systemClock());
  const record = {
    id: 7,
    to: alpha,
    from: [],
    totalMs: 1_200,
    overheadMs: 0,
    legs: {},
    level: 5,
    result: 'done',
    startedAt: millis(0),
  } as const;
  journal.report({ kind: 'swap-finished', record });
  for (let n = 0; n < 10; n++) journal.report(warned(`${n}`));
  await using server = await listen(controlPlane(deps(view, { journal }).deps));
  expect(JSON.parse((await server.ask('/v1/admin/swaps')).body).swaps).toMatchObject([
    { id: 7, to: 'alpha', total_secs: 1.2 },
  ]);
});

test('an id of an earlier catnap is not taken for one of this', async ({ expect }) => {
  const journal = new Journal(100, systemClock());
  for (let n = 1; n <= 5; n++) journal.report(warned(`number ${n}`));
  await using server = await listen(controlPlane(deps(view, { journal }).deps));
  const told = async (id: string): Promise<string> => {
    const leave = new AbortController();
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/admin/events`, {
      headers: { 'last-event-id': id },
      signal: leave.signal,
    });
    if (response.status !== 200) return `${response.status}`;
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes('number 5')) break;
    }
    leave.abort();
    return [...text.matchAll(/"missed":\w+|number \d/g)].join(' ');
  };
  const all = 'number 1 number 2 number 3 number 4 number 5';
  expect([
    await told(`${journal.run}.3`),
    await told('earlier.3'),
    await told('9000'),
    await told('0'),
    await told(`${journal.run}.x`),
    await told('.3'),
  ]).toEqual(['number 4 number 5', `"missed":null ${all}`, `"missed":null ${all}`, all, '400', '400']);
});
