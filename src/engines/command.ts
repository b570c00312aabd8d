import type { ModelId } from '../core/kinds.ts';
import type { CommandModel, Ct2Model } from '../config/schema.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import { fill } from './command-line.ts';
import { answersOk, bearer, surroundings } from './served.ts';
import { leastWork } from './sign-of-life.ts';
import type { Family, Questioned } from './family.ts';
import { anyTrue, pause } from './wait.ts';

type CommandMeans = { readonly http: EngineHttp; readonly clock: Clock };

const LOOK_MS = 500;

/** A process that may be written to disk must do without io_uring. Newer versions of libuv do not ask. */
const FIT_FOR_DISK = { UV_USE_IO_URING: '0' };

/** Any server that a command starts. Nothing is known of it but its port: it goes to disk as a whole, or it ends. */
export function command(model: ModelId, config: CommandModel | Ct2Model, means: CommandMeans): Family {
  const { readiness_path: path, stop_command: stopCommand } = config;
  const servedName = config.served_model_name ?? model;
  const headers = bearer(config.api_key?.reveal());
  const names = {
    MODEL: model,
    DEVICE: config.device ?? 'auto',
    ...(config.model_path === undefined ? {} : { MODEL_PATH: config.model_path }),
  };
  return {
    name: config.command[0],
    readinessPath: path === 'none' ? '/' : path,
    isReady: path === 'none' ? (answer) => answer.kind !== 'refused' : answersOk,
    servedName,
    headers,
    stopCommand: stopCommand && ((pid, port) => fill(stopCommand, { ...names, PID: pid, PORT: port })),
    async launch(port) {
      const argv = fill(config.command, { ...names, PORT: port });
      const fit = config.levels_allowed.includes(4) ? FIT_FOR_DISK : {};
      return { argv, env: { ...fit, ...surroundings(config) }, cwd: config.cwd };
    },
    async prove(engine) {
      const over = new AbortController();
      const signal = AbortSignal.any([engine.signal, over.signal]);
      const work = leastWork({ http: means.http, origin: engine.origin, servedName, headers, signal });
      const alive = await anyTrue([
        work.then((found) => found !== 'silent'),
        prints({ ...engine, signal }, means.clock),
      ]);
      over.abort();
      return alive;
    },
  };
}

/** Whether it prints while it is asked; a server that works on one long thing at a time often shows its progress so. */
async function prints(engine: Questioned, clock: Clock): Promise<boolean> {
  const before = engine.printed();
  while (!engine.signal.aborted) {
    await pause(clock, LOOK_MS, engine.signal);
    if (engine.printed() !== before) return true;
  }
  return false;
}
