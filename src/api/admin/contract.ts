import { z } from 'zod';
import { Detail } from './constraints/schema.ts';

/** What the admin API answers. The server is checked against it in tests, the command line reads answers with it. */

const secs = z.number().nonnegative();

export const RuntimeState = z.enum(['unloaded', 'loading', 'loaded', 'unloading', 'failed']);
export type RuntimeState = z.infer<typeof RuntimeState>;

export const EngineRow = z.object({
  engine: z.string().meta({ description: 'The model and the number of the replica.' }),
  phase: z.string().meta({ description: 'What it is doing, in its own words.' }),
  dozes: z.boolean().meta({
    description:
      'Whether its server has put itself to sleep (`sleep_idle_secs`) while it counts as awake: the next request waits until it is back.',
  }),
  phase_secs: secs.nullable().meta({ description: 'For how long; null when it does nothing.' }),
  pid: z.int().nullable(),
  port: z.int().nullable(),
  holds: z
    .object({ gpu_mib: z.number().nullable(), host_mib: z.number().nullable(), disk_mib: z.number().nullable() })
    .nullable()
    .meta({
      description:
        'What it holds while it sleeps, as it was seen when it fell asleep; a null in it: that could not be seen. Null while it does not sleep.',
    }),
});
export type EngineRow = z.infer<typeof EngineRow>;

const VerdictRow = z.object({
  level: z.union([z.int().min(1).max(5), z.literal(['hybrid', '4full', '3f', '4f'])]),
  passed: z.boolean().meta({ description: 'Whether the level worked. One that did not is not used.' }),
  reason: z.string().meta({ description: 'Why not; empty when it did.' }),
  at: z.iso.datetime(),
});

const PastFailure = z.object({
  at: z.iso.datetime(),
  during: z.string().meta({ description: 'What the engine was doing.' }),
  reason: z.string(),
  attempts: z.int().meta({ description: 'How many times in a row it had failed.' }),
});

export const Capabilities = z.object({
  modalities: z.array(z.enum(['text', 'image'])).meta({ description: 'What requests may hold.' }),
  multi_turn: z.boolean().meta({ description: 'Whether a request may hold a conversation.' }),
  thinking_modes: z
    .array(z.enum(['default', 'enabled', 'disabled']))
    .meta({ description: 'What `thinking` of a request may be.' }),
});
export type Capabilities = z.infer<typeof Capabilities>;

export const VramSource = z.enum(['observed_load_delta', 'model_artifact_size', 'unavailable']);

const vram = {
  vram_estimate_mib: z.number().nullable().meta({ description: 'About how much GPU memory it takes.' }),
  vram_estimate_replica_count: z.int().meta({ description: 'With how many replicas.' }),
  vram_estimate_source: VramSource,
};

const inflight = {
  configured_target_inflight: z
    .int()
    .meta({ description: 'How many requests the config gives each engine at a time.' }),
  effective_target_inflight: z.int().meta({ description: 'The same, but no more than an engine works on by itself.' }),
};

const SleepLevel = z.union([z.int().min(1).max(5), z.literal('hybrid')]);

const scalar = z.union([z.string(), z.number(), z.null()]);

