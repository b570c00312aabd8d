import { test } from 'vitest';
import type { RequestRecord } from '../../../src/core/facts.ts';
import { millis, modelId } from '../../../src/core/kinds.ts';
import { TRACE_HEAD, TraceReporter } from '../../../src/observe/trace.ts';
import { readTrace } from '../../../src/simulate/traces.ts';

const request = (more: Partial<RequestRecord>): RequestRecord => ({
  id: 'secret-id',
  method: 'POST',
  path: '/v1/chat/completions',
  model: modelId('a'),
  outcome: 'served',
  status: 200,
  code: undefined,
  queuedMs: 500,
  firstByteMs: 10,
  totalMs: 2_500,
  bytesIn: 11,
  bytesOut: 22,
  ...more,
});

test('a trace says when, for whom and how long, and simulate reads it', ({ expect }) => {
  const lines = [TRACE_HEAD];
  const clock = { now: () => millis(0), wallTime: () => new Date(10_000), at: () => () => {} };
  const reporter = new TraceReporter(clock, (line) => lines.push(line));
  reporter.report({ kind: 'request-ended', request: request({}) });
  reporter.report({ kind: 'request-ended', request: request({ outcome: 'abandoned', queuedMs: 400, totalMs: 400 }) });
  reporter.report({ kind: 'request-ended', request: request({ outcome: 'rejected' }) });
  reporter.report({ kind: 'request-ended', request: request({ model: undefined }) });
  expect(lines.slice(1)).toEqual(['7.500,a,0.500,2.000,11,22,served', '9.600,a,0.400,,11,22,abandoned']);
  expect(readTrace(lines, undefined)).toMatchObject({
    arrivals: [
      { at: 0, serviceMs: 2_000 },
      { at: 2_100, serviceMs: 2_000, leavesAfterMs: 400 },
    ],
  });
});
