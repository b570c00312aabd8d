import type { Config } from '../config/schema.ts';
import { modelId } from '../core/kinds.ts';
import { FailureBook } from '../observe/failure-book.ts';
import { Journal } from '../observe/journal.ts';
import type { Log } from '../observe/log.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import { reportToAll } from '../observe/reporter.ts';
import type { Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';

/** All who are told of facts. */
export type Telling = {
  readonly reporter: Reporter;
  readonly metrics: Metrics;
  readonly journal: Journal;
  readonly failures: FailureBook;
};

export function createTelling(config: Config, version: string, log: Log, clock: Clock): Telling {
  const metrics = createMetrics({ version, models: Object.keys(config.models).map(modelId) });
  const journal = new Journal(config.journal_entries, clock);
  const failures = new FailureBook(clock);
  const reporter = reportToAll([log, metrics, journal, failures], (error, fact) => {
    log.report({ kind: 'warned', message: `telling of ${fact.kind} failed: ${String(error)}` });
  });
  return { reporter, metrics, journal, failures };
}
