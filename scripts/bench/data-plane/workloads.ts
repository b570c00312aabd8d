import { cpuMicros, pssBytes, stop } from './pinned.ts';
import type { Contender } from './contenders.ts';
import { holdStreams, runLoad, type Result, type Tools } from './tools.ts';

/** What is told of one run of one workload; undefined where it cannot be measured. */
export type Sample = Readonly<Record<string, number | undefined>>;

export type Workload = {
  readonly name: string;
  readonly run: (tools: Tools, contender: Contender, secs: number) => Promise<Sample>;
};

const MIB = 1_048_576;
const BIG_BODY = 10 * MIB;
const HELD = 1_000;

/** What is measured, in the order of the tables. */
export const MEASURES = [
  'CPU µs/request',
  'requests/s',
  'CPU µs/chunk',
  'p50 µs',
  'p99 µs',
  'MB/s',
  'CPU ms/body',
  'KiB/stream',
  'MiB in all',
] as const;

export const WORKLOADS: readonly Workload[] = [
  ...[1, 32, 256].map((connections) => requests(`small JSON, ${connections} at a time`, connections)),
  streams('SSE, 64 streams x 500/s', 64, 500),
  streams('SSE, 100 streams x 50/s', 100, 50),
  {
    name: '10 MB bodies, model last, 2 at a time',
    async run(tools, contender, secs) {
      const { result, cpu } = await measured(tools, contender, ['requests', '2', String(secs), String(BIG_BODY)]);
      return {
        'MB/s': result.bytes / 1e6 / result.secs,
        'CPU ms/body': cpu === undefined ? undefined : cpu / 1_000 / result.done,
      };
    },
  },
  {
    name: '200 small requests/s beside 10 MB uploads',
    async run(tools, contender, secs) {
      const { result } = await measured(tools, contender, ['mixed', '200', String(secs), String(BIG_BODY)]);
      return { 'p50 µs': result.p50Us, 'p99 µs': result.p99Us, 'MB/s': result.bytes / 1e6 / result.secs };
    },
  },
  {
    name: '1,000 open streams',
    async run(tools, contender) {
      // What a proxy has grown by before would hide what the streams take, so each run has one of its own.
      const fresh = await contender.another?.();
      if (fresh?.child === undefined) return {};
      const { name, port, child } = fresh;
      try {
        check(name, await runLoad(tools, port, ['requests', '8', '1', '0']));
        const before = pssBytes(child);
        let after = before;
        check(name, await holdStreams(tools, port, HELD, () => (after = pssBytes(child))));
        return { 'KiB/stream': (after - before) / 1_024 / HELD, 'MiB in all': after / MIB };
      } finally {
        await stop(child);
      }
    },
  },
];

function requests(name: string, connections: number): Workload {
  return {
    name,
    async run(tools, contender, secs) {
      const { result, cpu } = await measured(tools, contender, ['requests', String(connections), String(secs), '0']);
      return {
        'CPU µs/request': cpu === undefined ? undefined : cpu / result.done,
        'requests/s': result.done / result.secs,
        'p50 µs': result.p50Us,
        'p99 µs': result.p99Us,
      };
    },
  };
}

function streams(name: string, count: number, rate: number): Workload {
  return {
    name,
    async run(tools, contender, secs) {
      const { result, cpu } = await measured(tools, contender, ['streams', String(count), String(rate), String(secs)]);
      return {
        'CPU µs/chunk': cpu === undefined ? undefined : cpu / result.done,
        'p50 µs': result.p50Us,
        'p99 µs': result.p99Us,
      };
    },
  };
}

async function measured(
  tools: Tools,
  { name, port, child }: Contender,
  args: readonly string[],
): Promise<{ result: Result; cpu: number | undefined }> {
  const before = child === undefined ? 0 : cpuMicros(child);
  const result = await runLoad(tools, port, args);
  const cpu = child === undefined ? undefined : cpuMicros(child) - before;
  check(name, result);
  return { result, cpu };
}

/** A run in which anything failed measures something else. */
function check(name: string, { failed, done, fault }: Result): void {
  if (failed > 0 || done === 0)
    throw new Error(`${name}: ${failed} failed, ${done} done: ${fault ?? 'no reason given'}`);
}
