import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { test as base } from 'vitest';
import { engineFiles } from '../../src/adapters/engine-files.ts';
import { engineHttp } from '../../src/adapters/engine-http.ts';
import { systemMachine } from '../../src/adapters/machine.ts';
import { NvidiaSmi } from '../../src/adapters/nvidia-smi.ts';
import { openProcesses } from '../../src/adapters/processes.ts';
import { systemPrograms } from '../../src/adapters/programs.ts';
import { stubServers } from '../../src/adapters/stub-server.ts';
import { systemClock } from '../../src/adapters/system-clock.ts';
import { checkpointsOf } from '../../src/app/checkpoints.ts';
import { conversationsOf } from '../../src/app/conversations.ts';
import { levelMaker } from '../../src/app/levels.ts';
import { Room } from '../../src/sleep/room.ts';
import { nearest } from '../../src/config/nearest.ts';
import type { ConfigInput, ModelInput } from '../../src/config/schema.ts';
import { modelId } from '../../src/core/kinds.ts';
import type { Driver, Order } from '../../src/engines/driver.ts';
import { DriverRegistry } from '../../src/engines/registry.ts';
import type { LoadOverride } from '../../src/ports/load-override.ts';
import { goodConfig } from '../helpers/config.ts';
import { killSurvivors, noSurvivors, testFolder } from '../helpers/survivors.ts';

type Engine = {
  readonly driver: Driver;
  readonly exits: { readonly born: number; readonly reason: string }[];
  readonly warnings: string[];
};

/** Makes engines of the model `alpha` over the real ports, and at the end of the test proves that none of them is left. */
export type Engines = {
  /** A folder of the test's own. */
  readonly folder: string;
  make(model: ModelInput, root?: Omit<ConfigInput, 'models'>, override?: LoadOverride): Engine;
  /** A port that somebody listens on until the end of the test. */
  takenPort(): Promise<number>;
};

export const test = base.extend<{ engines: Engines }>({
  engines: async ({}, use) => {
    const own = testFolder();
    const folder = own.path;
    const problems: string[] = [];
    const onProblem = (message: string): void => void problems.push(message);
    const processes = await openProcesses({ stateDir: join(folder, 'state'), onProblem });
    let room: Room | undefined;
    const [drivers, listeners]: [Driver[], Server[]] = [[], []];
    const [clock, http, programs] = [systemClock(), engineHttp(), systemPrograms(process.env)];
    await use({
      folder,
      make(model, root = {}, override = {}) {
        const config = goodConfig({ stop_grace_secs: 1, ...root, models: { alpha: marked(model, folder) } });
        const alpha = config.models['alpha'];
        if (alpha === undefined) throw new Error('the config has no alpha');
        const engine: Omit<Engine, 'driver'> = { exits: [], warnings: [] };
        const gpu = new NvidiaSmi(config.gpu, { clock, programs, processes });
        const warned = (message: string): void => void engine.warnings.push(message);
        const checkpoints = checkpointsOf({ config, processes, programs, onProblem: warned });
        const conversations = conversationsOf({ ...config, state_dir: join(folder, 'state') });
        room ??= new Room({ clock, gpu });
        const machine = systemMachine();
        const files = engineFiles(join(folder, 'state', 'engine-files'));
        const levelsOf = levelMaker(config, {
          clock,
          gpu,
          room,
          machine,
          programs,
          processes,
          checkpoints,
          warned,
        });
        const extension = { folder: join(import.meta.dirname, '../../python'), pythonPath: undefined };
        const ports = {
          clock,
          processes,
          http,
          programs,
          stubs: stubServers,
          nearest,
          levelsOf,
          conversations,
          extension,
          files,
        };
        const driver = new DriverRegistry(ports, config).makeDriver(
          { model: modelId('alpha'), replica: drivers.length, config: alpha, override: () => override },
          {
            spawned: () => {},
            hooked: () => {},
            exited: (born, reason) => void engine.exits.push({ born, reason }),
            lostSleep: () => {},
            warned: (message) => void engine.warnings.push(message),
          },
        );
        drivers.push(driver);
        return { driver, ...engine };
      },
      async takenPort() {
        const listener = createServer().listen(0, '127.0.0.1');
        listeners.push(listener);
        await once(listener, 'listening');
        const address = listener.address();
        if (address === null || typeof address === 'string') throw new Error('no port');
        return address.port;
      },
    });
    for (const listener of listeners) listener.close();
    await Promise.allSettled(drivers.map((driver) => driver.stop(order(99).order)));
    await noSurvivors(folder).finally(() => killSurvivors(folder));
    await processes.close();
    own.remove();
    if (problems.length > 0) throw new Error(problems.join('; '));
  },
});

/** Every process that stems from the model carries the folder in its environment. */
const marked = (model: ModelInput, folder: string): ModelInput =>
  model.backend === 'stub' || model.backend === 'openai_remote'
    ? model
    : { ...model, env: { ...model.env, CATNAP_TEST: folder } };

/** An order and the means to withdraw it. */
export function order(epoch = 1): { readonly order: Order; readonly withdraw: () => void } {
  const controller = new AbortController();
  return { order: { epoch, signal: controller.signal }, withdraw: () => controller.abort() };
}
