import fc from 'fast-check';
import { describe, test } from 'vitest';
import { Batch } from '../../../src/core/place.ts';
import { FOREVER, millis, ticketId } from '../../../src/core/kinds.ts';
import { Lane, type Waiting } from '../../../src/core/lane.ts';

const waiting = (seq: number, since: number, patienceMs = 1_000): Waiting => ({
  ticket: ticketId(seq),
  kind: 'request',
  seq,
  rank: millis(since),
  since: millis(since),
  patienceMs,
});

const earlierThan = (seq: number): Batch => Batch.endingBefore({ rank: millis(0), seq }, seq, 0);

const tickets = (list: readonly Waiting[]): readonly number[] => list.map(({ ticket }) => ticket);

describe('the line', () => {
  test('is bounded', ({ expect }) => {
    const lane = new Lane(2);
    lane.push(waiting(1, 0), millis(0));
    expect(lane.full).toBe(false);
    lane.push(waiting(2, 0), millis(0));
    expect(lane.full).toBe(true);
  });

  test('gives the first of those who came before a place', ({ expect }) => {
    const lane = new Lane(10);
    for (const seq of [3, 5]) lane.push(waiting(seq, 0), millis(0));
    expect(lane.take(earlierThan(3), millis(0))).toBeUndefined();
    expect(lane.take(earlierThan(4), millis(0))?.ticket).toBe(3);
    expect(lane.take(earlierThan(4), millis(0))).toBeUndefined();
    expect(lane.take(earlierThan(6), millis(0))?.ticket).toBe(5);
  });

  test('lets one go out of the middle, once', ({ expect }) => {
    const lane = new Lane(10);
    for (const seq of [1, 2, 3]) lane.push(waiting(seq, 0), millis(0));
    expect(lane.remove(ticketId(2))).toBe(true);
    expect(lane.remove(ticketId(2))).toBe(false);
    expect(tickets(lane.takeAll())).toEqual([1, 3]);
  });

  test('gives its loads and keeps its requests', ({ expect }) => {
    const lane = new Lane(10);
    lane.push(waiting(1, 0), millis(0));
    lane.push({ ...waiting(2, 0), kind: 'load' }, millis(0));
    expect(tickets(lane.takeLoads())).toEqual([2]);
    expect(tickets(lane.takeAll())).toEqual([1]);
  });
});

describe('its clock', () => {
  test('stands still between pause and resume', ({ expect }) => {
    const lane = new Lane(10);
    lane.push(waiting(1, 0), millis(0));
    expect(lane.dueAt).toBe(1_000);
    lane.pause(millis(400));
    expect(lane.dueAt).toBeUndefined();
    expect(lane.takeExpired(millis(99_000))).toEqual([]);
    lane.resume(millis(99_000));
    expect(lane.dueAt).toBe(99_600);
    expect(tickets(lane.takeExpired(millis(99_599)))).toEqual([]);
    expect(tickets(lane.takeExpired(millis(99_600)))).toEqual([1]);
  });

  test('tells how long it stood while somebody waited', ({ expect }) => {
    const lane = new Lane(10);
    lane.push(waiting(1, 0), millis(0));
    lane.pause(millis(100));
    lane.push(waiting(2, 300), millis(300));
    lane.resume(millis(500));
    expect(lane.take(earlierThan(9), millis(700))?.pausedMs).toBe(400);
    expect(lane.take(earlierThan(9), millis(700))?.pausedMs).toBe(200);
  });

  test('is due with the one whose patience ends first, who need not be the first', ({ expect }) => {
    const lane = new Lane(10);
    lane.push(waiting(1, 0, FOREVER), millis(0));
    expect(lane.dueAt).toBeUndefined();
    lane.push(waiting(2, 0, 2_000), millis(0));
    lane.push(waiting(3, 100, 500), millis(100));
    expect(lane.dueAt).toBe(600);
    expect(tickets(lane.takeExpired(millis(5_000)))).toEqual([2, 3]);
    expect(tickets(lane.takeAll())).toEqual([1]);
  });

  test('does not hold for a deadline, which ends as soon as it cannot be met', ({ expect }) => {
    let leastMs = 300;
    const lane = new Lane(10, () => leastMs);
    lane.push({ ...waiting(1, 0, 60_000), withinMs: 1_000 }, millis(0));
    lane.push({ ...waiting(2, 0, 60_000), withinMs: 2_000 }, millis(0));
    lane.push(waiting(3, 0, 60_000), millis(0));
    expect(lane.dueAt).toBe(700);
    expect(tickets(lane.takeLate(millis(650)))).toEqual([]);
    expect(tickets(lane.takeLate(millis(650), 50))).toEqual([1]);
    lane.pause(millis(660));
    leastMs = 0;
    expect(lane.dueAt).toBe(2_000);
    expect(tickets(lane.takeLate(millis(2_000)))).toEqual([2]);
    expect(lane.dueAt).toBeUndefined();
    expect(tickets(lane.takeLate(millis(90_000)))).toEqual([]);
    expect(lane.length).toBe(1);
  });

  const step = fc.record({
    ms: fc.double({ min: 0, max: 5_000, noNaN: true }),
    what: fc.constantFrom('push', 'pause', 'resume', 'look'),
  });

  test('gives up nobody early, and everybody at the moment it says it is due', ({ expect }) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const lane = new Lane(100);
        const ran = new Map<number, number>();
        let [now, paused] = [0, false];
        const pass = (until: number): void => {
          if (!paused) for (const [ticket, ms] of ran) ran.set(ticket, ms + until - now);
          now = until;
        };
        const look = (): void => {
          for (const { ticket } of lane.takeExpired(millis(now))) {
            expect(ran.get(ticket)).toBeGreaterThan(1_000 - 1e-6);
            ran.delete(ticket);
          }
          expect(lane.dueAt ?? Infinity).toBeGreaterThan(now);
        };
        for (const [seq, { ms, what }] of steps.entries()) {
          for (let due = lane.dueAt; due !== undefined && due <= now + ms; due = lane.dueAt) {
            pass(due);
            look();
          }
          pass(now + ms);
          if (what === 'push') {
            lane.push(waiting(seq, now), millis(now));
            ran.set(seq, 0);
          }
          if (what === 'pause') lane.pause(millis(now));
          if (what === 'resume') lane.resume(millis(now));
          paused = what === 'pause' || (paused && what !== 'resume');
          look();
        }
        expect(lane.length).toBe(ran.size);
      }),
    );
  });
});
