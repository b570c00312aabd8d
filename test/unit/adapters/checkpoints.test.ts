import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { CriuCheckpoints } from '../../../src/adapters/checkpoints.ts';
import { Criu } from '../../../src/adapters/criu.ts';
import { ImageStore } from '../../../src/adapters/images.ts';
import type { ProcessTable } from '../../../src/adapters/process-table.ts';
import type { CheckpointHost } from '../../../src/adapters/processes.ts';
import { engineId, modelId } from '../../../src/core/kinds.ts';
import { ScriptedChild, ScriptedProcesses } from '../engines/scripted-ports.ts';
import { testFolder } from '../../helpers/survivors.ts';

const model = modelId('alpha');
const never = new AbortController().signal;
/** Above every number that Linux gives out: nobody has it. */
const NOBODY = 5_000_000;

type Over = { readonly host?: Partial<CheckpointHost>; readonly maxBytes?: number };

/** A machine on which every save works, and a return does what the test says. */
async function machine(folder: string, onRevive: (revived: ScriptedChild) => void, over: Over = {}) {
  const self = { pid: 100, started: 1, parent: 1, group: 100, session: 100, alive: true, stopped: false };
  const table: ProcessTable = {
    ...{ self, boot: 'b', namespace: 'n', look: () => undefined, listNow: () => [] },
    list: async () => [],
    bearers: async () => new Set(),
  };
  const child = new ScriptedChild(NOBODY);
  const revived = new ScriptedChild(NOBODY + 1);
  const host: CheckpointHost = {
    ...{ table, state: 's', markOf: () => '0'.repeat(32), hold: async () => () => {}, keepPort: () => () => {} },
    async help(of) {
      (of instanceof ScriptedChild ? of : child).exit(null, 'SIGKILL');
      return { pid: 2_000_000, exited: Promise.resolve({ code: 0, signal: null }) };
    },
    async revive() {
      onRevive(revived);
      return { child: revived, ended: new Promise(() => {}), arrived: async () => false };
    },
    ...over.host,
  };
  const processes = new ScriptedProcesses();
  processes.answer = () => ({ code: 0, output: 'Version: 4.2\n' });
  const programs = { find: async () => ({ path: '/usr/sbin/criu', mark: '1' }) };
  const checkpoints = new CriuCheckpoints({
    host,
    criu: new Criu(
      { command: 'criu', plugins: undefined, cudaCheckpoint: 'cuda-checkpoint' },
      { programs, processes, isRoot: true },
    ),
    images: new ImageStore({ folder: join(folder, 'images'), maxBytes: over.maxBytes ?? 0, table, state: 's' }),
    programs,
    portIsFree: async () => true,
    onProblem: () => {},
  });
  await checkpoints.hindrance();
  const save = (of: ScriptedChild, gpuMib = 0) =>
    checkpoints.save(of, { engine: engineId(model, 0), model, port: 8_001, gpuMib }, never);
  return { checkpoint: await save(child), revived, save };
}

test.skipIf(process.platform !== 'linux')(
  'a return that is given up while it begins is ended at once, since nobody else knows of it',
  async ({ expect, onTestFinished }) => {
    const { path, remove } = testFolder();
    onTestFinished(remove);
    const over = new AbortController();
    const { checkpoint, revived } = await machine(path, () => over.abort(new Error('superseded')));
    await expect(checkpoint.restore(over.signal)).rejects.toThrow('superseded');
    expect(revived.signals).toEqual(['SIGKILL']);
    expect(await revived.members()).toEqual([]);
  },
);

test.skipIf(process.platform !== 'linux')(
  'an image that is asked for while another engine looks for room is not removed',
  async ({ expect, onTestFinished }) => {
    const { path, remove } = testFolder();
    onTestFinished(remove);
    const over = new AbortController();
    onTestFinished(() => over.abort());
    // There is room for what an engine of no memory takes, and not for two of them.
    const { checkpoint, save } = await machine(path, () => {}, { maxBytes: 1 });
    const other = save(new ScriptedChild(NOBODY + 2));
    const returning = checkpoint.restore(over.signal);
    await expect(other).rejects.toThrow('checkpoint.images_max_mib');
    const { back } = await returning;
    back.catch(() => {});
    expect(readdirSync(join(path, 'images'))).toHaveLength(1);
  },
);

test.skipIf(process.platform !== 'linux')(
  'one that nobody has asked for is removed, and says so when it is',
  async ({ expect, onTestFinished }) => {
    const { path, remove } = testFolder();
    onTestFinished(remove);
    const { checkpoint, save } = await machine(path, () => {}, { maxBytes: 1 });
    await save(new ScriptedChild(NOBODY + 2));
    await expect(checkpoint.restore(never)).rejects.toThrow('its image was removed to make room for that of alpha#0');
  },
);

test.skipIf(process.platform !== 'linux')(
  'where its log cannot be kept for it, nothing of it stays on disk',
  async ({ expect, onTestFinished }) => {
    const { path, remove } = testFolder();
    onTestFinished(remove);
    const hold = async () => Promise.reject(new Error('EIO: the log cannot be read'));
    await expect(machine(path, () => {}, { host: { hold } })).rejects.toThrow('the log cannot be read');
    expect(readdirSync(join(path, 'images'))).toEqual([]);
  },
);

test.skipIf(process.platform !== 'linux')(
  'what is still on GPUs counts before it is written',
  async ({ expect, onTestFinished }) => {
    const { path, remove } = testFolder();
    onTestFinished(remove);
    const { save } = await machine(path, () => {}, { maxBytes: 2 * 1_048_576 });
    await expect(save(new ScriptedChild(NOBODY + 2), 7)).rejects.toThrow('its image takes about 7 MiB');
  },
);
