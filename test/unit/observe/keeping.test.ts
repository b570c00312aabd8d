import { describe, test } from 'vitest';
import { FailureBook } from '../../../src/observe/failure-book.ts';
import { Journal } from '../../../src/observe/journal.ts';
import { reportToAll } from '../../../src/observe/reporter.ts';
import type { Fact } from '../../../src/core/facts.ts';
import { StillClock } from '../../helpers/still-clock.ts';
import { alpha, beta, EVERY_FACT, failure } from './every-fact.ts';

const warned = (message: string): Fact => ({ kind: 'warned', message });

describe('the journal', () => {
  test('gives what came after a number, oldest first', ({ expect }) => {
    const journal = new Journal(10, new StillClock());
    expect(journal.since(0)).toEqual({ entries: [], missed: 0 });
    for (const message of ['a', 'b', 'c']) journal.report(warned(message));
    expect(journal.last).toBe(3);
    const { entries, missed } = journal.since(1);
    expect(entries.map(({ seq, fact }) => [seq, fact])).toEqual([
      [2, warned('b')],
      [3, warned('c')],
    ]);
    expect(missed).toBe(0);
    expect(journal.since(3)).toEqual({ entries: [], missed: 0 });
  });

  test('keeps no more than it may, and says how many a reader has missed', ({ expect }) => {
    const journal = new Journal(3, new StillClock());
    for (let number = 1; number <= 10; number += 1) journal.report(warned(String(number)));
    const { entries, missed } = journal.since(4);
    expect(entries.map(({ seq }) => seq)).toEqual([8, 9, 10]);
    expect(missed).toBe(3);
    expect(journal.since(0).missed).toBe(7);
    expect(journal.since(8)).toMatchObject({ missed: 0, entries: [{ seq: 9 }, { seq: 10 }] });
  });

  test('steps of requests do not push out what is rarer', ({ expect }) => {
    const journal = new Journal(2, new StillClock());
    journal.report(EVERY_FACT['swap-finished']);
    for (let sent = 0; sent < 100; sent += 1) {
      journal.report(EVERY_FACT['request-arrived']);
      journal.report(EVERY_FACT['request-granted']);
    }
    expect(journal.since(0).entries.map(({ fact }) => fact.kind)).toEqual(['swap-finished']);
  });
});

describe('the failure book', () => {
  test('keeps the last failure of each model, and whether it was tried again since', ({ expect }) => {
    const clock = new StillClock();
    const book = new FailureBook(clock);
    expect(book.last(beta)).toBeUndefined();
    book.report(EVERY_FACT['engine-failed']);
    expect(book.last(beta)).toEqual({ failure, at: clock.wallTime(), triedAgain: false });
    book.report(EVERY_FACT['engine-moved']);
    expect(book.last(beta)).toMatchObject({ failure, triedAgain: true });
    book.report({ ...EVERY_FACT['engine-failed'], failure: { ...failure, reason: 'again' } });
    expect(book.last(beta)).toMatchObject({ failure: { reason: 'again' }, triedAgain: false });
    expect(book.last(alpha)).toBeUndefined();
  });
});

describe('a report to all', () => {
  test('reaches all of them, and one that throws disturbs nobody', ({ expect }) => {
    const heard: string[] = [];
    const broken = new Error('disk full');
    const reporter = reportToAll(
      [
        {
          report() {
            throw broken;
          },
        },
        { report: (fact) => heard.push(fact.kind) },
      ],
      (error, fact) => heard.push(`${error === broken ? 'failed' : 'odd'} on ${fact.kind}`),
    );
    reporter.report(EVERY_FACT.warned);
    expect(heard).toEqual(['failed on warned', 'warned']);
  });

  test('throws nothing into the core even when nobody is left to be told', ({ expect }) => {
    const broken = () => {
      throw new Error('disk full');
    };
    const heard: string[] = [];
    const reporter = reportToAll([{ report: broken }, { report: (fact) => heard.push(fact.kind) }], broken);
    expect(() => reporter.report(EVERY_FACT.warned)).not.toThrow();
    expect(heard).toEqual(['warned']);
  });
});
