import { has, valueOf } from '../core/flags.ts';
import type { ModelId, SleepLevel } from '../core/kinds.ts';
import { ranksIn } from '../core/ranks.ts';
import type { VllmServeModel } from '../config/schema.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { LoadOverride } from '../ports/load-override.ts';
import type { Programs } from '../ports/programs.ts';
import { answersOk, bearer, missing, surroundings } from './served.ts';
import { leastWork } from './sign-of-life.ts';
import type { Family } from './family.ts';
import { hasKvScales, vllmArgs } from './vllm-flags.ts';
import { againstLevel2, againstParting, VllmSleep } from './vllm-sleep.ts';
import { remedyForLoad } from './vllm-version.ts';

type VllmMeans = {
  readonly http: EngineHttp;
  readonly programs: Programs;
  readonly sleepMs: number;
  readonly wakeStepMs: number;
  /** Whether it goes to sleep by itself before it goes to disk. */
  readonly sleepsBeforeDisk: boolean;
  readonly extension: Extension;
  /** What the load that is being carried out asks to be different. */
  readonly override: () => LoadOverride;
};

/** Our extension of its workers, as a file of Python. */
export type Extension = {
  /** Where it lies. */
  readonly folder: string;
  /** Where Python looks besides, as inherited. */
  readonly pythonPath: string | undefined;
};

const EXTENSION = 'catnap_vllm.CatnapWorker';

/** It reads no colours, reports to nobody, and its last word on a repeated flag is the user's. */
const QUIET = { NO_COLOR: '1', VLLM_NO_USAGE_STATS: '1', DO_NOT_TRACK: '1' };

/** Without its development routes there is nothing to call. They listen where the engine does, on 127.0.0.1. */
const SLEEPS = { VLLM_SERVER_DEV_MODE: '1' };

/** What stands in the way of a checkpoint: rings of io_uring, sockets of libuv, and a pool of compilers that never rests. */
const CHECKPOINTS = { UV_USE_IO_URING: '0', USE_LIBUV: '0', TORCHINDUCTOR_QUIESCE_ASYNC_COMPILE_POOL: '1' };

const ASK_MS = 5_000;

/** vLLM as `vllm serve` starts it. Its health route answers as long as its web server lives, so only work proves it alive. */
export function vllmServe(model: ModelId, config: VllmServeModel, means: VllmMeans): Family {
  const { vllm_command: command, extra_args: extra, levels_allowed: levels } = config;
  const servedName =
    valueOf(extra, ['--served-model-name', '--served_model_name']) ?? config.served_model_name ?? model;
  const key = config.api_key?.reveal();
  const headers = bearer(valueOf(extra, ['--api-key', '--api_key']) ?? key);
  const sleeps = sleepsItself(levels, means);
  /** What its keys, the user and the last load have made of its arguments. */
  let args: readonly string[] = extra;
  return {
    name: 'vLLM',
    readinessPath: '/health',
    isReady: answersOk,
    servedName,
    headers,
    stopCommand: undefined,
    ranks: ranksIn('vllm_serve', extra),
    remedy: (trouble, printed) =>
      trouble === 'out_of_memory' && sleeps ? remedyForLoad([config.model_path, model], printed) : undefined,
    memory: () => ({ args }),
    recall: (memory) => {
      args = memory.args ?? args;
    },
    ownSleep: ownSleepOf(model, servedName, config, means, () => args),
    async launch(port) {
      const [program] = command;
      if ((await means.programs.find(program)) === undefined) throw missing(program, 'vLLM', 'vllm_command');
      const own = ['--port', String(port), '--host', '127.0.0.1', '--served-model-name', servedName];
      if (sleeps && !has(extra, SLEEP_MODE)) own.push('--enable-sleep-mode');
      const given = surroundings(config);
      const extended = isExtended(config);
      if (extended) own.push('--worker-extension-cls', EXTENSION);
      const env = {
        ...QUIET,
        ...(sleeps && SLEEPS),
        ...(isCheckpointed(levels) && CHECKPOINTS),
        ...(key !== undefined && { VLLM_API_KEY: key }),
        ...given,
        ...(extended && { PYTHONPATH: pathsOf(means.extension, given['PYTHONPATH']) }),
      };
      args = vllmArgs(config, means.override());
      return { argv: [...command, 'serve', config.model_path, ...own, ...args], env, cwd: undefined };
    },
    async prove({ origin, signal }) {
      return (await leastWork({ http: means.http, origin, servedName, headers, signal })) !== 'silent';
    },
  };
}

