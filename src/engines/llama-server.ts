import { valueOf } from '../core/flags.ts';
import type { ModelId } from '../core/kinds.ts';
import type { LlamaCppModel, LlamaServerModel } from '../config/schema.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { LoadOverride } from '../ports/load-override.ts';
import { DriverError } from './driver.ts';
import type { LlamaBinaries } from './llama-binaries.ts';
import type { LlamaConversations } from './llama-kept.ts';
import { LlamaDoze } from './llama-doze.ts';
import { combine, faultsIn, type Nearest, type OwnFlag } from './llama-flags.ts';
import type { KnownFlags } from './llama-help.ts';
import { overridden, withoutFlags } from './overrides.ts';
import { finishesBatches } from './llama-progress.ts';
import { answersOk, bearer, surroundings } from './served.ts';
import { leastWork } from './sign-of-life.ts';
import type { Family } from './family.ts';
import { anyTrue } from './wait.ts';

/** What it takes when nobody says how many requests it is to work on at a time: its own number of slots. */
const SLOTS = 4;

/** A stream that is quiet gets a comment this often; it is also how soon a departed client is noticed and a stop goes on. */
const PING_SECS = 5;

/**
 * It gives each open connection a thread, and lets further connections wait until one is closed. So there is a thread
 * for every request it is given, and some for our own questions and for an operator's.
 */
const SPARE_THREADS = 8;

/** Flags by which the user names something on the network; without one the server is told to stay off it. */
const FROM_NETWORK = ['--hf-repo', '--hf-file', '--model-url', '--docker-repo', '--spec-draft-hf', '--mmproj-url'];

type LlamaModel = LlamaServerModel | LlamaCppModel;

type LlamaMeans = {
  readonly clock: Clock;
  readonly http: EngineHttp;
  readonly binaries: LlamaBinaries;
  readonly nearest: Nearest;
  /** Undefined: what it has read is not kept. */
  readonly conversations: LlamaConversations | undefined;
  /** What the load that is being carried out asks to be different. */
  readonly override: () => LoadOverride;
};

/** llama-server of llama.cpp. It has no call that puts it to sleep: it goes to disk as a whole, or it ends. */
export function llamaServer(model: ModelId, config: LlamaModel, means: LlamaMeans): Family {
  const { llama_server_command: command, extra_args: extra } = config;
  const servedName = aliasIn(extra) ?? config.served_model_name ?? model;
  const key = config.api_key?.reveal();
  const headers = bearer(valueOf(extra, ['--api-key'])?.split(',', 1)[0] ?? key);
  const doze = dozeOf(config, means.clock);
  return {
    name: 'llama-server',
    readinessPath: '/health',
    isReady: answersOk,
    servedName,
    headers,
    stopCommand: undefined,
    ...(doze !== undefined && {
      doze: {
        everyMs: doze.everyMs,
        look: (origin: string, signal: AbortSignal) => doze.look({ http: means.http, origin, headers, signal }),
      },
    }),
    ...(means.conversations !== undefined && { conversations: means.conversations }),
    memory: () => ({ conversations: means.conversations?.key }),
    recall: ({ conversations }) => {
      if (means.conversations !== undefined) means.conversations.key = conversations;
    },
    async launch(port) {
      const known = await means.binaries.flagsOf(command);
      const override = means.override();
      const faults = faultsIn(extra, known, means.nearest);
      if (faults.length > 0)
        throw new DriverError(
          `models.${model}.extra_args does not fit ${await means.binaries.versionOf(command)}: ${faults.join('; ')}`,
          'bad_flag',
        );
      if (config.sleep_idle_secs !== undefined && known !== undefined && known.find(IDLE) === undefined)
        throw new DriverError(
          `models.${model}.sleep_idle_secs needs a llama-server that knows ${IDLE}, and ${await means.binaries.versionOf(command)} does not`,
          'bad_flag',
        );
      const settings = overridden(config, override);
      const keeping = (await means.conversations?.flags(config.model_path, extra)) ?? [];
      const users = withoutFlags(extra, flagsOf(override, known));
      const argsFor = (at: number): string[] =>
        combine([...ownFlags(settings, servedName, at, known), ...keeping], users, known);
      // The port is another one each time, and nothing depends on it.
      await means.conversations?.launched([await means.binaries.versionOf(command), ...command, ...argsFor(0)]);
      const args = argsFor(port);
      const env = { ...(key === undefined ? {} : { LLAMA_API_KEY: key }), ...surroundings(config) };
      return { argv: [...command, ...args], env, cwd: undefined };
    },
    async prove({ origin, signal: wanted }) {
      const over = new AbortController();
      const signal = AbortSignal.any([wanted, over.signal]);
      const question = { http: means.http, origin, servedName, headers, signal };
      const work = leastWork(question).then((found) => found === 'done');
      const back = doze?.comesBack(question) ?? Promise.resolve(false);
      const alive = await anyTrue([work, finishesBatches(question, means.clock), back]);
      over.abort();
      return alive;
    },
  };
}

