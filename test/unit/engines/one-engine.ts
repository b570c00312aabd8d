import { levelMaker } from '../../../src/app/levels.ts';
import type { LoadOverride } from '../../../src/ports/load-override.ts';
import { configFrom } from '../../../src/config/load.ts';
import { nearest } from '../../../src/config/nearest.ts';
import type { ModelInput } from '../../../src/config/schema.ts';
import { modelId, type ModelId } from '../../../src/core/kinds.ts';
import type { Done, Driver, Order } from '../../../src/engines/driver.ts';
import { DriverRegistry } from '../../../src/engines/registry.ts';
import type { Gpu } from '../../../src/ports/gpu.ts';
import type { Checkpoints } from '../../../src/ports/checkpoints.ts';
import type { Conversations } from '../../../src/ports/conversations.ts';
import type { Machine } from '../../../src/ports/machine.ts';
import type { Program } from '../../../src/ports/programs.ts';
import type { StubServers } from '../../../src/ports/stub-server.ts';
import type { Level } from '../../../src/sleep/level.ts';
import { EndProof } from '../../../src/sleep/end-proof.ts';
import { Levels } from '../../../src/sleep/levels.ts';
import { MemoryProof } from '../../../src/sleep/memory.ts';
import { Room } from '../../../src/sleep/room.ts';
import { VirtualClock } from '../../helpers/virtual-clock.ts';
import { answered, REFUSED, ScriptedHttp, ScriptedProcesses } from './scripted-ports.ts';

const ALPHA: ModelId = modelId('alpha');

const noMachine: Machine = { isRoot: true, mapsGpu: async () => [], availableMib: async () => undefined };
const noGpu: Gpu = { read: async () => ({ kind: 'absent', reason: 'there is no GPU here' }) };

type Told = { readonly exited: [number, string][]; readonly warned: string[]; readonly lost: number[] };

type Setting = {
  root?: object;
  stubs?: StubServers;
  levels?: readonly Level[];
  override?: LoadOverride;
  gpu?: Gpu;
  conversations?: Conversations;
};

/** One engine of the model `alpha` over scripted ports: every program exists, and no server answers until the test says so. */
export function oneEngine(
  alpha: ModelInput,
  { root = {}, stubs, levels, gpu = noGpu, conversations = noConversations, override = {} }: Setting = {},
) {
  const clock = new VirtualClock();
  const processes = new ScriptedProcesses();
  const http = new ScriptedHttp(clock);
  const programs = new Map<string, Program | undefined>();
  const files = new Map<string, Readonly<Record<string, string>>>();
  const told: Told = { exited: [], warned: [], lost: [] };
  const loaded = configFrom({ state_dir: '/tmp/never-used', ...root, models: { alpha } }, 'test', {}, {});
  const config = loaded.kind === 'loaded' ? loaded.config : undefined;
  const model = config?.models[ALPHA];
  if (config === undefined || model === undefined) throw new Error(`the config is bad: ${JSON.stringify(loaded)}`);
  const find = async (name: string): Promise<Program | undefined> =>
    programs.has(name) ? programs.get(name) : { path: `/bin/${name}`, mark: '1' };
  const noStubs: StubServers = { open: () => Promise.reject(new Error('there is no stub here')) };
  const warned = (message: string): void => void told.warned.push(message);
  const memory = new MemoryProof({ clock, gpu, timeoutMs: 1_000 });
  const end = new EndProof({ clock, gpu, machine: noMachine, timeoutMs: 1_000 });
  const room = new Room({ clock, gpu });
  const hearing = { answerMs: 1_000, changed: config.changed_answer, warned };
  const proofs = { memory, end, room, hearing, warned };
  const maker = levelMaker(config, {
    clock,
    gpu,
    room,
    machine: noMachine,
    programs: { find },
    processes,
    checkpoints: noCheckpoints,
    warned,
  });
  const registry = new DriverRegistry(
    {
      clock,
      processes,
      http,
      nearest,
      programs: { find },
      stubs: stubs ?? noStubs,
      conversations,
      extension: { folder: '/opt/python', pythonPath: undefined },
      files: {
        put: async (engine, texts) => {
          files.set(engine, texts);
          return `/private/${engine}`;
        },
      },
      levelsOf: (settings, own) => (levels === undefined ? maker(settings, own) : new Levels(levels, proofs)),
    },
    config,
  );
  const driver = registry.makeDriver(
    { model: ALPHA, replica: 0, config: model, override: () => override },
    {
      spawned: () => {},
      hooked: () => {},
      exited: (born, reason) => void told.exited.push([born, reason]),
      lostSleep: (born) => void told.lost.push(born),
      warned: (message) => void told.warned.push(message),
    },
  );
  return { clock, processes, http, programs, told, driver, files };
}

const none = (): Promise<never> => Promise.reject(new Error('nothing is kept here'));
const noConversations: Conversations = {
  ...{ unfit: none, folder: none, keyOf: none, bytesPerToken: none },
  ...{ room: none, keep: none, kept: none, drop: none },
};

const noCheckpoints: Checkpoints = {
  hindrance: async () => 'there are no checkpoints here',
  save: () => Promise.reject(new Error('there are no checkpoints here')),
  kept: async () => undefined,
  adopt: () => Promise.reject(new Error('there are no checkpoints here')),
};

/** An order and the means to withdraw it. */
export function order(epoch = 1): { readonly order: Order; readonly withdraw: () => void } {
  const controller = new AbortController();
  return { order: { epoch, signal: controller.signal }, withdraw: () => controller.abort() };
}

type Settled = { readonly kind: 'done'; readonly done: Done } | { readonly kind: 'failed'; readonly error: Error };

/** How a command has ended, if it has. */
export function watched(promise: Promise<Done>): { end: Settled | undefined } {
  const seen: { end: Settled | undefined } = { end: undefined };
  promise.then(
    (done) => (seen.end = { kind: 'done', done }),
    (error: unknown) =>
      (seen.end = { kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) }),
  );
  return seen;
}

/** The message a command failed with; empty when it did not. */
export const failureOf = ({ end }: { end: Settled | undefined }): string =>
  end?.kind === 'failed' ? end.error.message : '';

/** Starts the engine to the end: its server answers 200 after a while. */
export async function startUp(
  { driver, clock, http }: { driver: Driver; clock: VirtualClock; http: ScriptedHttp },
  epoch = 1,
  answers: ScriptedHttp['reply'] = () => answered(200),
): Promise<void> {
  const ready = clock.now() + 50;
  http.reply = (call) => (clock.now() < ready ? REFUSED : answers(call));
  const start = watched(driver.start(order(epoch).order));
  await clock.advance(100);
  if (start.end?.kind !== 'done') throw new Error(`the engine did not start: ${failureOf(start)}`);
}