export const ModelRow = z.object({
  name: z.string(),
  resolved_backend: z.string(),
  configured_enabled: z.boolean().meta({ description: 'What the config says, whatever the model is doing.' }),
  activation: z.enum(['on_demand', 'explicit']),
  aliases: z.array(z.string()),
  runtime_state: RuntimeState.meta({
    description:
      'What it is doing. `unloaded`: it serves nobody; asleep counts as that. `loading`, `unloading`: on its way. `loaded`: it serves. `failed`: its last load or its engine failed.',
  }),
  is_loaded: z.boolean(),
  residency: z.string().meta({ description: 'Where the weights are, of the engine that holds the most.' }),
  sleep_level: SleepLevel.meta({ description: 'How deep it is put away when another model is wanted.' }),
  levels: z.array(SleepLevel).meta({ description: 'The levels it can be put to; 5 is the end of the process.' }),
  costs: z.record(z.string(), z.object({ ms: z.int(), spread_ms: z.int(), samples: z.int() })).meta({
    description:
      'What it was seen to take: `drain`, `go:LEVEL` and `come:LEVEL`, as a moving average of milliseconds and how far single times lie from it. What was never seen is not here.',
  }),
  hold: z
    .boolean()
    .meta({ description: 'Whether it was put away for good: no request brings it back until it is loaded.' }),
  stage: z.string().meta({ description: 'The stage it is on.' }),
  room: z.number().meta({ description: 'How much of the budget of its stage it takes when it is awake.' }),
  keep: z.boolean().meta({ description: 'Whether it is put away for no other model.' }),
  waits_for_loads: z.boolean().meta({
    description: 'Whether it has room and waits until other models have loaded (`policy.max_parallel_loads`).',
  }),
  replicas: z
    .int()
    .meta({ description: 'How many engines it comes with now; `definition.replicas` is what the config says.' }),
  replica_max: z.int().meta({ description: 'How many a load may ask for.' }),
  loaded_replicas: z.int(),
  inflight_requests: z.int().meta({ description: 'Requests that are being served.' }),
  runtime_inflight: z.int().meta({ description: 'Requests that its engines work on.' }),
  suspended_requests: z.int().meta({
    description:
      'How many of those stand still, since the model made room with them in flight (`experimental.freeze_drain`).',
  }),
  queue_depth: z.int().meta({ description: 'Requests that wait for it.' }),
  ...inflight,
  ...vram,
  load_constraints: z
    .record(z.string(), z.looseObject({ kind: z.string() }))
    .meta({ description: 'What a load may change: a field that is not here cannot be changed for this model.' }),
  load_recommendations: z
    .record(z.string(), z.looseObject({ kind: z.string() }))
    .optional()
    .meta({ description: 'Values that go well together. More is taken than is recommended.' }),
  load_override: z.record(z.string(), scalar).meta({
    description: 'What its last load changed, as long as it holds. A key that is here counts, also when it is null.',
  }),
  capabilities: Capabilities,
  definition: z.record(z.string(), z.unknown()).meta({ description: 'What the config says, secrets masked.' }),
  oldest_wait_secs: secs.nullable(),
  ready_in_secs: secs
    .nullable()
    .meta({ description: 'How long until it could serve if it were wanted now; null when that is not known.' }),
  last_error: z
    .string()
    .nullable()
    .meta({ description: 'Why it failed last, as long as it has not been started again since.' }),
  last_failure: PastFailure.nullable().meta({ description: 'The last failure, also after it has recovered.' }),
  engines: z.array(EngineRow),
  verdicts: z.array(VerdictRow).meta({
    description: 'What `--validate` found of its sleep levels, with the engine and the driver as they are now.',
  }),
});
export type ModelRow = z.infer<typeof ModelRow>;

const SwapNow = z.object({
  id: z.int(),
  to: z.string(),
  from: z.array(z.string()),
  since_secs: secs,
  expected_secs: secs.nullable().meta({ description: 'How much longer it should take; null when that is not known.' }),
});

const StageRow = z.object({
  name: z.string(),
  gpus: z
    .array(z.string())
    .meta({ description: 'Its GPUs, by UUID where that is known; empty: whatever engines find.' }),
  counts: z
    .string()
    .meta({ description: 'What its budget counts: `gpu_mib`, `host_mib`, or `models` that are awake.' }),
  capacity: z.number(),
  taken: z.number().meta({ description: 'By models that are awake, on their way, or not proven gone.' }),
  mode: z.enum(['auto', 'manual']),
  pinned: z.string().nullable().meta({ description: 'The one model that requests may bring in, in manual mode.' }),
  swap: SwapNow.nullable(),
});
export type StageRow = z.infer<typeof StageRow>;

export const ModelList = z.object({
  models: z.array(ModelRow),
  stages: z
    .array(StageRow)
    .meta({ description: 'The hardware. Models on different stages never wait for each other.' }),
  swap: SwapNow.nullable().meta({ description: 'The change of who is awake that is under way.' }),
  mode: z
    .enum(['auto', 'manual'])
    .meta({ description: 'Whether requests may swap, or operators alone, on one stage at least.' }),
  accepting: z.boolean().meta({ description: 'Whether requests are let in; false while catnap shuts down.' }),
  version: z.string(),
});
export type ModelList = z.infer<typeof ModelList>;

export const ErrorAnswer = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
    problems: z.array(z.string()).optional().meta({ description: 'Everything that is wrong with the config.' }),
    details: z.array(Detail).optional().meta({ description: 'Everything that is wrong with the body.' }),
    model: ModelRow.optional().meta({ description: 'The model as it is now, after a load that failed.' }),
  }),
});

const ConfigChange = z.object({
  key: z.string(),
  holds: z.string().meta({
    description:
      'From when on: `at_once`, `next_turn` and `next_start` of its model, `restart` (the next request starts it anew), or `next_catnap`.',
  }),
});

/** What reading the config again has changed. Keys alone: no value is told. */
export const Reloaded = z.object({
  added: z.array(z.string()),
  removed: z
    .array(z.string())
    .meta({ description: 'They are listed until their requests are served and they are gone.' }),
  changed: z.array(z.object({ model: z.string(), keys: z.array(ConfigChange) })),
  settings: z.array(ConfigChange).meta({ description: 'Keys outside of `models`.' }),
  unchanged: z.int().meta({ description: 'How many models stay as they are.' }),
  restarting: z.array(z.string()).meta({ description: 'Models that were awake and start anew now, as `now` asks.' }),
});
export type Reloaded = z.infer<typeof Reloaded>;

