import type { Fact, RequestRecord } from '../core/facts.ts';
import type { Clock } from '../ports/clock.ts';
import type { Reporter } from '../ports/reporter.ts';

/** The columns of a trace as `catnap simulate` reads it. No prompts, no answers, no names of clients. */
export const TRACE_HEAD = 'at_secs,model,wait_secs,service_secs,bytes_in,bytes_out,outcome';

/** Writes a line for each request that stood in line for a model: when it came, how long it waited and was served, how large it was. */
export class TraceReporter implements Reporter {
  readonly #clock: Clock;
  readonly #append: (line: string) => void;

  constructor(clock: Clock, append: (line: string) => void) {
    this.#clock = clock;
    this.#append = append;
  }

  report(fact: Fact): void {
    if (fact.kind !== 'request-ended' || fact.request.outcome === 'rejected') return;
    const line = lineOf(fact.request, this.#clock.wallTime());
    if (line !== undefined) this.#append(line);
  }
}

function lineOf(
  { model, outcome, queuedMs, totalMs, bytesIn, bytesOut }: RequestRecord,
  ended: Date,
): string | undefined {
  if (model === undefined) return undefined;
  const secs = (ms: number): string => (ms / 1_000).toFixed(3);
  const wasServed = outcome !== 'abandoned' && outcome !== 'expired';
  const service = wasServed ? secs(Math.max(0, totalMs - queuedMs)) : '';
  return [secs(ended.getTime() - totalMs), model, secs(queuedMs), service, bytesIn, bytesOut, outcome].join(',');
}
