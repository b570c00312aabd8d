import type { Config } from '../schema.ts';

/**
 * When a change of the config holds that was read while catnap runs.
 * `next_turn`: when the model comes the next time. `next_start`: when its engine starts the next time, for whatever reason.
 * `restart`: as that, and its engine is started anew when somebody asks for it. `next_catnap`: when catnap starts the next time.
 */
export const MOMENTS = ['at_once', 'next_turn', 'next_start', 'restart', 'next_catnap'] as const;
export type Moment = (typeof MOMENTS)[number];

/** `never`: as long as catnap runs it cannot be changed at all. */
export type When = Moment | 'never';

type Setting = Exclude<keyof Config, 'models'>;

/** When each key outside of `models` holds; where its parts differ, each part. What models inherit changes with them. */
export const SETTINGS = {
  aliases: 'at_once',
  preload: 'next_catnap',
  default_model: 'at_once',
  port: 'never',
  host: 'never',
  insecure_public: 'at_once',
  cors_origins: 'at_once',
  metrics_port: 'never',
  keys: 'at_once',
  allowed_hosts: 'at_once',
  admin_port: 'never',
  tls: { cert: 'at_once', key: 'at_once', check_secs: 'at_once' },
  vllm_command: 'at_once',
  llama_server_command: 'at_once',
  sglang_command: 'at_once',
  exllamav3_command: 'at_once',
  policy: 'at_once',
  stages: 'never',
  prefetch: 'never',
  startup_timeout_secs: 'at_once',
  startup_stall_secs: 'next_start',
  probe_timeout_secs: 'next_start',
  sleep_timeout_secs: 'next_start',
  wake_timeout_secs: 'next_start',
  changed_answer: 'next_start',
  stop_grace_secs: 'next_start',
  stop_timeout_secs: 'next_start',
  stop_retry_secs: 'at_once',
  stall_timeout_secs: 'at_once',
  stall_probe_timeout_secs: 'at_once',
  connect_timeout_secs: 'at_once',
  idle_timeout_secs: 'at_once',
  total_timeout_secs: 'at_once',
  response_timeout_secs: 'at_once',
  restart: 'at_once',
  upstream_asset_paths: 'at_once',
  max_connections: 'at_once',
  max_header_bytes: 'never',
  header_timeout_secs: 'at_once',
  max_body_bytes: 'at_once',
  body_memory_bytes: 'never',
  body_memory_total_bytes: 'never',
  body_disk_bytes: 'never',
  body_pass_on_bytes: 'at_once',
  body_pass_on_secs: 'at_once',
  body_timeout_secs: 'at_once',
  slow_reader_secs: 'at_once',
  wait_comment_after_secs: 'at_once',
  wait_comment_every_secs: 'at_once',
  keep_alive_secs: 'at_once',
  shutdown_timeout_secs: 'at_once',
  handover_rest_secs: 'at_once',
  handover_ready_secs: 'at_once',
  handover_drain_secs: 'at_once',
  watch_config: 'at_once',
  state_dir: 'never',
  log_max_mib: 'never',
  log_keep: 'never',
  log_tail_lines: 'never',
  keep_kv_max_mib: 'never',
  record_trace: 'never',
  record_trace_max_mib: 'never',
  journal_entries: 'never',
  gpu: { capacity_mib: 'never', nvidia_smi_path: 'never', read_timeout_secs: 'never', free_timeout_secs: 'next_start' },
  experimental: 'at_once',
  checkpoint: 'never',
} as const satisfies Record<Setting, When | Readonly<Record<string, When>>>;

/** Keys of models for which no engine is started anew. Whatever is not listed may decide which engine is started. */
const OF_MODELS: Readonly<Record<string, When>> = {
  keep: 'never',
  stage: 'never',
  enabled: 'at_once',
  aliases: 'at_once',
  activation: 'at_once',
  prompt_format: 'at_once',
  capabilities: 'at_once',
  set_params: 'at_once',
  strip_params: 'at_once',
  default_params: 'at_once',
  sleep_level: 'at_once',
  target_inflight: 'at_once',
  response_timeout_secs: 'at_once',
  idle_timeout_secs: 'at_once',
  total_timeout_secs: 'at_once',
  stall_timeout_secs: 'at_once',
  footprint: 'next_turn',
  exclusive: 'next_turn',
  startup_timeout_secs: 'next_start',
  startup_stall_secs: 'next_start',
  probe_timeout_secs: 'next_start',
  stop_grace_secs: 'next_start',
  warmup: 'next_start',
  hooks: 'next_start',
};

/** llama-server is given a thread for each request that it may get, and SGLang is started for one of two levels. */
const ON_THE_COMMAND_LINE: Readonly<Record<string, readonly string[]>> = {
  llama_server: ['target_inflight'],
  llama_cpp: ['target_inflight'],
  sglang: ['sleep_level'],
};

export function momentOf(backend: string, key: string): When {
  if (ON_THE_COMMAND_LINE[backend]?.includes(key) === true) return 'restart';
  return OF_MODELS[key] ?? 'restart';
}
