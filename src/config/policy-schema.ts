import { z } from 'zod';
import { PRIORITIES } from '../core/place.ts';
import { POLICY_NAMES, type PolicyName } from '../core/policy/index.ts';
import { demoteSteps } from './demote-schema.ts';
import { count, key, milliseconds, seconds, sleepLevel, text } from './fields.ts';

/** Who is awake, and for how long others wait. */
export const PolicySchema = z.strictObject({
  policy_type: key(
    z.enum(POLICY_NAMES).default('fifo'),
    'Who is awake, and when it changes. `fifo`: in order of arrival; the awake model serves those who came before the first request for another. `cost_aware`: a swap has to be worth its cost. `time_slice`: turns of a length. `slack`: as late as everybody can still be served in time, and by shares when that is impossible. See docs/scheduling.md.',
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
  demote: key(
    demoteSteps().default([]),
    'How deep a model goes when nobody asks for it, step by step. For models that say nothing of their own, and that requests bring back.',
    {
      examples: [
        [
          { after_secs: 600, level: 1 },
          { after_secs: 3_600, level: 5 },
        ],
      ],
      default_text: 'it stays as it is',
    },
  ),
  drain_timeout_secs: key(
    seconds(0).default(600),
    'How long a swap waits for requests that are being served before `drain_deadline` applies.',
  ),
  drain_deadline: key(
    z.enum(['abort', 'wait']).default('abort'),
    'What happens to requests that are still being served at `drain_timeout_secs`. `abort`: they are cut; one that has had no byte of its answer goes back to its place in line (`drain_replays`) or is answered 503 with `Retry-After`; the answer of any other breaks off with an error. `wait`: the swap waits for as long as they take, so bound them with `total_timeout_secs`.',
  ),
  drain_replays: key(
    count(0, 10).default(1),
    'How often a request that was cut at `drain_timeout_secs` before a byte of its answer had come goes back to its place in line instead of being answered 503. Only requests that leave nothing behind but their answer; see docs/scheduling.md.',
  ),
  host_ram_limit_mib: key(
    count(0, 1_000_000_000).optional(),
    'How much host memory models that sleep at levels 1, 3 and hybrid may hold together, on all stages. The least recently used of them go deeper to make room. What one holds is measured each time it sleeps; before the first time its `footprint` counts.',
    { default_text: 'as much as they take', examples: [96_000] },
  ),
  abandoned_load: key(
    z.enum(['finish', 'cancel']).default('finish'),
    'What becomes of a start that nobody waits for any more. `finish`: the model comes on, so that the next request for it finds it there. `cancel`: its engine is stopped, and one that was being woken is put back to its sleep. A model that has not begun to come does not come in either case.',
  ),
  idle_target: key(
    text().optional(),
    'The model that the hardware returns to when nothing has been asked for `idle_target_after_secs`. Once in each time of idleness, never in manual mode, and never in the place of a model that only operators load.',
    { examples: ['llama-3-8b'] },
  ),
  idle_target_after_secs: key(
    seconds(0).default(300),
    'How long nobody has to have waited or been served before the hardware returns to `idle_target`.',
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
  max_wait_secs: key(
    seconds(0).default(15),
    'How long a request should wait for its turn at most. `slack` plans by it; `cost_aware` and `time_slice` swap, whatever it costs, once somebody has waited for so long; `fifo` does not read it.',
  ),
  serving_share: key(
    z.number().min(0).max(0.95).default(0.8),
    'Of `slack`: the part of the time that is spent on serving at least, when more is wanted than can be done within `max_wait_secs`. More of it means fewer swaps and longer waits.',
  ),
  hold: key(
    z.enum(['learned', 'off']).default('learned'),
    'Of `slack`: whether an idle model is kept a little when its next request, by what was seen so far, is worth more than those who wait for another.',
  ),
  coalesce_window_ms: key(
    milliseconds().default(2_000),
    'Of `cost_aware`: how long the first request for a model waits for company.',
  ),
  amortization_factor: key(
    z.number().min(0).max(1_000).default(0.5),
    'Of `cost_aware`: how many requests, for each second that a swap costs, are company enough.',
  ),
  tick_interval_ms: key(
    milliseconds(1).default(500),
    'Of `time_slice`: how often an idle model may be followed by another.',
  ),
  min_quantum_ms: key(milliseconds().default(2_000), 'Of `time_slice`: how long a turn lasts at least.'),
  max_parallel_loads: key(
    count(1, 1_000).optional(),
    'How many models may start or wake at a time, on all stages together. Others for which there is room wait for their turn at it. One that died while it was wanted is brought back at once and counts.',
    { default_text: 'as many as there is room for' },
  ),
  overlap: key(
    z.boolean().default(false),
    'Whether a model may begin to come while the one it replaces still leaves, once the memory it needs is measured to be free. Only models of which it is known what they take: by their `footprint`, a validation, or a load before. See docs/scheduling.md.',
  ),
  priority_step_secs: key(
    seconds(0).default(30),
    'How much earlier than it came a request counts as having come for each step of priority (`low`, `normal`, `high`). So a low one is late by that at most, and never lost.',
  ),
  max_header_priority: key(
    z.enum(PRIORITIES).default('normal'),
    'The highest priority that a client may ask for with `x-catnap-priority`. What is above it counts as this.',
  ),
});

type PolicyKey = keyof typeof PolicySchema.shape;

/** Keys that only some policies read. */
export const KEYS_OF_POLICIES: readonly { readonly key: PolicyKey; readonly policies: readonly PolicyName[] }[] = [
  { key: 'max_wait_secs', policies: ['cost_aware', 'time_slice', 'slack'] },
  { key: 'serving_share', policies: ['slack'] },
  { key: 'hold', policies: ['slack'] },
  { key: 'coalesce_window_ms', policies: ['cost_aware'] },
  { key: 'amortization_factor', policies: ['cost_aware'] },
  { key: 'tick_interval_ms', policies: ['time_slice'] },
  { key: 'min_quantum_ms', policies: ['time_slice'] },
];