/** With several slots each may use the whole context, as the server has it when it chooses their number itself. */
function ownFlags(config: LlamaModel, alias: string, port: number, known: KnownFlags | undefined): OwnFlag[] {
  const parallel = 'llama_server_parallel' in config ? config.llama_server_parallel : undefined;
  return [
    { name: '--host', value: '127.0.0.1' },
    { name: '--port', value: String(port) },
    { name: '--model', value: config.model_path },
    { name: '--alias', value: alias },
    { name: '--parallel', value: String(parallel ?? SLOTS) },
    { name: '--kv-unified', optional: true, unless: ['--kv-unified-per-slot'] },
    { name: '--no-ui', optional: true },
    { name: '--offline', optional: true, unless: FROM_NETWORK.flatMap((name) => known?.find(name)?.names ?? [name]) },
    { name: '--metrics', optional: true },
    { name: '--slots', optional: true },
    { name: '--sse-ping-interval', value: String(PING_SECS), optional: true },
    { name: '--threads-http', value: String(config.target_inflight + SPARE_THREADS), optional: true },
    { name: '--log-colors', value: 'off', optional: true },
    ...Object.entries(config).flatMap(([key, value]: [string, unknown]) => flagOf(key, value, known)),
  ];
}

const IDLE = '--sleep-idle-seconds';

/** The server's own sleep, if it is told to take it. */
function dozeOf(config: LlamaModel, clock: Clock): LlamaDoze | undefined {
  const secs = Number(valueOf(config.extra_args, [IDLE]) ?? config.sleep_idle_secs);
  if (!(secs > 0)) return undefined;
  return new LlamaDoze(clock, { idleMs: secs * 1_000, loadMs: config.startup_timeout_secs * 1_000 });
}

/** The flags that keys stand for, as the newest release spells them. */
const KEY_FLAGS: ReadonlyMap<string, string> = new Map([
  ['llama_server_n_ctx', '--ctx-size'],
  ['llama_server_flash_attn', '--flash-attn'],
  ['llama_server_mmproj', '--mmproj'],
  ['llama_server_image_max_tokens', '--image-max-tokens'],
  ['llama_server_reasoning', '--reasoning'],
  ['llama_server_spec_type', '--spec-type'],
  ['llama_server_draft_model_path', '--spec-draft-model'],
  ['llama_server_spec_draft_n_max', '--spec-draft-n-max'],
  ['llama_server_spec_draft_p_min', '--spec-draft-p-min'],
  ['llama_server_n_gpu_layers', '--n-gpu-layers'],
  ['sleep_idle_secs', IDLE],
  ['gguf_n_ctx', '--ctx-size'],
  ['gguf_n_gpu_layers', '--n-gpu-layers'],
  ['gguf_flash_attn', '--flash-attn'],
  ['gguf_type_k', '--cache-type-k'],
  ['gguf_type_v', '--cache-type-v'],
]);

function flagOf(key: string, value: unknown, known: KnownFlags | undefined): OwnFlag[] {
  const newest = KEY_FLAGS.get(key);
  if (newest === undefined || (typeof value !== 'string' && typeof value !== 'number')) return [];
  const name = spelling(newest, known);
  if (typeof value === 'number' && value < 0) return [{ name, value: ALL_LAYERS }];
  // Releases that know no `auto` have a flag that stands alone, for on.
  if (newest === '--flash-attn' && known?.find(name)?.takesValue === false) return value === 'on' ? [{ name }] : [];
  return [{ name, value: String(value) }];
}

/** How earlier releases spell some of them. */
const EARLIER: Readonly<Record<string, string>> = {
  '--spec-draft-model': '--model-draft',
  '--spec-draft-n-max': '--draft-max',
  '--spec-draft-p-min': '--draft-p-min',
};

function spelling(name: string, known: KnownFlags | undefined): string {
  const earlier = EARLIER[name];
  return earlier !== undefined && known?.find(name) === undefined && known?.find(earlier) !== undefined
    ? earlier
    : name;
}

/** What this load decides, in every spelling: it is nobody else's. */
function flagsOf(override: LoadOverride, known: KnownFlags | undefined): ReadonlySet<string> {
  const names = Object.keys(override).flatMap((key) => {
    const newest = KEY_FLAGS.get(key);
    return newest === undefined ? [] : [spelling(newest, known)];
  });
  return new Set(names.flatMap((name) => known?.find(name)?.names ?? [name, ...(SHORT[name] ?? [])]));
}

const SHORT: Readonly<Record<string, readonly string[]>> = {
  '--ctx-size': ['-c'],
  '--flash-attn': ['-fa'],
  '--cache-type-k': ['-ctk'],
  '--cache-type-v': ['-ctv'],
  '--spec-draft-model': ['-md'],
};

/** More than any model has; every release reads it as all of them. */
const ALL_LAYERS = '9999';

/** The server goes by the first of its aliases in the order of the alphabet. */
function aliasIn(extra: readonly string[]): string | undefined {
  return valueOf(extra, ['--alias', '-a'])
    ?.split(',')
    .map((alias) => alias.trim())
    .toSorted()[0];
}
