import { describe, test, type ExpectStatic } from 'vitest';
import type { Fact } from '../../../src/core/facts.ts';
import { millis, modelId } from '../../../src/core/kinds.ts';
import { METRICS } from '../../../src/observe/metric-table.ts';
import { createMetrics, type Scene } from '../../../src/observe/metrics.ts';
import { alpha, beta, EVERY_FACT, request, swapRecord } from './every-fact.ts';

const memory = { gpus: [], hostBytes: new Map(), bodies: { memoryBytes: 0, diskBytes: 0 } };
const empty: Scene = { accepting: true, models: [], stages: [], ...memory };

async function lines(facts: readonly Fact[], scene: Scene = empty): Promise<string[]> {
  const metrics = createMetrics({ version: '1.2.3', models: [alpha] });
  for (const fact of facts) metrics.report(fact);
  const { body } = await metrics.text(scene);
  return body.split('\n').filter((line) => line !== '');
}

const ended = (change: Partial<typeof request>): Fact => ({
  kind: 'request-ended',
  request: { ...request, ...change },
});

describe('counters', () => {
  test('count each request once, by how it ended', async ({ expect }) => {
    const seen = await lines([ended({}), ended({}), ended({ outcome: 'aborted', status: 499 })]);
    expect(seen).toContain('catnap_requests_total{model="alpha",outcome="served"} 2');
    expect(seen).toContain('catnap_requests_total{model="alpha",outcome="aborted"} 1');
    expect(seen).toContain('catnap_requests_total{model="alpha",outcome="expired"} 0');
  });

  test('a model nobody configured is no label', async ({ expect }) => {
    const stranger = ended({ model: undefined, outcome: 'rejected', status: 404, code: 'model_not_found' });
    const seen = await lines([stranger]);
    expect(seen).toContain('catnap_requests_total{model="",outcome="rejected"} 1');
    expect(seen).toContain('catnap_errors_total{model="",code="model_not_found"} 1');
  });

  test('swaps are counted by pair, their times by the model that woke', async ({ expect }) => {
    const many = { ...swapRecord, from: [alpha, modelId('gamma')] };
    const seen = await lines([
      { kind: 'swap-finished', record: swapRecord },
      { kind: 'swap-finished', record: { ...swapRecord, from: [], level: 'hybrid', result: 'failed' } },
      { kind: 'swap-finished', record: many },
    ]);
    expect(seen).toContain('catnap_swaps_total{from="alpha",to="beta",result="done"} 1');
    expect(seen).toContain('catnap_swaps_total{from="",to="beta",result="failed"} 1');
    expect(seen).toContain('catnap_swaps_total{from="*",to="beta",result="done"} 1');
    expect(seen).toContain('catnap_swap_seconds_sum{model="beta",level="5",result="done"} 0.168');
    expect(seen).toContain('catnap_swap_seconds_count{model="beta",level="hybrid",result="failed"} 1');
    expect(seen).toContain('catnap_swap_leg_seconds_sum{model="beta",level="5",result="done",leg="wake"} 0.14');
    expect(seen.join('\n')).not.toContain('leg="clear"');
    expect(seen).toContain('catnap_swap_overhead_seconds_count 2');
  });

  test('a wait is counted when it ends, with a turn or without', async ({ expect }) => {
    const seen = await lines([
      { kind: 'request-granted', model: alpha, waitedMs: 40 },
      ended({ queuedMs: 40 }),
      ended({ outcome: 'expired', status: 503, code: 'wait_timeout', queuedMs: 60_000, firstByteMs: undefined }),
      ended({ outcome: 'failed', status: 503, code: 'engine_failed', queuedMs: 10, firstByteMs: undefined }),
    ]);
    expect(seen).toContain('catnap_queue_wait_seconds_count{model="alpha"} 3');
    expect(seen).toContain('catnap_queue_wait_seconds_sum{model="alpha"} 60.05');
    expect(seen).toContain('catnap_ttfb_seconds_count{model="alpha"} 1');
  });

  test('what goes wrong has a counter of its own', async ({ expect }) => {
    const seen = await lines(Object.values(EVERY_FACT));
    expect(seen).toContain('catnap_engine_failures_total{model="beta",phase="starting"} 1');
    expect(seen).toContain('catnap_engine_stops_unproven_total{model="beta"} 1');
    expect(seen).toContain('catnap_leases_cut_total{model="alpha",code="drained"} 2');
    expect(seen).toContain('catnap_leftovers_reaped_total{gone="true"} 1');
    expect(seen).toContain('catnap_client_errors_total 1');
  });
});

