import { z } from 'zod';
import { count, key, milliseconds, seconds, sleepLevel } from './fields.ts';

/** Who is awake, and for how long others wait. */
export const PolicySchema = z.strictObject({
  policy_type: key(
    z.enum(['fifo']).default('fifo'),
    '`fifo`: the model whose request has waited longest is next; the awake one serves those who came before that request.',
  ),
  request_timeout_secs: key(
    seconds(0.001).default(60),
    'How long a request waits for the turn of its model. The start of its own model does not count.',
  ),
  drain_before_switch: key(
    z.boolean().default(true),
    'Whether a swap waits for requests that are being served. `false` cuts them.',
  ),
  sleep_level: key(sleepLevel().default(5), 'The sleep level of models that name none.'),
  drain_timeout_secs: key(
    seconds(0).default(600),
    'How long a swap waits for requests that are being served before it cuts them.',
  ),
  min_active_secs: key(seconds(0).default(0), 'How long a model stays awake at least.'),
  max_waiting: key(
    count(1, 1_000_000).default(1_000),
    'How many requests may wait for one model. More are answered 429.',
  ),
  target_inflight: key(
    count(1, 10_000).default(32),
    'How many requests one engine is given at a time, for models that name no number.',
  ),
  coalesce_window_ms: key(milliseconds().default(2_000), 'Of the policy `cost_aware`; `fifo` does not read it.'),
  amortization_factor: key(
    z.number().min(0).max(1_000).default(0.5),
    'Of the policy `cost_aware`; `fifo` does not read it.',
  ),
  max_wait_secs: key(seconds(0).default(15), 'Of the policies `cost_aware` and `time_slice`; `fifo` does not read it.'),
  tick_interval_ms: key(milliseconds(1).default(500), 'Of the policy `time_slice`; `fifo` does not read it.'),
  min_quantum_ms: key(milliseconds().default(2_000), 'Of the policy `time_slice`; `fifo` does not read it.'),
});

/** Keys of llmux's other policies. They are accepted and change nothing under `fifo`. */
export const OTHER_POLICIES_KEYS: readonly (keyof typeof PolicySchema.shape)[] = [
  'coalesce_window_ms',
  'amortization_factor',
  'max_wait_secs',
  'tick_interval_ms',
  'min_quantum_ms',
];
