import { engineId, unreachable, type ModelId } from '../core/kinds.ts';
import type { Backend, Config, ModelConfig, ProcessModel } from '../config/schema.ts';
import type { Clock } from '../ports/clock.ts';
import type { Conversations } from '../ports/conversations.ts';
import type { EngineFiles } from '../ports/engine-files.ts';
import type { EngineHttp } from '../ports/engine-http.ts';
import type { LoadOverride } from '../ports/load-override.ts';
import type { Processes } from '../ports/process.ts';
import type { Programs } from '../ports/programs.ts';
import type { StubServers } from '../ports/stub-server.ts';
import { command } from './command.ts';
import type { Driver, DriverEvents } from './driver.ts';
import { HookedDriver } from './hooked.ts';
import { Hooks, type HookMeans } from './hooks.ts';
import { exllamav3 } from './exllamav3.ts';
import { LlamaBinaries } from './llama-binaries.ts';
import type { Nearest } from './llama-flags.ts';
import { LlamaConversations } from './llama-kept.ts';
import { llamaServer } from './llama-server.ts';
import { OpenaiRemoteDriver } from './openai-remote.ts';
import { sglang } from './sglang.ts';
import type { OwnSleep, Sleeps } from './sleeper.ts';
import { StubDriver } from './stub.ts';
import type { Family } from './family.ts';
import { SupervisedDriver } from './supervised.ts';
import { vllmServe, type Extension } from './vllm-serve.ts';

/** What the drivers need from the world. */
type DriverPorts = {
  readonly clock: Clock;
  readonly processes: Processes;
  readonly programs: Programs;
  readonly http: EngineHttp;
  readonly stubs: StubServers;
  readonly conversations: Conversations;
  readonly extension: Extension;
  readonly files: EngineFiles;
  /** Finds the word that was probably meant. */
  readonly nearest: Nearest;
  /** The levels of one engine, given the sleep calls it has of its own. */
  readonly levelsOf: (config: ProcessModel, own: OwnSleep | undefined) => Sleeps;
};

type Traits = {
  /** Whether it takes part of the stage's budget while it is awake. */
  readonly needsRoom: boolean;
};

/** What is true of every engine of a backend, before there is one. Which levels it has is in config/sleep-levels.ts. */
export const TRAITS: Readonly<Record<Backend, Traits>> = {
  vllm_serve: { needsRoom: true },
  llama_server: { needsRoom: true },
  llama_cpp: { needsRoom: true },
  sglang: { needsRoom: true },
  exllamav3: { needsRoom: true },
  ct2: { needsRoom: true },
  command: { needsRoom: true },
  openai_remote: { needsRoom: false },
  stub: { needsRoom: true },
};

type Limits = Pick<Config, 'stop_timeout_secs' | 'sleep_timeout_secs' | 'wake_timeout_secs' | 'checkpoint'>;

type EngineOf = {
  readonly model: ModelId;
  readonly replica: number;
  readonly config: ModelConfig;
  /** What the load that is being carried out asks to be different. */
  readonly override: () => LoadOverride;
};

/** Makes the drivers of one catnap. What it learns of the programs they run is shared between them, and by nobody else. */
export class DriverRegistry {
  readonly #ports: DriverPorts;
  readonly #limits: Limits;
  readonly #binaries: LlamaBinaries;

  constructor(ports: DriverPorts, limits: Limits) {
    this.#ports = ports;
    this.#limits = limits;
    this.#binaries = new LlamaBinaries(ports.programs, ports.processes);
  }

  makeDriver(of: EngineOf, events: DriverEvents): Driver {
    const driver = this.#bare(of, events);
    const hooks = 'hooks' in of.config ? of.config.hooks : undefined;
    if (hooks === undefined) return driver;
    const told: Pick<HookMeans, 'ended' | 'warned'> = {
      ended: (end) => events.hooked(end),
      warned: (message) => events.warned(message),
    };
    return new HookedDriver(driver, new Hooks(of, hooks, { ...this.#ports, ...told }));
  }

  #bare({ model, replica, config, override }: EngineOf, events: DriverEvents): Driver {
    const supervise = (family: Family, settings: ProcessModel): Driver =>
      new SupervisedDriver({ engine: engineId(model, replica), model }, family, this.#rules(settings), {
        ...this.#ports,
        events,
        sleeps: this.#ports.levelsOf(settings, family.ownSleep),
      });
    switch (config.backend) {
      case 'llama_server':
      case 'llama_cpp':
        return supervise(
          llamaServer(model, config, {
            ...this.#ports,
            binaries: this.#binaries,
            override,
            conversations: config.keep_kv
              ? new LlamaConversations(engineId(model, replica), this.#ports.conversations)
              : undefined,
          }),
          config,
        );
      case 'vllm_serve':
        return supervise(vllmServe(model, config, { ...this.#ports, ...this.#napTimes(), override }), config);
      case 'sglang':
        return supervise(sglang(model, config, { ...this.#ports, ...this.#napTimes(), replica }), config);
      case 'exllamav3':
        return supervise(exllamav3(model, config, { ...this.#ports, ...this.#napTimes(), replica, override }), config);
      case 'ct2':
      case 'command':
        return supervise(command(model, config, this.#ports), config);
      case 'openai_remote':
        return new OpenaiRemoteDriver(model, config);
      case 'stub':
        return new StubDriver(model, config, { ...this.#ports, events });
      default:
        return unreachable(config);
    }
  }

  #napTimes() {
    const { sleep_timeout_secs, wake_timeout_secs, checkpoint } = this.#limits;
    return {
      sleepMs: sleep_timeout_secs * 1_000,
      wakeStepMs: wake_timeout_secs * 1_000,
      sleepsBeforeDisk: checkpoint.sleep_first === 2,
    };
  }

  #rules(config: ProcessModel): ConstructorParameters<typeof SupervisedDriver>[2] {
    return {
      port: config.port,
      startupMs: config.startup_timeout_secs * 1_000,
      stallMs: config.startup_stall_secs * 1_000,
      probeMs: config.probe_timeout_secs * 1_000,
      graceMs: config.stop_grace_secs * 1_000,
      stopMs: this.#limits.stop_timeout_secs * 1_000,
      warmUp: 'warmup' in config && config.warmup && config.levels_allowed.includes(1) ? 1 : undefined,
    };
  }
}
