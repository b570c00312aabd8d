import { dirname } from 'node:path';
import { artifactMib } from '../adapters/artifact-size.ts';
import type { CriuCheckpoints } from '../adapters/checkpoints.ts';
import { SystemLinks } from '../adapters/links.ts';
import { mainMemory } from '../adapters/main-memory.ts';
import type { SystemProcesses } from '../adapters/processes.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import { DEPTH, LEVELS } from '../config/sleep-levels.ts';
import { modelId } from '../core/kinds.ts';
import type { Backend, Driver } from '../engines/driver.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { Links } from '../ports/links.ts';
import type { Programs } from '../ports/programs.ts';
import type { Identity, TrialLevel } from '../ports/verdicts.ts';
import { levelOf } from '../validate/judge.ts';
import { asked } from '../validate/levels.ts';
import { withLimits } from '../validate/limits.ts';
import type { Result } from '../validate/observed.ts';
import { report } from '../validate/report.ts';
import { tableText } from '../validate/table.ts';
import type { TrialLimits } from '../validate/trial.ts';
import { allWell, validate } from '../validate/validation.ts';
import { verdictsOf } from '../validate/verdicts.ts';
import { errand, type ErrandMeans } from './errand.ts';
import { EXIT } from './exit.ts';
import { driverOf, identityOf, versionOf } from './identity.ts';
import { commandLimits } from './stage-plan.ts';
import { ms } from './times.ts';
import { clearTrialPlace, trialPlaceOf, type TrialPlace } from './trial-place.ts';
import { bookIn } from './verdicts.ts';
import { workshopOf } from './workshop.ts';

export type ValidateOptions = {
  readonly config: Config;
  readonly name: string;
  readonly model: ModelConfig;
  /** Undefined: all that can be had. */
  readonly levels: readonly TrialLevel[] | undefined;
  readonly cycles: number;
  readonly json: boolean;
  readonly verbose: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly out: (text: string) => void;
  readonly say: (line: string) => void;
};

const VERSION_MS = 5_000;
const MIB = 1_048_576;
const LONGEST_ANSWER_MS = 600_000;

/** Tries the sleep levels of one model and remembers what came of it. Resolves to the exit code. */
export async function validateModel(options: ValidateOptions): Promise<number> {
  const refused = (reason: string): void => options.say(`catnap cannot validate: ${reason}`);
  return errand(options, refused, (means, signal) => run(options, means, signal));
}

async function run(options: ValidateOptions, means: ErrandMeans, signal: AbortSignal): Promise<number> {
  const { config, name, model, cycles, json, out, say, env } = options;
  const { clock, processes, warned } = means;
  const place = trialPlaceOf(config);
  const { programs, http, gpu, checkpoints } = workshopOf({ config: place.config, env, ...means });
  const clear = (): Promise<void> => clearTrialPlace(config, { processes, programs, warned });
  await clear();
  let said: string | undefined;
  let bench: Pick<CriuCheckpoints, 'lastBytes'> = checkpoints;
  const tried = await clearing(clear, () =>
    validate(
      {
        asked: asked(options.levels),
        cycles,
        subject: {
          backend: model.backend,
          works: LEVELS[model.backend].works,
          allowed: model.levels_allowed,
          sleepsItself: model.backend === 'vllm_serve',
        },
        limits: limitsOf(model, config),
        driverFor: (level) => {
          const made = driverFor(level, options, place, means);
          bench = made.checkpoints;
          return made.driver;
        },
      },
      {
        ...{ clock, http, gpu, memory: mainMemory() },
        progress: (line) => say(`${name}: ${line}`),
        started: async (backend, until) => {
          said ??= model.backend === 'vllm_serve' ? await saidVersion(backend, http, until) : undefined;
        },
        imageMib: () => (bench.lastBytes === undefined ? undefined : bench.lastBytes / MIB),
      },
      signal,
    ),
  );
  const results = await withLimits(
    tried,
    await factsOf(model),
    await linksOf(model, place.config, { programs, processes }),
  );
  const driver = await driverOf(config, { programs, processes });
  const version = said ?? (await versionOf(model, { processes }));
  const identity: Identity = { ...(await identityOf(model, driver, { programs })), version };
  await remember(results, name, identity, { clock, config, warned });
  out(json ? `${JSON.stringify(report(name, identity, results), undefined, 2)}\n` : tableText(results));
  return allWell(results) ? EXIT.ok : EXIT.failed;
}

