import type { Config } from '../config/schema.ts';
import { modelId } from '../core/kinds.ts';
import { FailureBook } from '../observe/failure-book.ts';
import { Journal } from '../observe/journal.ts';
import type { Log } from '../observe/log.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import { reportToAll } from '../observe/reporter.ts';
import { TraceFile } from '../adapters/trace-file.ts';
import { TRACE_HEAD, TraceReporter } from '../observe/trace.ts';
import type { Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';

/** All who are told of facts. */
export type Telling = {
  readonly reporter: Reporter;
  readonly metrics: Metrics;
  readonly journal: Journal;
  readonly failures: FailureBook;
  /** Writes what is still to be written. */
  readonly close: () => Promise<void>;
};

export function createTelling(config: Config, version: string, log: Log, clock: Clock): Telling {
  const metrics = createMetrics({ version, models: Object.keys(config.models).map(modelId) });
  const journal = new Journal(config.journal_entries, clock);
  const failures = new FailureBook(clock);
  const warn = (message: string): void => log.report({ kind: 'warned', message });
  const trace = traceOf(config, warn);
  const traced = trace === undefined ? [] : [new TraceReporter(clock, (line) => trace.append(line))];
  const reporter = reportToAll([log, metrics, journal, failures, ...traced], (error, fact) =>
    warn(`telling of ${fact.kind} failed: ${String(error)}`),
  );
  return { reporter, metrics, journal, failures, close: async () => trace?.close() };
}

function traceOf(
  { record_trace: path, record_trace_max_mib }: Config,
  onProblem: (message: string) => void,
): TraceFile | undefined {
  if (path === undefined) return undefined;
  return new TraceFile({ path, head: TRACE_HEAD, maxBytes: record_trace_max_mib * 1_048_576, onProblem });
}
