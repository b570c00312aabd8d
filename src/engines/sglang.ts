import { has, valueOf } from '../core/flags.ts';
import { engineId, type ModelId, type SleepLevel } from '../core/kinds.ts';
import { ranksIn } from '../core/ranks.ts';
import type { SglangModel } from '../config/schema.ts';
import type { EngineFiles } from '../ports/engine-files.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { Programs } from '../ports/programs.ts';
import type { Argv } from './command-line.ts';
import { DriverError } from './driver.ts';
import { answersOk, bearer, missing, surroundings } from './served.ts';
import { againstSglang, SglangSleep } from './sglang-sleep.ts';
import { leastWork } from './sign-of-life.ts';
import type { Family } from './family.ts';

type SglangMeans = {
  readonly replica: number;
  readonly http: EngineHttp;
  readonly programs: Programs;
  readonly files: EngineFiles;
  readonly sleepMs: number;
  readonly wakeStepMs: number;
};

/** Its health route would otherwise make a token each time it is asked, which takes a second. */
const QUIET = { NO_COLOR: '1', SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION: 'false' };

/** What stands in the way of a checkpoint: rings of io_uring, and a pool of compilers that never rests. */
const CHECKPOINTS = { UV_USE_IO_URING: '0', TORCHINDUCTOR_QUIESCE_ASYNC_COMPILE_POOL: '1' };

/** SGLang as `python -m sglang.launch_server` starts it. */
export function sglang(model: ModelId, config: SglangModel, means: SglangMeans): Family {
  const { sglang_command: command, extra_args: extra, levels_allowed: levels } = config;
  const servedName = valueOf(extra, ['--served-model-name']) ?? config.served_model_name ?? model;
  const key = config.api_key?.reveal();
  const headers = bearer(valueOf(extra, ['--api-key']) ?? key);
  return {
    name: 'SGLang',
    readinessPath: '/health',
    isReady: answersOk,
    servedName,
    headers,
    stopCommand: undefined,
    ranks: ranksIn('sglang', extra),
    ownSleep: new SglangSleep({
      modelPath: config.model_path,
      ...sleepSettings(config),
      admin: bearer(valueOf(extra, ['--admin-api-key'])),
      sleepMs: means.sleepMs,
      stepMs: means.wakeStepMs,
      loadMs: config.startup_timeout_secs * 1_000,
    }),
    async launch(port) {
      const [program] = command;
      if ((await means.programs.find(program)) === undefined) throw missing(program, 'SGLang', 'sglang_command');
      const argv: Argv = [
        ...command,
        ...['--model-path', config.model_path, '--host', '127.0.0.1', '--port', String(port)],
        ...['--served-model-name', servedName],
        ...sleepFlags(config, extra),
        ...keyFlags(config),
        ...(key === undefined ? [] : await secretFlags(key)),
        ...extra,
      ];
      const env = {
        ...QUIET,
        ...(levels.some((level) => level === 3 || level === 4) && CHECKPOINTS),
        ...surroundings(config),
      };
      return { argv, env, cwd: undefined };
    },
    async prove({ origin, signal }) {
      return (await leastWork({ http: means.http, origin, servedName, headers, signal })) !== 'silent';
    },
  };

  /** It takes a key from its arguments, which everybody can list, or from a file. */
  async function secretFlags(secret: string): Promise<string[]> {
    if (has(extra, ['--config']))
      throw new DriverError(
        `SGLang reads one config file, and catnap hands it api_key in one: give what is in yours as flags in models.${model}.extra_args, without --config`,
        'bad_flag',
      );
    const settings = `api-key: ${JSON.stringify(secret)}\n`;
    const folder = await means.files.put(engineId(model, means.replica), { 'sglang.yaml': settings });
    return ['--config', `${folder}/sglang.yaml`];
  }
}

/**
 * Whether weights that are given up go to host memory or are dropped is decided when it starts, for every sleep it may be
 * put to: it is level 1 or level 2, and never both.
 */
const keepsWeights = ({ levels_allowed: levels, sleep_level: level }: SglangModel): boolean =>
  levels.includes(1) && level !== 2;

/** Levels that its settings alone rule out, before it is started, and why. */
export function sglangRulesOut(config: SglangModel): ReadonlyMap<SleepLevel, string> {
  const settings = sleepSettings(config);
  const own = ([1, 2] as const).flatMap((level) => {
    const why = againstSglang(level, settings);
    return why === undefined ? [] : [[level, why] as const];
  });
  const together = 'it runs on several GPUs that talk to each other, which a checkpoint breaks';
  return new Map<SleepLevel, string>([
    ...own,
    ...(ranksIn('sglang', config.extra_args) > 1 ? [[3, together] as const] : []),
  ]);
}

const sleepSettings = (config: SglangModel) => ({
  keeps: keepsWeights(config),
  speculates: has(config.extra_args, SPECULATES),
  lora: has(config.extra_args, ['--enable-lora', '--lora-paths']),
});

function sleepFlags(config: SglangModel, extra: readonly string[]): string[] {
  const { levels_allowed: levels } = config;
  if (!levels.some((level) => level === 1 || level === 2 || level === 4)) return [];
  const flags = ['--enable-memory-saver'];
  if (keepsWeights(config)) {
    flags.push('--enable-weights-cpu-backup');
    if (has(extra, ['--speculative-draft-model-path'])) flags.push('--enable-draft-weights-cpu-backup');
  }
  return flags.filter((flag) => !has(extra, [flag]));
}

const KEY_FLAGS = [
  ['sglang_context_length', '--context-length'],
  ['sglang_mem_fraction_static', '--mem-fraction-static'],
  ['sglang_kv_cache_dtype', '--kv-cache-dtype'],
] as const satisfies readonly (readonly [keyof SglangModel, string])[];

const keyFlags = (config: SglangModel): string[] =>
  KEY_FLAGS.flatMap(([key, flag]) => {
    const value = config[key];
    return value === undefined ? [] : [flag, String(value)];
  });

const SPECULATES = ['--speculative-algorithm', '--speculative-algo', '--speculative-draft-model-path'];