describe('gauges', () => {
  const scene: Scene = {
    ...memory,
    accepting: false,
    stages: [{ name: 'big', capacity: 24_000, taken: 9_000 }],
    models: [
      {
        model: alpha,
        waiting: 3,
        oldestWaitMs: 1_500,
        inFlight: 2,
        engines: [
          { phase: { kind: 'awake', since: millis(0) } },
          {
            phase: { kind: 'asleep', level: 1, since: millis(0) },
            holds: { gpuMib: 700, hostMib: 6_000, diskMib: undefined },
          },
        ],
      },
    ],
  };

  test('show the scene of the moment', async ({ expect }) => {
    const seen = await lines([], scene);
    expect(seen).toContain('catnap_accepting 0');
    expect(seen).toContain('catnap_stage_capacity{stage="big"} 24000');
    expect(seen).toContain('catnap_stage_taken{stage="big"} 9000');
    expect(seen).toContain('catnap_queue_depth{model="alpha"} 3');
    expect(seen).toContain('catnap_oldest_wait_seconds{model="alpha"} 1.5');
    expect(seen).toContain('catnap_in_flight{model="alpha"} 2');
    expect(seen).toContain('catnap_engine_state{model="alpha",state="awake"} 1');
    expect(seen).toContain('catnap_engine_state{model="alpha",state="asleep"} 1');
    expect(seen).toContain('catnap_engine_state{model="alpha",state="off"} 0');
    expect(seen).toContain('catnap_engine_residency{model="alpha",residency="gpu"} 1');
    expect(seen).toContain('catnap_engine_residency{model="alpha",residency="host"} 1');
    expect(seen.filter((line) => line.startsWith('catnap_sleeper_held_bytes'))).toEqual([
      `catnap_sleeper_held_bytes{model="alpha",where="gpu"} ${700 * 1_048_576}`,
      `catnap_sleeper_held_bytes{model="alpha",where="host"} ${6_000 * 1_048_576}`,
    ]);
    expect(seen).toContain('catnap_build_info{version="1.2.3"} 1');
  });

  test('forget what is no longer there', async ({ expect }) => {
    const metrics = createMetrics({ version: '1.2.3', models: [] });
    await metrics.text(scene);
    const { body } = await metrics.text(empty);
    expect(body).not.toContain('model="alpha"');
  });
});

describe('the text', () => {
  test('is what Prometheus reads, with our process in it', async ({ expect }) => {
    const { contentType, body } = await createMetrics({ version: '1.2.3', models: [] }).text(empty);
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(body).toContain('process_resident_memory_bytes');
    expectCleanNames(expect, body);
  });

  test('of two instances is apart', async ({ expect }) => {
    const first = createMetrics({ version: '1.2.3', models: [beta] });
    const second = createMetrics({ version: '1.2.3', models: [beta] });
    first.report(EVERY_FACT['client-error']);
    expect((await second.text(empty)).body).toContain('catnap_client_errors_total 0');
  });

  test('has every metric of the table, with its help and type', async ({ expect }) => {
    const seen = await lines(Object.values(EVERY_FACT));
    for (const { name, type, help } of METRICS) {
      expect(seen).toContain(`# HELP ${name} ${help}`);
      expect(seen).toContain(`# TYPE ${name} ${type}`);
    }
  });
});

/** The rules that `promtool check metrics` goes by. */
function expectCleanNames(expect: ExpectStatic, body: string): void {
  const types = [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => ({ name, type }));
  const helped = new Set([...body.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name));
  expect(types.length).toBeGreaterThan(METRICS.length);
  for (const { name, type } of types) {
    expect(name).toMatch(/^[a-z_][a-z0-9_]*$/);
    expect(helped, name).toContain(name);
    expect(name.endsWith('_total'), `${name} is a ${type}`).toBe(type === 'counter');
    expect(name, 'base units only').not.toMatch(/_(milliseconds|ms|minutes|kilobytes|kib|mib|percent)(_|$)/);
    expect(name, 'no type in the name').not.toMatch(/_(counter|gauge|histogram|summary)(_|$)/);
    if (type !== 'histogram') expect(name).not.toMatch(/_(bucket|count|sum)$/);
  }
}

test('memory: of each GPU, of engines, of bodies; what is not known is not there', async ({ expect }) => {
  const scene: Scene = {
    ...empty,
    gpus: [{ gpu: '0', totalBytes: 8_000, usedBytes: 5_000 }],
    hostBytes: new Map([[alpha, 300]]),
    bodies: { memoryBytes: 20, diskBytes: 10 },
  };
  const metrics = createMetrics({ version: '1.2.3', models: [] });
  const { body } = await metrics.text(scene);
  for (const line of [
    'catnap_gpu_memory_total_bytes{gpu="0"} 8000',
    'catnap_gpu_memory_used_bytes{gpu="0"} 5000',
    'catnap_engine_host_memory_bytes{model="alpha"} 300',
    'catnap_bodies_memory_bytes 20',
    'catnap_bodies_disk_bytes 10',
  ]) {
    expect(body.split('\n')).toContain(line);
  }
  expect((await metrics.text(empty)).body).not.toMatch(/^catnap_(gpu|engine_host)_memory\w*{/m);
});
