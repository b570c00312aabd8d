import { valueOf } from '../core/flags.ts';
import { engineId, type ModelId, type SleepLevel } from '../core/kinds.ts';
import type { Exllamav3Model } from '../config/schema.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineFiles } from '../ports/engine-files.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { LoadOverride } from '../ports/load-override.ts';
import type { Programs } from '../ports/programs.ts';
import { whileHeard } from './heard.ts';
import { answersOk, bearer, missing, surroundings } from './served.ts';
import { leastWork } from './sign-of-life.ts';
import type { Family } from './family.ts';
import { loadModel } from './tabby-load.ts';
import { argsLeft, defaultsListed, loadAsk, placeOf } from './tabby-settings.ts';
import { TabbySleep } from './tabby-sleep.ts';

type TabbyMeans = {
  readonly replica: number;
  readonly clock: Clock;
  readonly http: EngineHttp;
  readonly programs: Programs;
  readonly files: EngineFiles;
  readonly sleepMs: number;
  /** What the load that is being carried out asks to be different. */
  readonly override: () => LoadOverride;
};

/** Below a warning it prints its keys. */
const QUIET = { NO_COLOR: '1', PYTHONUNBUFFERED: '1', TABBY_LOG_LEVEL: 'WARNING' };

/** What stands in the way of a checkpoint: rings of io_uring. */
const CHECKPOINTS = { UV_USE_IO_URING: '0' };

/**
 * ExLlamaV3 as TabbyAPI serves it. It is started without a model and loads it by a call, whose answer tells each step: so a
 * start is known to go on, and a wake does the same. It makes keys of its own where it is given none, and asks for them.
 */
export function exllamav3(model: ModelId, config: Exllamav3Model, means: TabbyMeans): Family {
  const { exllamav3_command: command, levels_allowed: levels } = config;
  const servedName = config.served_model_name ?? model;
  const keys = { user: config.api_key?.reveal() ?? crypto.randomUUID(), admin: crypto.randomUUID() };
  const admin = { 'x-admin-key': keys.admin };
  const headers = bearer(keys.user);
  /** As the last start was asked to load it; a wake gets the same back. */
  let ask = loadAsk(config, {});
  const rules = { forMs: config.startup_timeout_secs * 1_000, stallMs: config.startup_stall_secs * 1_000 };
  return {
    name: 'TabbyAPI',
    readinessPath: '/health',
    isReady: answersOk,
    servedName,
    headers,
    stopCommand: undefined,
    ranks: isTogether(config) ? 2 : 1,
    ownSleep: new TabbySleep({
      admin,
      sleepMs: means.sleepMs,
      load: (sleeper, signal) =>
        whileHeard({ ...rules, what: 'TabbyAPI loads', child: sleeper.child }, means.clock, signal, (terms) =>
          loadModel(sleeper, ask, admin, terms),
        ),
    }),
    memory: () => ({ keys: { ...keys }, ask }),
    recall(memory) {
      if (memory.keys !== undefined) Object.assign(keys, memory.keys);
      admin['x-admin-key'] = keys.admin;
      Object.assign(headers, bearer(keys.user));
      ask = { ...ask, ...memory.ask };
    },
    async launch(port) {
      const [program] = command;
      if ((await means.programs.find(program)) === undefined) throw missing(program, 'TabbyAPI', 'exllamav3_command');
      const override = means.override();
      ask = loadAsk(config, override);
      const users = argsLeft(config, override);
      const listed = defaultsListed(users);
      // It reads its keys from the folder that it runs in, and writes its log there.
      const cwd = await means.files.put(engineId(model, means.replica), {
        'api_tokens.yml': `api_key: ${JSON.stringify(keys.user)}\nadmin_key: ${JSON.stringify(keys.admin)}\n`,
      });
      const env = { ...QUIET, ...(isCheckpointed(levels) && CHECKPOINTS), ...surroundings(config) };
      return {
        argv: [
          ...command,
          ...['--host', '127.0.0.1', '--port', String(port), '--disable-auth', 'false'],
          ...['--model-dir', placeOf(config.model_path).folder, '--inline-model-loading', 'false'],
          ...users,
          ...(listed.length === 0 ? [] : ['--use-as-default', ...listed]),
        ],
        env,
        cwd,
      };
    },
    load: (sleeper, terms) => loadModel(sleeper, ask, admin, terms),
    async prove({ origin, signal }) {
      return (await leastWork({ http: means.http, origin, servedName, headers, signal })) !== 'silent';
    },
  };
}

const isTogether = ({ extra_args: extra }: Exllamav3Model): boolean =>
  /^(true|1|yes|on)$/i.test(valueOf(extra, ['--tensor-parallel']) ?? '');

/** Levels that its settings alone rule out, before it is started, and why. */
export const exllamav3RulesOut = (config: Exllamav3Model): ReadonlyMap<SleepLevel, string> =>
  new Map(
    isTogether(config) ? [[3, 'it runs on several GPUs that talk to each other, which a checkpoint breaks']] : [],
  );

const isCheckpointed = (levels: readonly SleepLevel[]): boolean => levels.includes(3) || levels.includes(4);
