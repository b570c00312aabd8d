/** Every error we answer ourselves, in one table. The type, the HTTP answer and docs/errors.md all come from it. */

export type Fault = 'client' | 'load' | 'operator' | 'engine' | 'us';

type ErrorRow = {
  readonly status: number;
  /** The `type` field of the OpenAI error shape. */
  readonly type: 'invalid_request_error' | 'authentication_error' | 'rate_limit_error' | 'server_error';
  readonly fault: Fault;
  /** Whether trying the same request again can help; false also sends `x-should-retry: false`. */
  readonly retry: boolean;
  readonly meaning: string;
};

export const ERRORS = {
  invalid_request: {
    status: 400,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'The request cannot be read: bad JSON, no `model`, or a field of the wrong kind. The message says which.',
  },
  model_missing: {
    status: 400,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'The request names no model. Put `model` in the JSON body, in the form or in the query.',
  },
  duplicate_model: {
    status: 400,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'The request names two different models. Name one.',
  },
  unsupported_encoding: {
    status: 415,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'The body is encoded in a way catnap does not read. Send it plain, or as gzip, deflate, br or zstd.',
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'The request body is larger than `max_body_bytes`, as it was sent or unpacked.',
  },
  body_timeout: {
    status: 408,
    type: 'invalid_request_error',
    fault: 'client',
    retry: true,
    meaning: 'The request body did not arrive in time.',
  },
  body_not_kept: {
    status: 503,
    type: 'server_error',
    fault: 'load',
    retry: true,
    meaning:
      'The request body could not be kept until its turn: `body_memory_total_bytes` and `body_disk_bytes` are used up, or the disk failed.',
  },
  not_found: {
    status: 404,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'There is nothing at this path.',
  },
  unfit_body: {
    status: 422,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning:
      'On the admin API: the body is no JSON, or a field of it is unknown or of the wrong kind; `details` lists what. Elsewhere: `thinking` is none of its words.',
  },
  invalid_load_request: {
    status: 400,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'On the admin API: the body can be read, but its values do not fit this model or what it is doing.',
  },
  invalid_state: {
    status: 409,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'On the admin API: the model is on its way somewhere else. Ask again when it has arrived.',
  },
  load_failed: {
    status: 500,
    type: 'server_error',
    fault: 'engine',
    retry: false,
    meaning:
      'On the admin API: the model could not be loaded. `model` holds it as it is now, with the reason in `last_error`.',
  },
  load_timeout: {
    status: 504,
    type: 'server_error',
    fault: 'engine',
    retry: false,
    meaning: 'On the admin API: the model was not loaded in time. With `timeout_s` the load goes on.',
  },
  request_not_found: {
    status: 404,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'On the admin API: no request with this id is open. GET /v1/admin/requests lists those that are.',
  },
  thinking_unsupported: {
    status: 400,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning:
      'The model does not take this value of `thinking`. `capabilities.thinking_modes` of the model lists those it takes.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'The path exists, but not for this method.',
  },
  websocket_unsupported: {
    status: 426,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'This path is not served over WebSocket. Send the same request over plain HTTP.',
  },
  key_missing: {
    status: 401,
    type: 'authentication_error',
    fault: 'client',
    retry: false,
    meaning: 'A key is needed: as a bearer token, as `x-api-key`, or as the password of Basic authentication.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    fault: 'client',
    retry: false,
    meaning: 'The key that was sent is not one of `keys`.',
  },
  forbidden: {
    status: 403,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning:
      'The key has no right to this, the path answers only to this machine, a web page of another origin asked, or the path controls an engine.',
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    fault: 'client',
    retry: true,
    meaning: 'The key makes more requests than its `requests_per_second` allows.',
  },
  concurrency_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    fault: 'client',
    retry: true,
    meaning: 'The key has as many requests open as its `max_in_flight` allows.',
  },
  model_not_found: {
    status: 404,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'No model or alias of this name is configured. GET /v1/models lists them.',
  },
  unknown_model: {
    status: 404,
    type: 'invalid_request_error',
    fault: 'client',
    retry: false,
    meaning: 'On the admin API: no model or alias of this name is configured. GET /v1/admin/models lists them.',
  },
  model_not_loaded: {
    status: 409,
    type: 'invalid_request_error',
    fault: 'load',
    retry: false,
    meaning:
      'The model is not loaded and this request does not load it: the path, the key or the header `x-catnap-swap: never` wakes no model, or the model is `explicit` or held. Nothing was woken.',
  },
  gpu_busy: {
    status: 409,
    type: 'invalid_request_error',
    fault: 'load',
    retry: false,
    meaning:
      'On the admin API: the load said `evict=false`, and another model would have to go for it, or waits for room before it. Nothing was put away.',
  },
  model_loading: {
    status: 503,
    type: 'server_error',
    fault: 'load',
    retry: true,
    meaning: 'An operator is loading this model, and requests do not wait for it.',
  },
  model_failed: {
    status: 503,
    type: 'server_error',
    fault: 'engine',
    retry: false,
    meaning: 'This model has failed, and only an operator loads it again. GET /v1/admin/models says why.',
  },
  manual_mode: {
    status: 503,
    type: 'server_error',
    fault: 'operator',
    retry: false,
    meaning: 'Swaps are in manual mode, and this model is neither awake nor pinned. An operator decides who is awake.',
  },
  model_disabled: {
    status: 403,
    type: 'invalid_request_error',
    fault: 'operator',
    retry: false,
    meaning: 'The model is configured with `enabled: false`: requests are served once an operator has loaded it.',
  },
  lane_full: {
    status: 429,
    type: 'rate_limit_error',
    fault: 'load',
    retry: true,
    meaning: 'As many requests as `max_waiting` allows already wait for this model.',
  },
  wait_timeout: {
    status: 503,
    type: 'server_error',
    fault: 'load',
    retry: true,
    meaning:
      'The request waited `request_timeout_secs` and its model did not get a turn, or the model cannot come by the deadline that the request sets itself.',
  },
  engine_failed: {
    status: 503,
    type: 'server_error',
    fault: 'engine',
    retry: true,
    meaning:
      'The engine of this model could not be started or woken. The message says in a word why; the log and `catnap status` have it whole. ' +
      'It is tried again after a pause, unless trying again cannot help: then `x-should-retry: false` is set.',
  },
  engine_died: {
    status: 502,
    type: 'server_error',
    fault: 'engine',
    retry: true,
    meaning: 'The engine was lost while it worked on this request.',
  },
  engine_unreachable: {
    status: 502,
    type: 'server_error',
    fault: 'engine',
    retry: true,
    meaning: 'The engine did not accept the connection, or closed it before it answered.',
  },
  engine_misfit: {
    status: 502,
    type: 'server_error',
    fault: 'engine',
    retry: false,
    meaning: 'The client was promised a stream while it waited, and the engine answered with something else.',
  },
  engine_timeout: {
    status: 504,
    type: 'server_error',
    fault: 'engine',
    retry: true,
    meaning: 'The engine accepted the request and sent no answer in time.',
  },
  drained: {
    status: 503,
    type: 'server_error',
    fault: 'operator',
    retry: true,
    meaning:
      'The model was put away before this request was answered (drain deadline, or `drain_before_switch: false`).',
  },
  request_cancelled: {
    status: 503,
    type: 'server_error',
    fault: 'operator',
    retry: false,
    meaning: 'An operator has ended this request.',
  },
  model_unloading: {
    status: 503,
    type: 'server_error',
    fault: 'operator',
    retry: true,
    meaning: 'An operator is unloading this model.',
  },
  shutting_down: {
    status: 503,
    type: 'server_error',
    fault: 'operator',
    retry: true,
    meaning: 'catnap is shutting down.',
  },
  invalid_config: {
    status: 400,
    type: 'invalid_request_error',
    fault: 'operator',
    retry: false,
    meaning:
      'The config was read again and something is wrong with it. Everything stays as it was; `problems` says what to change.',
  },
  needs_restart: {
    status: 409,
    type: 'invalid_request_error',
    fault: 'operator',
    retry: false,
    meaning:
      'The config was read again and changes what cannot change while catnap runs. Everything stays as it was; `problems` names it.',
  },
  restart_refused: {
    status: 409,
    type: 'invalid_request_error',
    fault: 'operator',
    retry: false,
    meaning:
      'catnap was to leave everything to a fresh one, and that cannot be now. Everything stays as it was; `problems` says why.',
  },
  restarting: {
    status: 503,
    type: 'server_error',
    fault: 'operator',
    retry: true,
    meaning: 'A fresh catnap is taking over. Ask again; it answers in a moment.',
  },
  internal: {
    status: 500,
    type: 'server_error',
    fault: 'us',
    retry: false,
    meaning: 'A bug in catnap. The log has the details under the request id.',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** What the stage may answer a ticket with. */
export type RefusalCode = Extract<
  ErrorCode,
  | 'model_not_found'
  | 'lane_full'
  | 'wait_timeout'
  | 'engine_failed'
  | 'model_not_loaded'
  | 'model_loading'
  | 'model_unloading'
  | 'model_failed'
  | 'model_disabled'
  | 'manual_mode'
  | 'shutting_down'
  | 'restarting'
>;
/** Why a lease may be ended from our side. */
export type CutCode = Extract<ErrorCode, 'engine_died' | 'drained' | 'shutting_down' | 'restarting'>;
