import { engineHttp } from '../adapters/engine-http.ts';
import type { Config, ModelConfig } from '../config/schema.ts';
import { DEPTH, LEVELS } from '../config/sleep-levels.ts';
import { engineId, modelId } from '../core/kinds.ts';
import { DriverError, type Driver } from '../engines/driver.ts';
import { keptImages } from './checkpoints.ts';
import { errand, type ErrandMeans } from './errand.ts';
import { EXIT } from './exit.ts';
import { commandLimits } from './stage-plan.ts';
import { ms } from './times.ts';
import { clearTrialPlace } from './trial-place.ts';
import { workshopOf } from './workshop.ts';

export type CheckpointOptions = {
  readonly config: Config;
  readonly name: string;
  readonly model: ModelConfig;
  /** Requests that it answers before it goes to disk, so that it has read their prompts. */
  readonly requests: readonly Readonly<Record<string, unknown>>[];
  readonly json: boolean;
  readonly verbose: boolean;
  readonly env: NodeJS.ProcessEnv;
  readonly out: (text: string) => void;
  readonly say: (line: string) => void;
};

/** Writes one engine of a model to disk, to be there for every later start. Resolves to the exit code. */
export async function checkpointModel(options: CheckpointOptions): Promise<number> {
  const { say } = options;
  const refused = (reason: string): void => {
    say(`catnap cannot write it to disk: ${reason}`);
    say('A catnap that runs does it by `catnap unload MODEL --level 4`, with `checkpoint.keep_images`.');
  };
  return errand(options, refused, (means, signal) => run(options, means, signal));
}

async function run(options: CheckpointOptions, means: ErrandMeans, signal: AbortSignal): Promise<number> {
  const { config, name, json, out, say, env } = options;
  const { placed: model } = means;
  const { driversOf, checkpoints, programs } = workshopOf({ config, env, ...means, prepares: true });
  const engine = engineId(modelId(name), 0);
  await clearTrialPlace(config, { ...means, programs });
  // The one that was prepared before is made anew.
  await checkpoints.sweep((of, prepared) => keptImages(config)(of, prepared) && of !== engine);
  const levels_allowed = DEPTH.filter((level) => level === 4 || model.levels_allowed.includes(level));
  const driver = driversOf(config).makeDriver(
    {
      model: modelId(name),
      replica: 0,
      config: { ...model, levels_allowed, sleep_level: 4 },
      override: () => ({}),
    },
    {
      spawned: () => {},
      hooked: () => {},
      exited: (_born, reason) => means.warned(`${name}: ${reason}`),
      lostSleep: () => {},
      warned: (message) => means.warned(`${name}: ${message}`),
    },
  );
  try {
    if (!LEVELS[model.backend].works.includes(4)) throw new DriverError(`${model.backend} cannot be put to level 4`);
    say(`${name}: it is started`);
    await driver.start({ epoch: 1, signal });
    for (const request of options.requests) await answered(driver, name, request, model, signal);
    say(`${name}: it is written to disk`);
    const from = means.clock.now();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(commandLimits(model, config).sleep)]);
    await driver.sleep(4, { epoch: 2, signal: limit });
    const kept = await checkpoints.kept(engine);
    if (kept === undefined) throw new DriverError('its image could not be kept');
    const { bytes } = kept.checkpoint;
    const seconds = (means.clock.now() - from) / 1_000;
    out(
      json
        ? `${JSON.stringify({ model: name, bytes, seconds, port: kept.port })}\n`
        : `${name} is on disk: ${Math.ceil(bytes / 1_048_576)} MiB, written in ${seconds.toFixed(1)} s. Its next starts begin from there.\n`,
    );
    return EXIT.ok;
  } catch (error) {
    if (signal.aborted) throw error;
    say(`${name} was not written to disk: ${wordsOf(error)}`);
    return EXIT.failed;
  } finally {
    await driver.stop({ epoch: 3, signal: new AbortController().signal });
  }
}

async function answered(
  driver: Driver,
  name: string,
  request: Readonly<Record<string, unknown>>,
  model: ModelConfig,
  signal: AbortSignal,
): Promise<void> {
  const { backend } = driver;
  if (backend === undefined) throw new DriverError('it has ended');
  const path = 'messages' in request ? '/v1/chat/completions' : '/v1/completions';
  const answer = await engineHttp().call({
    method: 'POST',
    url: backend.origin + path,
    headers: backend.headers,
    json: { max_tokens: 1, ...request, model: backend.servedName ?? name, stream: false },
    limitMs: ms(model.response_timeout_secs),
    signal,
  });
  if (answer.kind === 'answered' && answer.status === 200) return;
  const how = answer.kind === 'answered' ? `${answer.status} ${answer.body.slice(0, 200)}` : answer.kind;
  throw new DriverError(`it does not answer a request of --requests: ${how}`);
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
