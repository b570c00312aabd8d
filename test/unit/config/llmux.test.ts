import { describe, test } from 'vitest';
import { DEPTH, LEVELS } from '../../../src/config/sleep-levels.ts';
import { goodConfig, warningsOf } from '../../helpers/config.ts';

const quickstart = {
  models: {
    'qwen-14b': { model_path: 'Qwen/Qwen3-14B', port: 8001, sleep_level: 1 },
    'gemma-12b': { model_path: 'google/gemma-3-12b-it', port: 8002, sleep_level: 2 },
  },
  port: 3000,
};

const checkpointed = {
  models: { 'qwen-14b': { model_path: 'Qwen/Qwen3-14B', port: 8001, sleep_level: 4 } },
  checkpoint: {
    criu_path: '/tmp/criu/criu/criu',
    cuda_plugin_dir: '/tmp/criu/plugins/cuda/',
    images_dir: '/tmp/llmux-checkpoints',
    cuda_checkpoint_path: 'cuda-checkpoint',
  },
};

const everything = {
  models: {
    'qwen-14b': {
      model_path: 'Qwen/Qwen3-14B',
      port: 8001,
      sleep_level: 5,
      extra_args: ['--gpu-memory-utilization', '0.9', '--tensor-parallel-size', '2'],
    },
  },
  port: 3001,
  metrics_port: 0,
  vllm_command: '/opt/my tools/vllm',
  policy: { policy_type: 'fifo', request_timeout_secs: 60, drain_before_switch: true, sleep_level: 5 },
};

describe('an llmux config works unchanged', () => {
  test('the quickstart', ({ expect }) => {
    const config = goodConfig(quickstart);
    expect(config).toMatchObject({ port: 3000, metrics_port: 9090, vllm_command: ['vllm'] });
    expect(config.policy).toMatchObject({
      policy_type: 'fifo',
      request_timeout_secs: 60,
      drain_before_switch: true,
      sleep_level: 5,
    });
    expect(config.checkpoint).toMatchObject({
      criu_path: 'criu',
      cuda_plugin_dir: '/usr/lib/criu/',
      images_dir: '/tmp/llmux-checkpoints',
      cuda_checkpoint_path: 'cuda-checkpoint',
    });
    expect(Object.entries(config.models).map(([name, { backend }]) => [name, backend])).toEqual([
      ['qwen-14b', 'vllm_serve'],
      ['gemma-12b', 'vllm_serve'],
    ]);
    expect(config.models['qwen-14b']).toMatchObject({ model_path: 'Qwen/Qwen3-14B', port: 8001, extra_args: [] });
  });

  test('one with a checkpoint section', ({ expect }) => {
    expect(goodConfig(checkpointed).checkpoint).toMatchObject(checkpointed.checkpoint);
  });

  test('one with every key', ({ expect }) => {
    const config = goodConfig(everything);
    expect(config).toMatchObject({ port: 3001, metrics_port: 0, vllm_command: ['/opt/my tools/vllm'] });
    expect(config.models['qwen-14b']).toMatchObject({ extra_args: everything.models['qwen-14b'].extra_args });
    expect(warningsOf(everything)).toEqual([]);
  });
});

test('sleep levels are those that were asked for, and the others are there for when they fail', ({ expect }) => {
  expect(warningsOf(quickstart)).toEqual([]);
  const { models } = goodConfig(quickstart);
  expect([models['qwen-14b']?.sleep_level, models['gemma-12b']?.sleep_level]).toEqual([1, 2]);
  expect(models['qwen-14b']?.levels_allowed).toEqual(DEPTH.filter((level) => LEVELS.vllm_serve.works.includes(level)));
});

describe('what this version does not do is said', () => {
  test('keys that only those policies read are named', ({ expect }) => {
    const policy = {
      coalesce_window_ms: 2000,
      amortization_factor: 0.5,
      max_wait_secs: 15,
      tick_interval_ms: 500,
      min_quantum_ms: 2000,
    };
    const told = (policy_type: string): readonly string[] =>
      warningsOf({ ...everything, policy: { ...policy, policy_type } })
        .filter((line) => line.startsWith('policy.'))
        .map((line) => line.replace(/ has no effect.*/, ''));
    expect(told('fifo')).toEqual(expect.arrayContaining(Object.keys(policy).map((key) => `policy.${key}`)));
    expect(told('cost_aware')).toEqual(['policy.tick_interval_ms', 'policy.min_quantum_ms']);
    expect(told('time_slice')).toEqual(['policy.coalesce_window_ms', 'policy.amortization_factor']);
    expect(warningsOf({ ...everything, policy })).toContain(
      'policy.coalesce_window_ms has no effect under "fifo": only "cost_aware" reads it',
    );
  });
});
