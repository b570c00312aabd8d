import { z } from 'zod';
import { count, key, path, pattern, portOrZero, program, seconds, text } from './fields.ts';

const MIB = 1_048_576;

/** An origin as browsers send it, or `*`. */
const origin = () =>
  text().regex(
    /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/\s]+)$/,
    'must be `*` or an origin, e.g. https://chat.example.org',
  );

/** Where catnap listens. */
export const listening = {
  port: key(portOrZero().default(3_000), 'The port clients talk to. 0: any free one.'),
  host: key(text().default('127.0.0.1'), 'The address catnap listens on.', { examples: ['0.0.0.0'] }),
  insecure_public: key(
    z.boolean().default(false),
    'Must be `true` to listen on an address that others can reach while no key with `infer` is configured.',
  ),
  cors_origins: key(
    z.array(origin()).max(1_000).default([]),
    'The origins of web pages whose browsers may ask models. `*`: any page that somebody on this machine looks at. The admin API answers to none of them.',
    { examples: [['https://chat.example.org']] },
  ),
  metrics_port: key(
    portOrZero().default(9_090),
    'The port Prometheus reads. 0: none; `/metrics` answers on the main port as well.',
  ),
};

/** The programs behind each family of engines. */
export const programs = {
  vllm_command: key(program().prefault('vllm'), 'The vLLM program.'),
  llama_server_command: key(program().prefault('llama-server'), 'The llama-server program.'),
  sglang_command: key(program().prefault(['python3', '-m', 'sglang.launch_server']), 'The SGLang server.'),
  exllamav3_command: key(
    program().prefault('tabbyapi'),
    'TabbyAPI, which serves ExLlamaV3: it is no program on PATH by itself, so name the Python it was installed for and its `main.py`.',
    { examples: [['/opt/tabbyAPI/venv/bin/python', '/opt/tabbyAPI/main.py']] },
  ),
};

const ASSETS = '\\.(?:css|gif|html|ico|jpe?g|js|json|map|mjs|png|svg|ttf|txt|wasm|webmanifest|webp|woff2?)$';

/** Bounds on what clients may send, and how slowly. */
export const requestLimits = {
  upstream_asset_paths: key(
    z.array(pattern()).max(100).default([ASSETS]),
    'Paths below `/upstream/{model}` that wake no model, as regular expressions: the files of pages that the engines serve themselves. They answer 409 while the model is not awake.',
    { examples: [['^/assets/']] },
  ),
  max_connections: key(
    count(1, 1_000_000).default(4_096),
    'How many client connections may be open. More are closed at once.',
  ),
  max_header_bytes: key(count(4_096, 16 * MIB).default(65_536), 'How large the head of a request may be.'),
  header_timeout_secs: key(seconds(0.1, 3_600).default(30), 'How long the head of a request may take to arrive.'),
  max_body_bytes: key(
    count(1, 16_384 * MIB).default(256 * MIB),
    'How large the body of a request may be, as it was sent and unpacked. Larger ones are answered 413.',
  ),
  body_memory_bytes: key(
    count(0, 16_384 * MIB).default(16 * MIB),
    'How much of memory the body of one request may hold while it waits. A larger one goes to a file that has no name, and sooner when memory is short: a body may hold an eighth of what is free.',
  ),
  body_memory_total_bytes: key(
    count(0, 1_048_576 * MIB).default(256 * MIB),
    'How much of memory all of them may hold.',
  ),
  body_disk_bytes: key(
    count(0, 1_048_576 * MIB).default(8_192 * MIB),
    'How much disk all of them may hold, in `bodies` of `state_dir`. Where memory and this are used up, requests are answered 503 (`body_not_kept`). 0: nothing is written.',
  ),
  body_pass_on_bytes: key(
    count(0, 16_384 * MIB).default(MIB / 4),
    'From which announced size on a body is passed on to its engine while it still arrives, where its model is awake and has a place free. 0: each is read whole first.',
  ),
  body_pass_on_secs: key(
    seconds(0.1).default(30),
    'How long such a body may take from then on, since it holds a place at the engine. One that would take more than a third of this is read whole first.',
  ),
  body_timeout_secs: key(seconds(0.1).default(300), 'How long a whole request may take to arrive.'),
  slow_reader_secs: key(
    seconds(1).default(300),
    'How long a client may take nothing of an answer that is ready for it. Then its connection is ended.',
  ),
  wait_comment_after_secs: key(
    seconds(0).default(10),
    'After how long a stream that waits is answered with comments, which say what it waits for. 0: never.',
  ),
  wait_comment_every_secs: key(seconds(0.01).default(5), 'How often such a comment is sent from then on.'),
  keep_alive_secs: key(seconds(0, 3_600).default(75), 'How long an idle client connection is kept.'),
  shutdown_timeout_secs: key(seconds(0, 3_600).default(30), 'How long requests may take to finish after SIGTERM.'),
  handover_rest_secs: key(
    seconds(0, 3_600).default(120),
    'On `catnap restart`: how long models that are on their way in or out may take to arrive. When they do not, the restart is called off.',
  ),
  handover_ready_secs: key(
    seconds(1, 3_600).default(30),
    'On `catnap restart`: how long the fresh catnap may take to read its config, and then to take over. When it does not, the restart is called off.',
  ),
  handover_drain_secs: key(
    seconds(0).default(3_600),
    'How long the catnap before goes on with the requests that were open at a restart. Then they are cut.',
  ),
};

/** What catnap keeps, on disk and in memory. */
export const keeping = {
  state_dir: key(
    path().optional(),
    'The folder for engine logs, the list of what catnap has started, bodies that wait, and verdicts of `--validate`.',
    {
      default_text: '`$XDG_STATE_HOME/catnap`, else `~/.local/state/catnap`',
    },
  ),
  log_max_mib: key(
    z.number().min(0.01).max(1_048_576).default(16),
    "How large one engine's log file may grow before it is rotated.",
  ),
  log_keep: key(count(0, 100).default(1), 'How many rotated log files are kept for each engine.'),
  log_tail_lines: key(count(1, 100_000).default(500), 'How many of the last lines of each engine are kept in memory.'),
  keep_kv_max_mib: key(
    count(1, 1_073_741_824).default(4_096),
    'How much all conversations kept by `keep_kv` may take in `state_dir`. The oldest of other models go first.',
  ),
  record_trace: key(
    path().optional(),
    'A file that gets a line for each request: when it came, its model, how long it waited and was served, its sizes. Never what was said. `catnap simulate --trace` reads it.',
    { examples: ['/var/lib/catnap/trace.csv'] },
  ),
  record_trace_max_mib: key(
    z.number().min(0.01).max(1_048_576).default(64),
    'How large that file may grow before it is put aside as `FILE.1`, in place of the one before.',
  ),
  journal_entries: key(count(1, 1_000_000).default(2_000), 'How many of the last events are kept in memory.'),
};
