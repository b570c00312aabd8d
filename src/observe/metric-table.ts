/** One metric: what it is called, what it counts, and by what. docs/metrics.md is rendered from it. */
export type MetricRow = {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds in seconds; histograms only. */
  readonly buckets?: readonly number[];
};

/** From a swap between tiny models to one that loads hundreds of gigabytes. */
const SWAP_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600] as const;
const WAIT_BUCKETS = [0.001, 0.005, ...SWAP_BUCKETS] as const;
const OVERHEAD_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5] as const;

/** The metrics catnap keeps, by what the code calls them. Pairs of models are never labels of a histogram. */
export const TABLE = {
  build: {
    name: 'catnap_build_info',
    type: 'gauge',
    help: 'Always 1; the label says which version runs.',
    labels: ['version'],
  },
  accepting: {
    name: 'catnap_accepting',
    type: 'gauge',
    help: '1 while requests are let in, 0 while catnap shuts down.',
    labels: [],
  },
  requests: {
    name: 'catnap_requests_total',
    type: 'counter',
    help: 'Requests by how they ended. The model is empty when the request named none that is configured.',
    labels: ['model', 'outcome'],
  },
  errors: {
    name: 'catnap_errors_total',
    type: 'counter',
    help: 'Requests that catnap itself answered with an error, by its code.',
    labels: ['model', 'code'],
  },
  queueWait: {
    name: 'catnap_queue_wait_seconds',
    type: 'histogram',
    help: 'How long requests waited for their turn, those included that never got it.',
    labels: ['model'],
    buckets: WAIT_BUCKETS,
  },
  ttfb: {
    name: 'catnap_ttfb_seconds',
    type: 'histogram',
    help: "From the grant of a request to the engine's first byte.",
    labels: ['model'],
    buckets: WAIT_BUCKETS,
  },
  queueDepth: {
    name: 'catnap_queue_depth',
    type: 'gauge',
    help: 'Requests that wait for this model now.',
    labels: ['model'],
  },
  oldestWait: {
    name: 'catnap_oldest_wait_seconds',
    type: 'gauge',
    help: 'How long the request that waits longest for this model has waited; 0 when none waits.',
    labels: ['model'],
  },
  inFlight: {
    name: 'catnap_in_flight',
    type: 'gauge',
    help: 'Requests that engines of this model work on now.',
    labels: ['model'],
  },
  swaps: {
    name: 'catnap_swaps_total',
    type: 'counter',
    help: 'Swaps by who left and who came. From is empty when there was room, and * when several left.',
    labels: ['from', 'to', 'result'],
  },
  swap: {
    name: 'catnap_swap_seconds',
    type: 'histogram',
    help: 'How long swaps took, from the decision until the model was ready.',
    labels: ['model', 'level', 'result'],
    buckets: SWAP_BUCKETS,
  },
  swapLeg: {
    name: 'catnap_swap_leg_seconds',
    type: 'histogram',
    help: 'How long each leg of a swap took: drain, sleep, clear, wake, ready.',
    labels: ['leg', 'model', 'level', 'result'],
    buckets: SWAP_BUCKETS,
  },
  swapOverhead: {
    name: 'catnap_swap_overhead_seconds',
    type: 'histogram',
    help: 'What catnap added to finished swaps, outside the engines and the drain.',
    labels: [],
    buckets: OVERHEAD_BUCKETS,
  },
  requestsFrozen: {
    name: 'catnap_requests_frozen_total',
    type: 'counter',
    help: 'Requests that were suspended with their engine to make room for another model (experimental.freeze_drain).',
    labels: ['model'],
  },
  frozen: {
    name: 'catnap_frozen_seconds',
    type: 'histogram',
    help: 'How long models with requests in flight were suspended until they went on.',
    labels: ['model'],
    buckets: SWAP_BUCKETS,
  },
  engineState: {
    name: 'catnap_engine_state',
    type: 'gauge',
    help: 'Engines of this model in this state.',
    labels: ['model', 'state'],
  },
  engineResidency: {
    name: 'catnap_engine_residency',
    type: 'gauge',
    help: 'Engines of this model whose weights are there: gpu, host, dropped, suspended, disk or none.',
    labels: ['model', 'residency'],
  },
  sleeperHeld: {
    name: 'catnap_sleeper_held_bytes',
    type: 'gauge',
    help: 'What sleeping engines of this model hold: on the gpu, in host memory, on disk; as seen when they fell asleep.',
    labels: ['model', 'where'],
  },
  stageCapacity: {
    name: 'catnap_stage_capacity',
    type: 'gauge',
    help: 'The budget of this stage: MiB, or models where models are counted.',
    labels: ['stage'],
  },
  stageTaken: {
    name: 'catnap_stage_taken',
    type: 'gauge',
    help: 'How much of it is taken by models that are awake, on their way, or not proven gone.',
    labels: ['stage'],
  },
  engineFailures: {
    name: 'catnap_engine_failures_total',
    type: 'counter',
    help: 'Failures of engines, by what they were doing.',
    labels: ['model', 'phase'],
  },
  escalations: {
    name: 'catnap_escalations_total',
    type: 'counter',
    help: 'Sleeps that failed, by the level that was asked for and the one that was done in its place; 5 is the end of the process.',
    labels: ['model', 'from', 'to'],
  },
  swapsOverlapped: {
    name: 'catnap_swaps_overlapped_total',
    type: 'counter',
    help: 'Swaps in which the wanted model came in while others still left (`policy.overlap`).',
    labels: ['model'],
  },
  startsShort: {
    name: 'catnap_starts_short_of_memory_total',
    type: 'counter',
    help: 'Starts that ran out of memory and were tried once more after others had made room.',
    labels: ['model'],
  },
  hostShort: {
    name: 'catnap_host_memory_short_total',
    type: 'counter',
    help: 'How often a sleeper was put deeper, or a model not put where it was to go, since sleepers may hold no more host memory, by the level it goes to.',
    labels: ['model', 'to'],
  },
  demotions: {
    name: 'catnap_demotions_total',
    type: 'counter',
    help: 'How often a model had nothing to do and was put away or deeper, by the level it was to go to.',
    labels: ['model', 'to'],
  },
  hook: {
    name: 'catnap_hook_seconds',
    type: 'histogram',
    help: 'How long hooks took, by how they ended: done, failed, or withdrawn with their order.',
    labels: ['model', 'hook', 'result'],
    buckets: SWAP_BUCKETS,
  },
  enginesStuck: {
    name: 'catnap_engine_stops_unproven_total',
    type: 'counter',
    help: 'Stops after which an engine was not proven gone, so that they were tried again.',
    labels: ['model'],
  },
  leasesCut: {
    name: 'catnap_leases_cut_total',
    type: 'counter',
    help: 'Requests that were cut off while an engine worked on them, by the reason.',
    labels: ['model', 'code'],
  },
  prefetched: {
    name: 'catnap_prefetched_bytes_total',
    type: 'counter',
    help: 'Bytes of files that were read ahead for a model, by how the reading ended.',
    labels: ['model', 'end'],
  },
  requestsReturned: {
    name: 'catnap_requests_returned_total',
    type: 'counter',
    help: 'Requests that went back to their place in line when the deadline of a drain had cut them before their first byte.',
    labels: ['model'],
  },
  leftovers: {
    name: 'catnap_leftovers_reaped_total',
    type: 'counter',
    help: 'Engines of an earlier catnap that were found running, by whether they could be ended.',
    labels: ['gone'],
  },
  clientErrors: {
    name: 'catnap_client_errors_total',
    type: 'counter',
    help: 'Connections closed because what came was no HTTP request.',
    labels: [],
  },
  keyRequests: {
    name: 'catnap_key_requests_total',
    type: 'counter',
    help: 'Requests that came with a key of the config, by its name and how they ended.',
    labels: ['key', 'outcome'],
  },
  gpuTotal: {
    name: 'catnap_gpu_memory_total_bytes',
    type: 'gauge',
    help: 'Memory of this GPU, by the number that its driver gives it.',
    labels: ['gpu'],
  },
  gpuUsed: {
    name: 'catnap_gpu_memory_used_bytes',
    type: 'gauge',
    help: 'Memory of this GPU that is in use, whoever uses it. Read beside requests, and some seconds old.',
    labels: ['gpu'],
  },
  hostMemory: {
    name: 'catnap_engine_host_memory_bytes',
    type: 'gauge',
    help: 'Main memory that the processes of this model hold, mapped files not counted. Read beside requests, and some seconds old.',
    labels: ['model'],
  },
  bodiesMemory: {
    name: 'catnap_bodies_memory_bytes',
    type: 'gauge',
    help: 'Bodies of requests that are kept in memory now.',
    labels: [],
  },
  bodiesDisk: {
    name: 'catnap_bodies_disk_bytes',
    type: 'gauge',
    help: 'Bodies of requests that are kept on disk now.',
    labels: [],
  },
  adminActs: {
    name: 'catnap_admin_actions_total',
    type: 'counter',
    help: 'What operators changed or tried to, by the name of the key, which is empty without one.',
    labels: ['key', 'result'],
  },
  reloads: {
    name: 'catnap_config_reloads_total',
    type: 'counter',
    help: 'How often the config was read again, by whether it is used: done, or refused, when all stays as it was.',
    labels: ['result'],
  },
  reloadGood: {
    name: 'catnap_config_last_reload_successful',
    type: 'gauge',
    help: '0 when the config was refused the last time it was read, 1 otherwise.',
    labels: [],
  },
  restartsCalledOff: {
    name: 'catnap_restarts_called_off_total',
    type: 'counter',
    help: 'How often a fresh catnap was to take over and did not. One that does begins to count at 0.',
    labels: [],
  },
} as const satisfies Record<string, MetricRow>;

export const METRICS: readonly MetricRow[] = Object.values(TABLE);