export const RELOAD_PATH = '/v1/admin/reload';

/** What a fresh catnap has taken over. */
export const Restarted = z.object({
  version: z.string().meta({ description: 'Of the catnap that serves now.' }),
  engines: z
    .array(
      z.object({
        engine: z.string(),
        model: z.string(),
        level: z
          .union([z.int(), z.string()])
          .nullable()
          .meta({ description: 'The sleep level it is at; null when it is awake.' }),
      }),
    )
    .meta({ description: 'What has gone on as it was.' }),
  requests: z.int().meta({ description: 'How many open requests the catnap before serves to their end.' }),
  gap_ms: z.int().meta({ description: 'For how long no connection was taken; those that came waited.' }),
});
export type Restarted = z.infer<typeof Restarted>;

export const RESTART_PATH = '/v1/admin/restart';

const Gpu = z.object({
  index: z.int(),
  name: z.string(),
  used_mib: z.number(),
  total_mib: z.number(),
  used_over_total: z.string().meta({ examples: ['75603MiB / 97887MiB'] }),
});

export const GpuMemory = z.object({
  gpus: z.array(Gpu),
  models: z.array(
    z.object({ name: z.string(), runtime_state: RuntimeState, is_loaded: z.boolean(), ...inflight, ...vram }),
  ),
  error: z.string().nullable().meta({ description: 'Why no GPU could be read.' }),
});
export type GpuMemory = z.infer<typeof GpuMemory>;

export const REQUEST_PHASES = ['arriving', 'waiting', 'entering', 'granted', 'streaming', 'suspended'] as const;

const RequestRow = z.object({
  id: z.string().meta({ description: 'Its `x-request-id`. Clients may choose it, so that several can have the same.' }),
  number: z.int().meta({ description: 'Its own: requests are numbered as they come.' }),
  model: z.string().nullable().meta({ description: 'Null until it is known.' }),
  key: z.string().nullable().meta({ description: 'The name of the key it came with.' }),
  client: z.string().nullable().meta({ description: 'The address it came from.' }),
  method: z.string(),
  path: z.string().meta({ description: 'Without its query.' }),
  phase: z.enum(REQUEST_PHASES).meta({
    description:
      '`arriving`: its body is on its way. `waiting`: for its turn. `entering`: for its model, which is starting or waking. `granted`: an engine has it. `streaming`: the engine answers.',
  }),
  since: z.iso.datetime().meta({ description: 'When it came.' }),
  since_secs: secs,
  waited_secs: secs.meta({ description: 'How long it has waited for its turn, or did until it had it.' }),
  priority: z.enum(['low', 'normal', 'high']),
  deadline_secs: z
    .number()
    .nullable()
    .meta({ description: 'How much longer it would wait, where its client said; null when it did not.' }),
  bytes_in: z.int(),
  bytes_out: z.int(),
  chunks_out: z.int().meta({ description: 'In how many pieces the answer has come so far.' }),
});
export type RequestRow = z.infer<typeof RequestRow>;

export const RequestList = z.object({
  requests: z.array(RequestRow).meta({ description: 'In the order in which they came.' }),
  total: z.int().meta({ description: 'How many there are in all, on this page and others.' }),
  next: z
    .int()
    .nullable()
    .meta({ description: 'What to give as `after` for the next page; null when this was the last.' }),
});
export type RequestList = z.infer<typeof RequestList>;

export const CancelledRequests = z.object({
  requests: z.array(
    RequestRow.extend({
      outcome: z.string().meta({
        description: 'How it ended: `cancelled`, or as it would have if it ended by itself in the same moment.',
      }),
    }),
  ),
});
export type CancelledRequests = z.infer<typeof CancelledRequests>;

/** Where the admin API is, and its list of models. */
export const ADMIN = '/v1/admin';
export const MODELS_PATH = '/v1/admin/models';
export const REQUESTS_PATH = '/v1/admin/requests';

const Swap = z.object({
  id: z.int(),
  to: z.string(),
  from: z.array(z.string()).meta({ description: 'Who had to go; empty when there was room.' }),
  finished_at: z.iso.datetime(),
  total_secs: z.number(),
  legs_secs: z
    .record(z.string(), z.number())
    .meta({ description: 'Seconds per leg: drain, sleep, clear, wake, ready.' }),
  overhead_secs: z.number().meta({ description: "catnap's own share." }),
  woken_from_level: SleepLevel.meta({ description: 'Where the wanted model came back from; 5 is a fresh start.' }),
  result: z.enum(['done', 'failed', 'withdrawn']),
});
export type SwapRow = z.infer<typeof Swap>;

export const SwapList = z.object({ swaps: z.array(Swap).meta({ description: 'The newest first.' }) });
export type SwapList = z.infer<typeof SwapList>;