async function remember(
  results: readonly Result[],
  name: string,
  identity: Identity,
  { clock, config, warned }: { clock: Clock; config: Config; warned: (message: string) => void },
): Promise<void> {
  const verdicts = verdictsOf(results, name, identity, clock.wallTime());
  if (verdicts.length === 0) return;
  try {
    await bookIn(config, warned).add(verdicts);
  } catch (error) {
    warned(`what came of the validation could not be written down: ${String(error)}`);
  }
}

async function clearing<T>(clear: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await clear();
  }
}

/** What a running vLLM says of itself; its program takes long to say the same. */
async function saidVersion({ origin }: Backend, http: EngineHttp, signal: AbortSignal): Promise<string | undefined> {
  const answer = await http.call({ method: 'GET', url: `${origin}/version`, limitMs: VERSION_MS, signal });
  return answer.kind === 'answered' ? /"version":\s*"([^"]+)"/.exec(answer.body)?.[1] : undefined;
}

async function factsOf(model: ModelConfig) {
  const path = 'model_path' in model ? model.model_path : undefined;
  return { modelMib: path === undefined ? undefined : await artifactMib(path) };
}

async function linksOf(
  model: ModelConfig,
  { checkpoint, gpu }: Config,
  { programs, processes }: { programs: Programs; processes: SystemProcesses },
): Promise<Links> {
  const nvidiaSmi = (await programs.find(gpu.nvidia_smi_path)) === undefined ? undefined : gpu.nvidia_smi_path;
  const modelFile = 'model_path' in model ? model.model_path : undefined;
  return new SystemLinks({ processes, nvidiaSmi, folder: dirname(checkpoint.images_dir), modelFile });
}

/** An engine that is started ready for the level, also where the settings leave it out. */
function driverFor(
  level: TrialLevel,
  { name, env }: ValidateOptions,
  { config, conversationsIn }: TrialPlace,
  means: ErrandMeans,
): { readonly driver: Driver; readonly checkpoints: CriuCheckpoints } {
  const { placed: model } = means;
  const plain = levelOf(level);
  const levels_allowed = DEPTH.filter((one) => one === plain || model.levels_allowed.includes(one));
  const sleep_first = level === '4full' ? 'none' : 2;
  const tried = { ...config, checkpoint: { ...config.checkpoint, sleep_first } } as const;
  const { driversOf, checkpoints } = workshopOf({ config: tried, env, conversationsIn, ...means });
  const driver = driversOf(tried).makeDriver(
    {
      model: modelId(name),
      replica: 0,
      config: { ...model, levels_allowed, sleep_level: plain },
      override: () => ({}),
    },
    {
      spawned: () => {},
      exited: (_born, reason) => means.warned(`${name}: ${reason}`),
      lostSleep: () => {},
      warned: (message) => means.warned(`${name}: ${message}`),
      hooked: ({ hook, result, reason }) => {
        if (result === 'failed') means.warned(`${name}: the hook ${hook} ${reason}`);
      },
    },
  );
  return { driver, checkpoints };
}

function limitsOf(model: ModelConfig, config: Config): TrialLimits {
  const { start, sleep, wake, stop } = commandLimits(model, config);
  return {
    startMs: start,
    sleepMs: sleep,
    // At level 5 it is a start, with the hooks of one.
    wakeMs: Math.max(start, wake),
    stopMs: stop,
    answerMs: Math.min(ms(model.response_timeout_secs), LONGEST_ANSWER_MS),
    settleMs: ms(config.gpu.free_timeout_secs),
  };
}