/**
 * Whether our extension goes into its workers: where several GPUs work together, and it is started so that they can be
 * told to part. It has room for one extension.
 */
const isExtended = ({ extra_args: extra, levels_allowed: levels }: VllmServeModel): boolean =>
  ranksIn('vllm_serve', extra) > 1 &&
  levels.some((level) => level === 4 || level === 'hybrid') &&
  has(extra, EAGER) &&
  has(extra, PLAIN_ALL_REDUCE) &&
  !has(extra, ['--worker-extension-cls', '--worker_extension_cls']);

const EAGER = ['--enforce-eager', '--enforce_eager'];
const PLAIN_ALL_REDUCE = ['--disable-custom-all-reduce', '--disable_custom_all_reduce'];

const pathsOf = ({ folder, pythonPath }: Extension, given: string | undefined): string =>
  [folder, given ?? pythonPath].filter((path) => path !== undefined && path !== '').join(':');

const SLEEP_MODE = ['--enable-sleep-mode', '--enable_sleep_mode', '--no-enable-sleep-mode'];

/** Level hybrid begins with level 2, and level 4 may, so that there is less to write. */
const sleepsItself = (levels: readonly SleepLevel[], { sleepsBeforeDisk }: VllmMeans): boolean =>
  levels.some((level) => level === 1 || level === 2 || level === 'hybrid' || (level === 4 && sleepsBeforeDisk));

const isCheckpointed = (levels: readonly SleepLevel[]): boolean =>
  levels.some((level) => level === 3 || level === 4 || level === 'hybrid');

/** Levels that its settings alone rule out, before it is started, and why. */
export function vllmRulesOut(config: VllmServeModel): ReadonlyMap<SleepLevel, string> {
  const out = new Map<SleepLevel, string>();
  const settings = sleepSettings(config);
  const second = againstLevel2({ ...settings, speculates: has(vllmArgs(config, {}), SPECULATES) });
  for (const level of [2, 'hybrid'] as const) if (second !== undefined) out.set(level, second);
  if (ranksIn('vllm_serve', config.extra_args) === 1) return out;
  out.set(3, 'it runs on several GPUs that talk to each other, which a checkpoint breaks');
  const parting = againstParting(settings);
  for (const level of ['hybrid', 4] as const) if (parting !== undefined) out.set(level, parting);
  return out;
}

const SPECULATES = ['--speculative-config', '--speculative_config', '--speculative-model', '-sc'];

function sleepSettings({ extra_args: extra, env }: VllmServeModel) {
  const runtime = env['VLLM_ALLOW_RUNTIME_LORA_UPDATING']?.reveal();
  const loraAtRunTime = /^(1|true)$/i.test(runtime ?? '');
  return {
    lora: loraAtRunTime || has(extra, ['--enable-lora', '--enable_lora', '--lora-modules', '--lora_modules']),
    loraAtRunTime,
    eager: has(extra, EAGER),
    plainAllReduce: has(extra, PLAIN_ALL_REDUCE),
  };
}

function ownSleepOf(
  model: ModelId,
  servedName: string,
  config: VllmServeModel,
  { sleepMs, wakeStepMs }: VllmMeans,
  launchedWith: () => readonly string[],
): VllmSleep {
  const { model_path, extra_args: extra, startup_timeout_secs } = config;
  return new VllmSleep({
    names: [model_path, model, servedName],
    speculates: () => has(launchedWith(), SPECULATES),
    ...sleepSettings(config),
    kvScales: () => hasKvScales([model_path, model, servedName], launchedWith()),
    extended: isExtended(config),
    suspendsNccl: has(extra, ['--enable-nccl-comm-suspend', '--enable_nccl_comm_suspend']),
    askMs: ASK_MS,
    sleepMs,
    stepMs: wakeStepMs,
    loadMs: startup_timeout_secs * 1_000,
  });
}
